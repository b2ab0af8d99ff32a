package load

import "time"

// steady is independent intervals of a constant mean. Their sum is kept as whole nanoseconds and a fraction below one, because a float64
// of nanoseconds loses them after a hundred days.
type steady struct {
	interval func() float64 // in units of the mean
	mean     float64        // nanoseconds
	sum      int64
	fraction float64 // [0, 1)
}

func newSteady(rateHz float64, interval func() float64) *steady {
	return &steady{interval: interval, mean: float64(time.Second) / rateHz}
}

// Next implements stream. The first arrival is one interval after the anchor, which spreads targets by itself.
func (s *steady) Next() (at int64, ok bool) {
	interval := s.interval()*s.mean + s.fraction
	if interval > float64(horizon-s.sum) {
		return 0, false
	}
	whole := int64(interval)
	s.sum += whole
	s.fraction = interval - float64(whole)
	return s.sum, true
}
