package load_test

import (
	"math"
	"slices"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// wantLaw is the Kolmogorov-Smirnov test: it fails if the values differ from the law more than one sample of it in a thousand does.
func wantLaw(t *testing.T, what string, values []float64, cdf func(float64) float64) {
	t.Helper()
	wantLawAbove(t, what, 0, values, cdf)
}

// wantLawAbove looks only at values from least on: below, they were rounded too much.
func wantLawAbove(t *testing.T, what string, least float64, values []float64, cdf func(float64) float64) {
	t.Helper()
	values = slices.Sorted(slices.Values(values))
	n := float64(len(values))
	var distance float64
	for i, v := range values {
		if v < least {
			continue
		}
		p := cdf(v)
		distance = max(distance, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}
	if limit := 1.95 / math.Sqrt(n); !(distance < limit) {
		t.Errorf("%s: %d values are %.5f from their law, want less than %.5f", what, len(values), distance, limit)
	}
}

func exponential(x float64) float64 { return -math.Expm1(-x) }

// gammaLaw is the law of intervals with the mean 1 and the shape k: the lower incomplete gamma function of k and kx, by its series.
func gammaLaw(k float64) func(float64) float64 {
	logGamma, _ := math.Lgamma(k)
	return func(x float64) float64 {
		x *= k
		if x == 0 {
			return 0
		}
		if x > k+40*math.Sqrt(k)+40 {
			return 1
		}
		term := 1 / k
		sum := term
		for n := 1.0; term > sum*1e-15; n++ {
			term *= x / (k + n)
			sum += term
		}
		return min(1, sum*math.Exp(k*math.Log(x)-x-logGamma))
	}
}

// gaps is the intervals between instants, the first of which comes after 0, in units of scale nanoseconds.
func gaps(instants []int64, scale float64) []float64 {
	out := make([]float64, len(instants))
	var last int64
	for i, at := range instants {
		out[i] = float64(at-last) / scale
		last = at
	}
	return out
}

// meanCV is the mean and the coefficient of variation.
func meanCV(values []float64) (average, cv float64) {
	average = mean(values)
	var squares float64
	for _, v := range values {
		squares += (v - average) * (v - average)
	}
	return average, math.Sqrt(squares/float64(len(values))) / average
}

// until takes all arrivals before an instant.
func until(s *load.Schedule, end int64) []int64 {
	var out []int64
	for at, ok := s.Peek(); ok && at < end; at, ok = s.Peek() {
		out = append(out, s.Pop().Sched)
	}
	return out
}
