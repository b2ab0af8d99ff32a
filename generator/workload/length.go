package workload

import (
	"math"
	"math/rand/v2"
)

// Length is a distribution of token counts: a plain number in the file, which is a Length with only a Mean, or {mean, stddev, min, max}.
type Length struct {
	// mean length in tokens, 1 to 10 000 000
	Mean float64 `koanf:"mean" yaml:"mean"`
	// standard deviation; 0 makes all lengths equal
	Stddev float64 `koanf:"stddev" yaml:"stddev,omitempty"`
	// shortest length; draws below are drawn again
	Min int `koanf:"min" yaml:"min,omitempty"`
	// longest length, likewise
	Max int `koanf:"max" yaml:"max,omitempty"`
}

// maxRejections bounds the search for a draw within the bounds.
const maxRejections = 10_000

// draw is a length in tokens, at least 1: the rounded mean without a stddev, else a normal draw, rejected outside the bounds and rounded
// up. If almost the whole distribution lies outside, it is the mean.
func (l *Length) draw(random *rand.Rand) int {
	if l.Stddev > 0 {
		high := math.Inf(1)
		if l.Max > 0 {
			high = float64(l.Max)
		}
		for range maxRejections {
			if x := l.Mean + l.Stddev*random.NormFloat64(); x >= float64(l.Min) && x <= high {
				return max(1, int(math.Ceil(x)))
			}
		}
	}
	return max(1, int(math.Round(l.Mean)))
}
