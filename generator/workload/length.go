package workload

import (
	"math"
	"math/rand/v2"
	"time"
)

// Length is a distribution of counts, mostly of tokens. A plain number in the file is a Length with only a Mean.
type Length struct {
	// mean length in tokens, 1 to 10 000 000
	Mean float64 `koanf:"mean" yaml:"mean,omitempty"`
	// standard deviation of a normal distribution; without it and `median` all lengths are the mean
	Stddev float64 `koanf:"stddev" yaml:"stddev,omitempty"`
	// median of a lognormal distribution, not above the mean, in place of `stddev`
	Median float64 `koanf:"median" yaml:"median,omitempty"`
	// A mixture of at least two distributions in place of a mean: list of `mean`, `stddev` or `median`, and `weight` (default 1).
	Peaks []Peak `koanf:"peaks" yaml:"peaks,omitempty"`
	// Single values in place of a mean: list of `value` and `weight` (default 1).
	Points []Point `koanf:"points" yaml:"points,omitempty"`
	// shortest length: draws of a normal distribution are drawn again, those of others are raised to it
	Min int `koanf:"min" yaml:"min,omitempty"`
	// longest length, likewise; without it there is none
	Max int `koanf:"max" yaml:"max,omitempty"`
}

// Peak is one distribution of a mixture.
type Peak struct {
	Mean   float64 `koanf:"mean" yaml:"mean"`               // as that of a length, likewise the next two
	Stddev float64 `koanf:"stddev" yaml:"stddev,omitempty"` // of a normal distribution
	Median float64 `koanf:"median" yaml:"median,omitempty"` // of a lognormal distribution
	Weight float64 `koanf:"weight" yaml:"weight,omitempty"` // share of the peak beside those of the others; 1 without it
}

// Point is one value of an empirical distribution.
type Point struct {
	Value  int     `koanf:"value" yaml:"value"`             // tokens
	Weight float64 `koanf:"weight" yaml:"weight,omitempty"` // share of the value beside those of the others; 1 without it
}

// Delay is a distribution of durations. A plain duration in the file is a Delay with only a Mean.
type Delay struct {
	Mean   time.Duration `koanf:"mean" yaml:"mean,omitempty"`     // mean duration
	Stddev time.Duration `koanf:"stddev" yaml:"stddev,omitempty"` // standard deviation of a normal distribution; draws below zero are drawn again
	Median time.Duration `koanf:"median" yaml:"median,omitempty"` // median of a lognormal distribution, not above the mean, in place of `stddev`
	Max    time.Duration `koanf:"max" yaml:"max,omitempty"`       // longest duration; without it there is none
}

// maxRejections bounds the search for a draw within the bounds.
const maxRejections = 10_000

// bell is a normal or, with a median, a lognormal distribution; with neither a single value.
type bell struct{ mean, stddev, median float64 }

// lognormal tells which of the two it is. A median that is the mean leaves no spread.
func (b bell) lognormal() bool { return b.median > 0 }

// draw is a value in [low, high]. Draws of a normal distribution outside are rejected; if almost all of it lies there, it is the mean. A
// lognormal draw is moved to the nearer bound.
func (b bell) draw(random *rand.Rand, low, high float64) float64 {
	switch {
	case b.lognormal():
		sigma := math.Sqrt(2 * math.Log(b.mean/b.median))
		return min(max(b.median*math.Exp(sigma*random.NormFloat64()), low), high)
	case b.stddev > 0:
		for range maxRejections {
			if x := b.mean + b.stddev*random.NormFloat64(); x >= low && x <= high {
				return x
			}
		}
	}
	return b.mean
}

// fixed tells that all draws are the mean.
func (l *Length) fixed() bool {
	return l.Stddev == 0 && l.Median == 0 && len(l.Peaks) == 0 && len(l.Points) == 0
}

// draw is a length, at least 1: the rounded mean if that is all, else the draw rounded up.
func (l *Length) draw(random *rand.Rand) int {
	low, high := float64(l.Min), l.highest()
	switch {
	case len(l.Points) > 0:
		i := pick(random, len(l.Points), func(i int) float64 { return l.Points[i].Weight })
		return max(1, l.Points[i].Value)
	case len(l.Peaks) > 0:
		i := pick(random, len(l.Peaks), func(i int) float64 { return l.Peaks[i].Weight })
		p := &l.Peaks[i]
		x := bell{p.Mean, p.Stddev, p.Median}.draw(random, 0, math.Inf(1))
		return max(1, int(math.Ceil(min(max(x, low), high))))
	case l.fixed():
		return max(1, int(math.Round(l.Mean)))
	}
	b := bell{l.Mean, l.Stddev, l.Median}
	if x := b.draw(random, low, high); x != l.Mean {
		return max(1, int(math.Ceil(x)))
	}
	return max(1, int(math.Round(l.Mean)))
}

// highest is the upper bound of draws.
func (l *Length) highest() float64 {
	if l.Max > 0 {
		return float64(l.Max)
	}
	return maxTokens
}

// expected is the mean of the distribution without its bounds.
func (l *Length) expected() float64 {
	var sum, weights float64
	for _, p := range l.Peaks {
		sum, weights = sum+orOne(p.Weight)*p.Mean, weights+orOne(p.Weight)
	}
	for _, p := range l.Points {
		sum, weights = sum+orOne(p.Weight)*float64(p.Value), weights+orOne(p.Weight)
	}
	if weights == 0 {
		return l.Mean
	}
	return sum / weights
}

// draw is a duration that is not negative.
func (d *Delay) draw(random *rand.Rand) time.Duration {
	high := float64(math.MaxInt64 / 2)
	if d.Max > 0 {
		high = float64(d.Max)
	}
	return time.Duration(bell{float64(d.Mean), float64(d.Stddev), float64(d.Median)}.draw(random, 0, high))
}

// pick is an index below n, each as probable as its weight says.
func pick(random *rand.Rand, n int, weight func(int) float64) int {
	var sum float64
	for i := range n {
		sum += orOne(weight(i))
	}
	left := random.Float64() * sum
	for i := range n - 1 {
		if left -= orOne(weight(i)); left < 0 {
			return i
		}
	}
	return n - 1
}

// orOne is a weight as written, or 1 where none is.
func orOne(weight float64) float64 {
	if weight == 0 {
		return 1
	}
	return weight
}

const (
	// maxTokens is beyond every context window; a larger number is a mistake, and a prompt of this length already has tens of megabytes.
	maxTokens = 10_000_000
	// maxChoices bounds the entries of a mixture, which each draw walks through.
	maxChoices = 1000
	maxWeight  = 1e12
	maxDelay   = 24 * time.Hour
)

// validate finds what is wrong; unit names what is counted. A length of 0 is refused: a prompt cannot be empty, and an answer without a
// limit may cost any amount.
func (l *Length) validate(path, unit string) []error {
	f := findings{path: path}
	switch {
	case len(l.Peaks) > 0 && len(l.Points) > 0:
		f.wrongf(".points", "excludes peaks")
	case len(l.Peaks) > 0:
		f.excludes("peaks", l.Mean, l.Stddev, l.Median)
		l.validatePeaks(&f, unit)
	case len(l.Points) > 0:
		f.excludes("points", l.Mean, l.Stddev, l.Median)
		l.validatePoints(&f, unit)
	default:
		f.bell("", bell{l.Mean, l.Stddev, l.Median}, unit)
	}
	if l.Min < 0 || l.Min > maxTokens {
		f.wrongf(".min", "must be between 0 and %d %s, got %d", maxTokens, unit, l.Min)
	}
	if l.Max < 0 || l.Max > maxTokens {
		f.wrongf(".max", "must be between 0 (no bound) and %d %s, got %d", maxTokens, unit, l.Max)
	}
	if len(f.errs) == 0 {
		l.validateBounds(&f)
	}
	return f.errs
}

func (l *Length) validatePeaks(f *findings, unit string) {
	if n := len(l.Peaks); n < 2 || n > maxChoices {
		f.wrongf(".peaks", "must be 2 to %d distributions, got %d", maxChoices, n)
	}
	for i, p := range l.Peaks {
		f.bell(at(".peaks", i), bell{p.Mean, p.Stddev, p.Median}, unit)
		f.weight(at(".peaks", i), p.Weight)
	}
}

func (l *Length) validatePoints(f *findings, unit string) {
	if n := len(l.Points); n > maxChoices {
		f.wrongf(".points", "must be at most %d values, got %d", maxChoices, n)
	}
	for i, p := range l.Points {
		if p.Value < 1 || p.Value > maxTokens {
			f.wrongf(at(".points", i)+".value", "must be between 1 and %d %s, got %d", maxTokens, unit, p.Value)
		} else if p.Value < l.Min || (l.Max > 0 && p.Value > l.Max) {
			f.wrongf(at(".points", i)+".value", "must be within min and max, got %d", p.Value)
		}
		f.weight(at(".points", i), p.Weight)
	}
}

// validateBounds compares the bounds with each other and with the mean.
func (l *Length) validateBounds(f *findings) {
	mean := math.Round(l.expected())
	switch {
	case l.Max != 0 && l.Max < l.Min:
		f.wrongf(".max", "must not be below min (%d), got %d", l.Min, l.Max)
	case mean < float64(l.Min):
		f.wrongf(".min", "must not be above the mean (%v), got %d", l.expected(), l.Min)
	case l.Max != 0 && mean > float64(l.Max):
		f.wrongf(".max", "must not be below the mean (%v), got %d", l.expected(), l.Max)
	}
}

// validate finds what is wrong with a distribution of durations.
func (d *Delay) validate(path string) []error {
	f := findings{path: path}
	for _, part := range []struct {
		key   string
		value time.Duration
	}{{"", d.Mean}, {".stddev", d.Stddev}, {".median", d.Median}, {".max", d.Max}} {
		if part.value < 0 || part.value > maxDelay {
			f.wrongf(part.key, "must be between 0 and %v, got %v", maxDelay, part.value)
		}
	}
	switch {
	case len(f.errs) > 0:
	case d.Median > 0 && d.Stddev > 0:
		f.wrongf(".median", "excludes stddev")
	case d.Median > d.Mean:
		f.wrongf(".median", "must not be above the mean (%v), got %v", d.Mean, d.Median)
	case d.Max > 0 && d.Max < d.Mean:
		f.wrongf(".max", "must not be below the mean (%v), got %v", d.Mean, d.Max)
	}
	return f.errs
}
