package main

import (
	"math"
	"slices"
)

// distribution sums up one measure of the finished requests.
type distribution struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

// newDistribution sorts values; of none everything is 0.
func newDistribution(values []float64) distribution {
	if len(values) == 0 {
		return distribution{}
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return distribution{Mean: sum / float64(len(values)), P50: quantile(values, .5), P99: quantile(values, .99)}
}

// quantile interpolates at rank q·(n−1) of sorted values.
func quantile(values []float64, q float64) float64 {
	whole, part := math.Modf(q * float64(len(values)-1))
	i := int(whole)
	return values[i] + part*(values[min(i+1, len(values)-1)]-values[i])
}
