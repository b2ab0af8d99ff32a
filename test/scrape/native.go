package scrape

import (
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// Natives counts the values of a native histogram, none of them negative, by the upper bound of their bucket.
func Natives(h *dto.Histogram) map[float64]float64 {
	counts := map[float64]float64{h.GetZeroThreshold(): float64(h.GetZeroCount())}
	index, count, deltas := int32(0), int64(0), h.GetPositiveDelta()
	for _, span := range h.GetPositiveSpan() {
		index += span.GetOffset()
		for range span.GetLength() {
			count, deltas = count+deltas[0], deltas[1:]
			counts[math.Exp2(float64(index)/math.Exp2(float64(h.GetSchema())))] += float64(count)
			index++
		}
	}
	return counts
}

// Quantile is the upper bound of the bucket below which a share of the values lie; NaN if there are none.
func Quantile(counts map[float64]float64, q float64) float64 {
	bounds, total := make([]float64, 0, len(counts)), 0.0
	for bound, n := range counts {
		bounds = append(bounds, bound)
		total += n
	}
	slices.Sort(bounds)
	below := 0.0
	for _, bound := range bounds {
		if below += counts[bound]; below >= q*total && below > 0 {
			return bound
		}
	}
	return math.NaN()
}
