package main

import (
	"fmt"
	"math"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// exposed gives what the daemon's series say.
func exposed(f scrape.Families) (figures, error) {
	ttft, err := theHistogram(f, "aiperf_time_to_first_token_seconds")
	if err != nil {
		return figures{}, err
	}
	itl, err := theHistogram(f, "aiperf_inter_token_latency_seconds")
	if err != nil {
		return figures{}, err
	}
	return figures{requests: int(ttft.GetSampleCount()), ttft: summary(ttft), itl: summary(itl)}, nil
}

// theHistogram gives that of the only target.
func theHistogram(f scrape.Families, name string) (*dto.Histogram, error) {
	series := f.Series(name, nil)
	if len(series) != 1 || series[0].Histogram == nil {
		return nil, fmt.Errorf("%s: %d series, want one histogram", name, len(series))
	}
	return series[0].Histogram, nil
}

func summary(h *dto.Histogram) distribution {
	return distribution{Mean: h.GetSampleSum() / float64(h.GetSampleCount()), P50: quantile(h, .5), P99: quantile(h, .99)}
}

// quantile estimates a quantile of a native histogram of values above 0 as PromQL's histogram_quantile does: between the bounds of
// the bucket in which it lies, on a logarithmic scale. That of an empty histogram is NaN.
func quantile(h *dto.Histogram, q float64) float64 {
	rank := q * float64(h.GetSampleCount())
	growth := math.Exp2(-float64(h.GetSchema())) // of the binary logarithm, from bucket to bucket
	seen, count := float64(h.GetZeroCount()), int64(0)
	deltas := h.GetPositiveDelta()
	index := int32(0)
	for _, span := range h.GetPositiveSpan() {
		index += span.GetOffset()
		for range span.GetLength() {
			count += deltas[0]
			deltas = deltas[1:]
			if in := float64(count); in > 0 && seen+in >= rank {
				return math.Exp2(growth * (float64(index) - 1 + (rank-seen)/in))
			}
			seen += float64(count)
			index++
		}
	}
	return math.NaN()
}
