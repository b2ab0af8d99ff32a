package main

import (
	"math"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// delays is a scrape with native buckets of two targets, each with one more value at each further index.
func delays(values int64) scrape.Families {
	h := &dto.Histogram{
		SampleCount: new(uint64(4 * values)), SampleSum: new(.004 * float64(values)), Schema: new(int32(0)),
		ZeroThreshold: new(1e-6), ZeroCount: new(uint64(values)),
		PositiveSpan: []*dto.BucketSpan{{Offset: new(int32(-10)), Length: new(uint32(1))}, {Offset: new(int32(1)), Length: new(uint32(1))}},
		// The difference to the bucket before: twice as many are in the second.
		PositiveDelta: []int64{values, values},
	}
	m := &dto.Metric{Histogram: h}
	return scrape.Families{delaySeries: {Name: new(delaySeries), Metric: []*dto.Metric{m, m}}}
}

func TestDelaysAreThoseOfThePhase(t *testing.T) {
	t.Parallel()
	v := view{{f: delays(1)}, {f: delays(5)}, {f: delays(11)}}
	for q, want := range map[float64]float64{.2: 1e-3, .5: 1e3 * math.Exp2(-10), .9: 1e3 * math.Exp2(-8)} {
		if got := v.delayQuantile(q); got != want {
			t.Errorf("quantile %v is %v ms, want %v", q, got, want)
		}
	}
	if got := v.delay(); math.Abs(got-1) > 1e-9 {
		t.Errorf("the mean is %v ms, want 1", got)
	}
}

func TestThereIsNoQuantileOfNothing(t *testing.T) {
	t.Parallel()
	if got := scrape.Quantile(map[float64]float64{1: 0}, .5); !math.IsNaN(got) {
		t.Errorf("got %v", got)
	}
}
