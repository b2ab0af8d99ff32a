package report

import (
	"math"
	"slices"
)

// Stats describe a set of values as AIPerf does: the standard deviation is the population's, percentiles are interpolated linearly at
// rank q·(N−1). The order of the fields is the order in AIPerf's JSON.
type Stats struct {
	Avg   float64 `json:"avg"`
	P1    float64 `json:"p1"`
	P5    float64 `json:"p5"`
	P10   float64 `json:"p10"`
	P25   float64 `json:"p25"`
	P50   float64 `json:"p50"`
	P75   float64 `json:"p75"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Std   float64 `json:"std"`
	Count int     `json:"count"`
	Sum   float64 `json:"sum"`
}

// newStats describes values, which must not be empty, and sorts them. Sums run over the sorted values, so that the order in which
// requests happened to finish does not show in the last digit.
func newStats(values []float64) Stats {
	slices.Sort(values)
	n := float64(len(values))
	s := Stats{
		P1: quantile(values, .01), P5: quantile(values, .05), P10: quantile(values, .10), P25: quantile(values, .25),
		P50: quantile(values, .50), P75: quantile(values, .75), P90: quantile(values, .90), P95: quantile(values, .95),
		P99: quantile(values, .99), Min: values[0], Max: values[len(values)-1], Count: len(values),
	}
	for _, v := range values {
		s.Sum += v
	}
	// The mean of equal values may be one unit in the last place beside them.
	s.Avg = min(max(s.Sum/n, s.Min), s.Max)
	squares := 0.0
	for _, v := range values {
		squares += (v - s.Avg) * (v - s.Avg)
	}
	s.Std = math.Sqrt(squares / n)
	return s
}

// quantile interpolates between the values around rank q·(N−1), from the nearer one, as numpy does.
func quantile(sorted []float64, q float64) float64 {
	rank := q * float64(len(sorted)-1)
	below := int(rank)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := rank - float64(below)
	low, high := sorted[below], sorted[below+1]
	if part >= 0.5 {
		return high - (high-low)*(1-part)
	}
	return low + (high-low)*part
}
