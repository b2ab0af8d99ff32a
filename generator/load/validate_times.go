package load

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	maxWindows = 100
	maxPoints  = 10_000
	minPeriod  = time.Second
)

// windowed are the modes between which windows can change.
var windowed = []Mode{Constant, Gamma, Poisson}

func (c *Config) validateSchedule(f *findings) {
	if len(c.Schedule) > maxWindows {
		f.wrongf("schedule", "must have at most %d windows, got %d", maxWindows, len(c.Schedule))
		return
	}
	for i := range c.Schedule {
		w, prefix := &c.Schedule[i], fmt.Sprintf("schedule[%d].", i)
		w.validateTimes(f, prefix)
		c.validateChange(f, prefix, w)
	}
}

// validateTimes checks when the window is open.
func (c *WindowConfig) validateTimes(f *findings, prefix string) {
	for i, day := range c.Days {
		switch {
		case !day.Valid():
			f.wrongf(fmt.Sprintf("%sdays[%d]", prefix, i), "must be one of mon, tue, wed, thu, fri, sat, sun, got %q", day)
		case slices.Index(c.Days, day) < i:
			f.wrongf(fmt.Sprintf("%sdays[%d]", prefix, i), "%s is listed twice", day)
		}
	}
	from, to, errFrom, errTo := c.span()
	switch {
	case errFrom != nil:
		f.wrongf(prefix+"from", "%v", errFrom)
	case from == secondsOfDay:
		f.wrongf(prefix+"from", `must be before "24:00", which is "00:00" of the next day`)
	case errTo != nil:
		f.wrongf(prefix+"to", "%v", errTo)
	case from == to:
		f.wrongf(prefix+"to", `must differ from "from"; a whole day is from "00:00" to "24:00"`)
	}
	f.zone(prefix+"tz", c.TZ)
}

// zone checks that a time zone is known.
func (f *findings) zone(key, name string) {
	if _, err := time.LoadLocation(name); err != nil {
		f.wrongf(key, "unknown time zone %q, must be a name such as Europe/Budapest or UTC", name)
	}
}

// validateChange checks what the window changes.
func (c *Config) validateChange(f *findings, prefix string, w *WindowConfig) {
	var set []string
	for _, key := range []struct {
		name string
		set  bool
	}{{"rate", w.Rate != 0}, {"interval", w.Interval != 0}, {"multiplier", w.Multiplier != 0}} {
		if key.set {
			set = append(set, key.name)
		}
	}
	switch {
	case len(set) > 1:
		f.wrongf(prefix+set[1], "excludes %s, set at most one of rate, interval and multiplier", set[0])
	case len(set) == 0 && w.Mode == "" && w.enabled():
		f.wrongf(prefix[:len(prefix)-1], "changes nothing, set one of rate, interval, multiplier, mode and enabled: false")
	case w.Multiplier != 0:
		c.validateMultiplier(f, prefix+"multiplier", w.Multiplier)
	default:
		f.pace(prefix, w.Rate, w.Interval)
	}
	switch {
	case w.Mode == "":
	case !slices.Contains(windowed, w.Mode):
		f.wrongf(prefix+"mode", "must be one of %s, got %q", modeList(windowed), w.Mode)
	case c.Mode.Valid() && !slices.Contains(windowed, c.Mode):
		f.wrongf(prefix+"mode", "cannot change the mode %s, only %s", c.Mode, modeList(windowed))
	}
}

// validateMultiplier checks that what is multiplied is a rate again.
func (c *Config) validateMultiplier(f *findings, key string, factor float64) {
	least, most := c.Hz(), c.Hz()
	if len(c.RateSeries) > 0 {
		least, most = math.Inf(1), 0
		for _, p := range c.RateSeries {
			least, most = min(least, p.Rate), max(most, p.Rate)
		}
	}
	if !(factor > 0) || most*factor > maxRateHz || least > 0 && !isRate(least*factor) { // so written, NaN is wrong too
		f.wrongf(key, "must be > 0, and its rates at most %d requests per second and at least one in %v, got %v", maxRateHz, maxInterval, factor)
	}
}

func (c *Config) validateSeries(f *findings) {
	f.zone("tz", c.TZ)
	if len(c.RateSeries) == 0 {
		if c.Period != 0 {
			f.wrongf("period", "belongs to rate_series, which is not set")
		}
		return
	}
	if c.Period != 0 && (c.Period < minPeriod || c.Period > maxInterval) {
		f.wrongf("period", "must be between %v and %v, got %v", minPeriod, maxInterval, c.Period)
		return
	}
	if n := len(c.RateSeries); n < 2 || n > maxPoints {
		f.wrongf("rate_series", "must have between 2 and %d points, got %d", maxPoints, n)
		return
	}
	c.validatePoints(f)
}

func (c *Config) validatePoints(f *findings) {
	period := c.Period
	if period == 0 {
		period = defaultPeriod
	}
	most := 0.0
	for i, p := range c.RateSeries {
		key := fmt.Sprintf("rate_series[%d]", i)
		switch {
		case p.At < 0 || p.At >= period:
			f.wrongf(key+".at", "must be >= 0 and below the period of %v, got %v", period, p.At)
		case i > 0 && p.At <= c.RateSeries[i-1].At:
			f.wrongf(key+".at", "must be later than the point before, %v, got %v", c.RateSeries[i-1].At, p.At)
		}
		if !(p.Rate >= 0 && p.Rate <= maxRateHz) { // so written, NaN is wrong too
			f.wrongf(key+".rate", "must be between 0 and %d requests per second, got %v", maxRateHz, p.Rate)
		}
		most = max(most, p.Rate)
	}
	if most == 0 {
		f.wrongf("rate_series", "must have a rate above 0")
	}
}
