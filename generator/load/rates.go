package load

import "time"

// rates is the rate that a load wants, over time: the configured one, changed by windows and the ramp.
type rates struct {
	wall    int64 // wall-clock time of the anchor
	mode    Mode
	base    float64 // per second
	series  *series // instead of base; may be nil
	windows []window
	ramp    RampConfig
}

func newRates(c *Config, o *Origin) *rates {
	r := &rates{wall: o.Wall, mode: c.law(), base: c.Hz(), ramp: c.Ramp}
	if len(c.RateSeries) > 0 {
		r.series = newSeries(c)
	}
	for i := range c.Schedule {
		r.windows = append(r.windows, newWindow(&c.Schedule[i], c.TZ))
	}
	return r
}

// varies tells whether the rate or the law of arrivals changes over time.
func (c *Config) varies() bool {
	return c.Ramp.Duration > 0 || len(c.Schedule) > 0 || len(c.RateSeries) > 0
}

// at is the rate at an instant, in nanoseconds from the anchor.
func (r *rates) at(offset int64) float64 {
	s := r.stretch(offset)
	return s.hz(0)
}

// expected is the mean number of arrivals between two instants.
func (r *rates) expected(from, to int64) (n float64) {
	for from < to {
		s := r.stretch(from)
		until := min(s.until, to)
		n += s.arrivals(time.Duration(until - from).Seconds())
		from = until
	}
	return n
}

// stretch is what holds from an instant on. No stretch is longer than a day, so that a float64 of its seconds knows the nanoseconds.
func (r *rates) stretch(offset int64) stretch {
	wall := r.wall + offset
	until, hz, slope := wall+day, r.base, 0.0
	if r.series != nil {
		var end int64
		hz, slope, end = r.series.at(wall)
		until = min(until, end)
	}
	s := stretch{from: offset, mode: r.mode}
	enabled := true
	for i := range r.windows {
		w := &r.windows[i]
		inside, end := w.at(wall)
		until = min(until, end)
		if !inside {
			continue
		}
		enabled = w.config.enabled()
		hz, slope = w.config.change(hz, slope)
		if w.config.Mode != "" {
			s.mode = w.config.Mode
		}
		break
	}
	s.until = offset + until - wall
	if enabled {
		s.c0, s.c1 = hz, slope
		s.rampUp(&r.ramp)
	}
	return s
}

// change gives the rate in the window, and by how much it changes per second, from those outside.
func (c *WindowConfig) change(hz, slope float64) (changedHz, changedSlope float64) {
	switch {
	case c.Rate != 0:
		return c.Rate, 0
	case c.Interval != 0:
		return 1 / c.Interval.Seconds(), 0
	case c.Multiplier != 0:
		return hz * c.Multiplier, slope * c.Multiplier
	}
	return hz, slope
}
