package received

import (
	"maps"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// Kind is what a series is.
type Kind string

// The kinds.
const (
	Counter     Kind = "counter"
	Gauge       Kind = "gauge"
	Explicit    Kind = "explicit histogram"
	Exponential Kind = "exponential histogram"
	Summary     Kind = "summary"
)

// Value is the state of a series, whoever tells it.
type Value struct {
	Kind   Kind
	Number float64 // of counters and gauges
	Count  uint64
	Sum    float64

	Bounds    map[float64]uint64  // how many values are in each bucket, by its upper bound
	Quantiles map[float64]float64 // of a summary
	// Buckets have the values above 2^(index/2^Scale) and up to that of the next index.
	Buckets map[int32]uint64
	Scale   int32
	Zero    uint64

	Start, At   int64 // Unix nanoseconds, 0 = not told
	Differences bool  // it was told as such, and added up
	Exemplars   []Exemplar
}

// Exemplar is one value of a series. Its ids are in hexadecimal, "" = none.
type Exemplar struct {
	Value       float64
	At          int64 // Unix nanoseconds
	Trace, Span string
	Labels      string // others than ids
}

// coarser is the value at a scale that is not finer than its own.
func (v *Value) coarser(scale int32) *Value {
	by := v.Scale - scale
	if v.Kind != Exponential || by <= 0 {
		return v
	}
	out := *v
	out.Scale, out.Buckets = scale, make(map[int32]uint64, len(v.Buckets))
	for i, n := range v.Buckets {
		out.Buckets[i>>by] += n
	}
	return &out
}

// add is what both have seen.
func (v *Value) add(more *Value) *Value {
	a, b := v.coarser(more.Scale), more.coarser(v.Scale)
	out := *b
	out.Start = a.Start
	out.Number, out.Count, out.Sum, out.Zero = a.Number+b.Number, a.Count+b.Count, a.Sum+b.Sum, a.Zero+b.Zero
	out.Bounds, out.Buckets = merged(a.Bounds, b.Bounds), merged(a.Buckets, b.Buckets)
	out.Exemplars = append(slices.Clone(a.Exemplars), b.Exemplars...)
	return &out
}

func merged[K comparable](a, b map[K]uint64) map[K]uint64 {
	out := maps.Clone(a)
	for k, n := range b {
		if out == nil {
			out = map[K]uint64{}
		}
		out[k] += n
	}
	return out
}

// shown is the value of a series on /metrics, in the form of one that was received.
func shown(m *dto.Metric, kind Kind) *Value {
	v := &Value{Kind: kind}
	switch {
	case m.Counter != nil:
		v.Kind, v.Number, v.Start = Counter, m.Counter.GetValue(), nanoseconds(m.Counter.CreatedTimestamp)
		v.Exemplars = exemplars(m.Counter.GetExemplar())
	case m.Gauge != nil:
		v.Kind, v.Number = Gauge, m.Gauge.GetValue()
	case m.Untyped != nil:
		v.Kind, v.Number = Gauge, m.Untyped.GetValue()
	case m.Summary != nil:
		s := m.Summary
		v.Kind, v.Count, v.Sum, v.Start = Summary, s.GetSampleCount(), s.GetSampleSum(), nanoseconds(s.CreatedTimestamp)
		v.Quantiles = map[float64]float64{}
		for _, q := range s.Quantile {
			v.Quantiles[q.GetQuantile()] = q.GetValue()
		}
	case m.Histogram != nil:
		v.histogram(m.Histogram)
	}
	return v
}

// histogram takes one that is shown in the form that is wanted, which is the kind of the value.
func (v *Value) histogram(h *dto.Histogram) {
	v.Count, v.Sum, v.Start = h.GetSampleCount(), h.GetSampleSum(), nanoseconds(h.CreatedTimestamp)
	v.Exemplars = exemplars(h.Exemplars...)
	classic, below := []*dto.Exemplar{}, uint64(0)
	v.Bounds = map[float64]uint64{}
	for _, b := range h.Bucket {
		if b.Exemplar != nil {
			classic = append(classic, b.Exemplar)
		}
		if !math.IsInf(b.GetUpperBound(), 1) {
			v.Bounds[b.GetUpperBound()] = b.GetCumulativeCount() - below
			below = b.GetCumulativeCount()
		}
	}
	v.Bounds[math.Inf(1)] = v.Count - below
	if v.Kind == Explicit || len(h.Exemplars) == 0 {
		v.Exemplars = exemplars(classic...)
	}
	if v.Kind == Explicit {
		return
	}
	v.Bounds, v.Scale, v.Zero, v.Buckets = nil, h.GetSchema(), h.GetZeroCount(), map[int32]uint64{}
	index, count, deltas := int32(-1), int64(0), h.PositiveDelta
	for _, span := range h.PositiveSpan {
		index += span.GetOffset()
		for range span.GetLength() {
			count, deltas = count+deltas[0], deltas[1:]
			if count > 0 {
				v.Buckets[index] = uint64(count)
			}
			index++
		}
	}
}

// explicit takes a received histogram with bounds.
func explicit(p *metricspb.HistogramDataPoint) *Value {
	v := &Value{Kind: Explicit, Count: p.GetCount(), Sum: p.GetSum(), Bounds: map[float64]uint64{}}
	for i, n := range p.GetBucketCounts() {
		bound := math.Inf(1)
		if i < len(p.GetExplicitBounds()) {
			bound = p.GetExplicitBounds()[i]
		}
		v.Bounds[bound] = n
	}
	return v
}

// exponential takes a received histogram without.
func exponential(p *metricspb.ExponentialHistogramDataPoint) *Value {
	v := &Value{Kind: Exponential, Count: p.GetCount(), Sum: p.GetSum(), Scale: p.GetScale(), Zero: p.GetZeroCount(), Buckets: map[int32]uint64{}}
	for i, n := range p.GetPositive().GetBucketCounts() {
		if n > 0 {
			v.Buckets[p.GetPositive().GetOffset()+int32(i)] = n
		}
	}
	return v
}
