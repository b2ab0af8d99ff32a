package budget

import (
	"sort"
	"time"
)

// Period is how long a limit holds.
type Period string

// The periods begin with the clock in the budget's time zone.
const (
	Hour Period = "hour"
	Day  Period = "day"
)

// Periods is the closed list.
var Periods = [periods]Period{hour: Hour, day: Day}

// period is the place of a Period in arrays.
type period int

const (
	hour period = iota
	day
	periods
)

// length is in seconds, on a day without a change to or from summer time.
func (p period) length() int64 {
	if p == hour {
		return 3600
	}
	return 24 * 3600
}

// end is the first second, in Unix time, after the period that t lies in by the clock of zone. An hour that the clock shows twice is two
// periods; a day has 23 to 25 hours.
func (p period) end(t time.Time, zone *time.Location) int64 {
	local := t.In(zone)
	if p == hour {
		return local.Unix() - int64(local.Minute()*60+local.Second()) + 3600
	}
	return dayAfter(local)
}

// dayAfter is the first second after the date of local. It looks for the date to change: midnight may not exist, or come twice.
func dayAfter(local time.Time) int64 {
	year, month, date := local.Date()
	ends := sort.Search(50*3600, func(seconds int) bool {
		y, m, d := local.Add(time.Duration(seconds) * time.Second).Date()
		return y != year || m != month || d != date
	})
	return local.Unix() + int64(ends)
}
