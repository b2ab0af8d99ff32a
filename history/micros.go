package history

import (
	"math"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// micros is a duration in microseconds, up to 71 minutes; none is one that does not exist.
type micros uint32

const none micros = math.MaxUint32

// toMicros converts nanoseconds.
func toMicros(ns int64) micros { return micros(min(max(ns, 0)/1e3, int64(none)-1)) }

// microsOf converts seconds.
func microsOf(v metrics.Value) micros {
	if !v.Defined || math.IsNaN(v.V) {
		return none
	}
	return toMicros(int64(min(v.V, 1e6) * 1e9))
}

func (d micros) seconds() float64 { return float64(d) / 1e6 }

// quantile is the smallest value that as large a share of them as q is not above, in seconds; nil = there are none. They must be sorted.
func quantile(sorted []micros, q float64) *float64 {
	if len(sorted) == 0 {
		return nil
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return new(sorted[min(max(rank, 1), len(sorted))-1].seconds())
}

// thinned keeps a bounded number of values of however many come: each, then every second one, every fourth …
type thinned struct {
	values []micros
	stride int // of the values that come, one in as many is kept
	skip   int // to pass over before the next one
}

// maxThinned is how many are kept at most.
const maxThinned = 512

func (s *thinned) add(d micros) {
	switch {
	case d == none:
		return
	case s.skip > 0:
		s.skip--
		return
	case len(s.values) == maxThinned:
		for i := range maxThinned / 2 {
			s.values[i] = s.values[2*i]
		}
		s.values = s.values[:maxThinned/2]
		s.stride *= 2
	}
	s.stride = max(s.stride, 1)
	s.values = append(s.values, d)
	s.skip = s.stride - 1
}

// take sorts the values and begins anew; they are valid until the next add.
func (s *thinned) take() []micros {
	values := s.values
	slices.Sort(values)
	*s = thinned{values: values[:0]}
	return values
}
