package load

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Day is a day of the week.
type Day string

// The days.
const (
	Monday    Day = "mon"
	Tuesday   Day = "tue"
	Wednesday Day = "wed"
	Thursday  Day = "thu"
	Friday    Day = "fri"
	Saturday  Day = "sat"
	Sunday    Day = "sun"
)

// week is the days in the order of time.Weekday.
var week = [...]Day{Sunday, Monday, Tuesday, Wednesday, Thursday, Friday, Saturday}

// Valid tells whether the day is one of the week.
func (d Day) Valid() bool { return slices.Contains(week[:], d) }

// WindowConfig is one entry under `schedule`: a part of the day in which the rate is another.
type WindowConfig struct {
	Name string `koanf:"name" yaml:"name,omitempty"` // for the reader
	Days []Day  `koanf:"days" yaml:"days,omitempty"` // days on which the window begins; every day without it
	From string `koanf:"from" yaml:"from,omitempty"` // when it begins, by the clock of `tz`, such as `"08:00"`; `"00:00"` without it
	// when it ends, at most `"24:00"`, which holds without it; earlier than `from` is on the next day
	To string `koanf:"to" yaml:"to,omitempty"`
	TZ string `koanf:"tz" yaml:"tz,omitempty"` // IANA name of the time zone, such as `Europe/Budapest`; that of the load without it

	Rate       float64       `koanf:"rate" yaml:"rate,omitempty"`             // requests per second; at most one of `rate`, `interval` and `multiplier`
	Interval   time.Duration `koanf:"interval" yaml:"interval,omitempty"`     // time between requests, on average
	Multiplier float64       `koanf:"multiplier" yaml:"multiplier,omitempty"` // the rate outside of windows times this
	Mode       Mode          `koanf:"mode" yaml:"mode,omitempty"`             // `constant`, `poisson` or `gamma` instead of the one of the load
	Enabled    *bool         `koanf:"enabled" yaml:"enabled,omitempty"`       // `false`: no requests; `true` without it
}

func (c *WindowConfig) enabled() bool { return c.Enabled == nil || *c.Enabled }

// parseClock reads a time of day, "08:00", in seconds since midnight. 24:00 is midnight at the end of the day.
func parseClock(s string) (seconds int64, err error) {
	hours, minutes, ok := strings.Cut(s, ":")
	h, okHours := twoDigits(hours)
	m, okMinutes := twoDigits(minutes)
	if !ok || !okHours || !okMinutes || m > 59 || h > 24 || h == 24 && m > 0 {
		return 0, fmt.Errorf(`must be a time of day between "00:00" and "24:00", got %q`, s)
	}
	return (h*60 + m) * 60, nil
}

func twoDigits(s string) (n int64, ok bool) {
	if len(s) != 2 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}

// span is when the window begins and ends, in seconds since the midnight at which its day begins.
func (c *WindowConfig) span() (from, to int64, errFrom, errTo error) {
	to = secondsOfDay
	if c.From != "" {
		from, errFrom = parseClock(c.From)
	}
	if c.To != "" {
		to, errTo = parseClock(c.To)
	}
	if to < from {
		to += secondsOfDay
	}
	return from, to, errFrom, errTo
}

// window is a WindowConfig that can be asked.
type window struct {
	config   *WindowConfig
	days     [len(week)]bool
	from, to int64
	zone     *time.Location
}

func newWindow(c *WindowConfig, zone string) window {
	if c.TZ != "" {
		zone = c.TZ
	}
	w := window{config: c, zone: location(zone)}
	w.from, w.to, _, _ = c.span()
	for i, day := range week {
		w.days[i] = len(c.Days) == 0
		for _, d := range c.Days {
			w.days[i] = w.days[i] || d == day
		}
	}
	return w
}

// location is a time zone that was validated; "" is UTC.
func location(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic("load: time zone " + name + " was not validated")
	}
	return zone
}

// windowLookahead is how many days are looked at for the next beginning of a window: a week, and another one because a window can fall
// whole into the hour that is left out when clocks are set forward.
const windowLookahead = 15

// at tells whether a wall-clock time, in nanoseconds, lies in the window, and until when that holds at least. A window lasts from the first
// instant at which clocks show its beginning to the first at which they show its end, hence it is open once where clocks show a time
// twice, and opens when clocks are set forward where they never show its beginning.
func (w *window) at(wall int64) (inside bool, until int64) {
	civil, _ := civilOf(floorDiv(wall, int64(time.Second)), w.zone)
	today := floorDiv(civil, secondsOfDay)
	for d := today - 2; d <= today+windowLookahead; d++ {
		if !w.days[weekday(d)] {
			continue
		}
		midnight := d * secondsOfDay
		from := firstInstant(midnight+w.from, w.zone) * int64(time.Second)
		to := firstInstant(midnight+w.to, w.zone) * int64(time.Second)
		switch {
		case to <= from || to <= wall:
		case from <= wall:
			return true, to
		default:
			return false, from
		}
	}
	return false, wall + (windowLookahead-1)*day
}

// weekday is that of a day, counted from 1970-01-01, a Thursday.
func weekday(day int64) time.Weekday {
	return time.Weekday(floorMod(day+int64(time.Thursday), int64(len(week))))
}
