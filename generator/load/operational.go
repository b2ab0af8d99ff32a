package load

import (
	"math"
	"slices"
)

// operational is arrivals with a rate that changes. They are drawn in operational time, which runs as fast as arrivals are wanted, so that
// the rate is 1 there: evenly spaced, or with random intervals of the mean 1. The arrival of the operational instant s is at the instant
// until which s arrivals are expected.
//
// This keeps the law whatever the rate does. Poisson arrivals become those of the inhomogeneous Poisson process, exactly; evenly spaced
// ones stay as even as they can be. Where the rate changes, what is left of an interval is stretched or compressed: no burst, no gap, and
// nothing is drawn again. To draw the running interval anew at each change, as generators do that change their rate in steps, is right
// only for intervals without memory, and makes too many arrivals where the rate changes often.
type operational struct {
	rates *rates
	share float64 // of the rates
	law   map[Mode]func() float64

	stretch stretch
	total   float64 // expected arrivals in the stretch
	last    float64 // the last arrival, in operational time from the beginning of the stretch; below 0 = before it
	at      int64   // instant of the last arrival
	busy    int64   // until then, arrivals were wanted
	ended   bool
}

// maxIdle is how long nothing may be wanted until it is clear that nothing ever will be: a year knows all days of the week and all changes
// of clocks.
const maxIdle = 400 * day

// newVarying is the process of a load whose rate changes. Shards share the rate evenly, each with intervals of its own; those with evenly
// spaced arrivals take turns if they have started together.
func newVarying(c *Config, o *Origin) Process {
	share := evenShare(c, o)
	if share == 0 {
		return never{}
	}
	first := o.phase()
	if share < 1 {
		first = (first + float64(o.Shard.Index)) * share
	}
	s := newOperational(c, o, share, first)
	if c.isEven() {
		return newOpen(&evenly{s})
	}
	return newOpen(s)
}

// phase is that of the target, from 0 to below 1.
func (o *Origin) phase() float64 {
	if !o.hasPhase() {
		return 0
	}
	return float64(o.hash()>>11) / (1 << 53)
}

// newOperational makes the arrivals of a share of the rate. If they are evenly spaced at the start, the first is at the operational
// instant first.
func newOperational(c *Config, o *Origin, share, first float64) *operational {
	s := &operational{rates: newRates(c, o), share: share, law: map[Mode]func() float64{}}
	for _, mode := range c.laws() {
		s.law[mode] = intervals[mode](c, o)
	}
	s.enter(0)
	if s.stretch.mode == Constant {
		s.last = first - 1
	}
	return s
}

// laws is the modes whose intervals the load draws, now and then or always.
func (c *Config) laws() []Mode {
	laws := []Mode{c.law()}
	for i := range c.Schedule {
		if mode := c.Schedule[i].Mode; mode != "" && !slices.Contains(laws, mode) {
			laws = append(laws, mode)
		}
	}
	return laws
}

// law is the mode whose intervals are drawn outside of windows.
func (c *Config) law() Mode {
	if c.Mode == Users {
		return Constant
	}
	return c.Mode
}

// draws tells whether the load draws intervals of the mode, now and then or always.
func (c *Config) draws(mode Mode) bool { return slices.Contains(c.laws(), mode) }

// isEven tells whether arrivals are evenly spaced, in operational time, all the time.
func (c *Config) isEven() bool { return c.law() == Constant && len(c.laws()) == 1 }

// intervals draws the intervals of each law that a rate can change, in units of their mean.
var intervals = map[Mode]func(*Config, *Origin) func() float64{
	Constant: func(*Config, *Origin) func() float64 { return func() float64 { return 1 } },
	Poisson:  func(_ *Config, o *Origin) func() float64 { return newExponential(o) },
	Gamma:    newGammaIntervals,
}

// enter begins the stretch at an instant.
func (s *operational) enter(at int64) {
	s.stretch = s.rates.stretch(at)
	s.stretch.scale(s.share)
	s.total = s.stretch.arrivals(s.stretch.seconds())
}

// advance goes on to the next stretch; false: there will be no arrivals any more.
func (s *operational) advance() bool {
	if s.total > 0 {
		s.busy = s.stretch.until
	}
	if s.stretch.until-s.busy > maxIdle || s.stretch.until > horizon {
		s.ended = true
		return false
	}
	s.last -= s.total
	s.enter(s.stretch.until)
	return true
}

// Next implements stream. The law of an interval is the one that holds when it begins.
func (s *operational) Next() (at int64, ok bool) {
	if s.ended {
		return 0, false
	}
	interval := s.law[s.stretch.mode]()
	for s.last+interval >= s.total {
		if !s.advance() {
			return 0, false
		}
	}
	s.last += interval
	at = s.stretch.from + int64(s.stretch.after(s.last)*1e9)
	s.at = max(s.at, min(at, s.stretch.until-1)) // rounding moves no arrival out of its stretch
	return s.at, true
}

// evenly is an operational stream with evenly spaced arrivals all the time.
type evenly struct{ *operational }

// skip implements skipper, a stretch at a time.
func (s *evenly) skip(before int64) (skipped int64) {
	for !s.ended {
		below := s.total
		if before < s.stretch.until {
			below = s.stretch.arrivals(float64(before-s.stretch.from) / 1e9)
		}
		if n := math.Ceil(below-s.last) - 1; n > 0 {
			s.last += n
			skipped += int64(n)
		}
		if before < s.stretch.until || !s.advance() {
			break
		}
	}
	return skipped
}
