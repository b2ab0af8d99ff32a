package load

import "time"

// A civil time is what the clocks of a time zone show, as seconds since they showed 1970-01-01 00:00. It is not an instant: some civil times
// come twice, when clocks are set back, and some never, when they are set forward.

const secondsOfDay = 24 * 60 * 60

// civilOf is the civil time at an instant in Unix seconds, and the instant until which clocks go on evenly; 0 = for ever.
func civilOf(unix int64, zone *time.Location) (civil, until int64) {
	t := time.Unix(unix, 0).In(zone)
	_, offset := t.Zone()
	if _, end := t.ZoneBounds(); !end.IsZero() {
		until = end.Unix()
	}
	return unix + int64(offset), until
}

// maxOffset is more than any time zone is ahead of UTC, in seconds.
const maxOffset = 16 * 60 * 60

// firstInstant is the first instant, in Unix seconds, at which clocks show a civil time or a later one: of a time that comes twice the
// first, of one that never comes the moment at which clocks are set forward past it.
func firstInstant(civil int64, zone *time.Location) int64 {
	at := civil - maxOffset
	for {
		shown, until := civilOf(at, zone)
		wanted := at + max(0, civil-shown)
		if until == 0 || wanted < until {
			return wanted
		}
		at = until
	}
}

// floorDiv is a/b rounded down, of a positive b.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// floorMod is what floorDiv leaves, from 0 to below b.
func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }
