package load

import (
	"math"
	"time"
)

// stretch is a part of time in which one law holds, and the rate is c0 + c1*x + c2*x² arrivals per second, x seconds after its beginning.
type stretch struct {
	from, until int64 // nanoseconds from the anchor
	mode        Mode
	c0, c1, c2  float64
}

// scale leaves a share of the rate.
func (s *stretch) scale(share float64) {
	s.c0 *= share
	s.c1 *= share
	s.c2 *= share
}

// rampUp lets the rate, which is linear so far, come from that of the ramp: it is moved from there to its own in proportion to the time
// since the start. Where the ramp ends, the stretch ends.
func (s *stretch) rampUp(r *RampConfig) {
	if s.from >= int64(r.Duration) {
		return
	}
	s.until = min(s.until, int64(r.Duration))
	total := r.Duration.Seconds()
	done := time.Duration(s.from).Seconds() / total
	hz, slope := s.c0, s.c1
	s.c0 = r.From*(1-done) + hz*done
	s.c1 = (hz-r.From)/total + slope*done
	s.c2 = slope / total
}

// hz is the rate x seconds after the beginning.
func (s *stretch) hz(x float64) float64 { return s.c0 + x*(s.c1+x*s.c2) }

// arrivals is the expected number of arrivals in the first x seconds.
func (s *stretch) arrivals(x float64) float64 { return x * (s.c0 + x*(s.c1/2+x*s.c2/3)) }

// seconds is the length.
func (s *stretch) seconds() float64 { return time.Duration(s.until - s.from).Seconds() }

// after is the time, in seconds after the beginning, in which n arrivals are expected: the inverse of arrivals. n is at most that of the
// whole stretch.
func (s *stretch) after(n float64) float64 {
	if s.c1 == 0 && s.c2 == 0 {
		return n / s.c0
	}
	// Newton's method, kept between bounds that close in: the rate may be 0 at either end.
	const precision = 1e-10 // seconds
	low, high := 0.0, s.seconds()
	x := high * n / s.arrivals(high)
	for range 100 {
		excess := s.arrivals(x) - n
		step := excess / s.hz(x)
		if math.Abs(step) < precision {
			return x - step
		}
		if excess > 0 {
			high = x
		} else {
			low = x
		}
		x -= step
		if !(x > low && x < high) { // so written, NaN goes to the middle too
			x = (low + high) / 2
		}
	}
	return x
}
