package otlp

import (
	"math"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const (
	// minSchema and maxSchema bound the resolutions of native histograms: 2^schema buckets for each power of two. OpenTelemetry calls it scale.
	minSchema, maxSchema = -4, 8
	// maxBuckets is how many buckets an exponential histogram has, from the first to the last that is not empty; with more it gets fewer and
	// wider ones.
	maxBuckets = 160
)

// exponential says a native histogram.
func (p *producer) exponential(m *dto.Metric, w when) metricdata.ExponentialHistogramDataPoint[float64] {
	h := m.Histogram
	out := metricdata.ExponentialHistogramDataPoint[float64]{
		Attributes: attributesOf(m.Label),
		Count:      h.GetSampleCount(), Sum: h.GetSampleSum(), ZeroCount: h.GetZeroCount(), ZeroThreshold: h.GetZeroThreshold(),
		Exemplars: p.exemplars.convert(nativeExemplars(h)...),
	}
	out.StartTime, out.Time = w.times(h.CreatedTimestamp)
	positive, negative := sparseOf(h.PositiveSpan, h.PositiveDelta), sparseOf(h.NegativeSpan, h.NegativeDelta)
	by := max(positive.excess(), negative.excess())
	out.Scale = h.GetSchema() - int32(by)
	out.PositiveBucket, out.NegativeBucket = positive.dense(by), negative.dense(by)
	return out
}

// nativeExemplars are those of the native form, else those of the classic one.
func nativeExemplars(h *dto.Histogram) []*dto.Exemplar {
	if len(h.Exemplars) > 0 {
		return h.Exemplars
	}
	var out []*dto.Exemplar
	for _, b := range h.Bucket {
		if b.Exemplar != nil {
			out = append(out, b.Exemplar)
		}
	}
	return out
}

// sparse are the buckets that are not empty, ascending. Between the first and the last there may be so many empty ones that only this form
// is safe to make of what a server says.
type sparse []bucket

// bucket holds base^index < v <= base^(index+1). Prometheus counts from one more.
type bucket struct {
	index int32
	count uint64
}

// sparseOf reads the buckets of a native histogram: each count is told as the difference to the one before. Buckets that do not ascend are the
// end of what can be read.
func sparseOf(spans []*dto.BucketSpan, deltas []int64) sparse {
	out := make(sparse, 0, len(deltas))
	next, count := int64(-1), int64(0)
	for i, span := range spans {
		next += int64(span.GetOffset())
		if next < math.MinInt32 || i > 0 && span.GetOffset() < 0 {
			return out
		}
		for range span.GetLength() {
			if len(deltas) == 0 || next > math.MaxInt32 {
				return out
			}
			count, deltas = count+deltas[0], deltas[1:]
			if count > 0 {
				out = append(out, bucket{int32(next), uint64(count)})
			}
			next++
		}
	}
	return out
}

func (s sparse) excess() int {
	if len(s) == 0 {
		return 0
	}
	return excess(s[0].index, s[len(s)-1].index)
}

// excess is how often two neighbours must become one until there are no more than maxBuckets from the first to the last.
func excess(first, last int32) (by int) {
	for ; int64(last>>by)-int64(first>>by) >= maxBuckets; by++ {
	}
	return by
}

// dense gives all buckets from the first to the last, 2^by neighbours in one.
func (s sparse) dense(by int) metricdata.ExponentialBucket {
	if len(s) == 0 {
		return metricdata.ExponentialBucket{}
	}
	first := s[0].index >> by
	out := metricdata.ExponentialBucket{Offset: first, Counts: make([]uint64, s[len(s)-1].index>>by-first+1)}
	for _, b := range s {
		out.Counts[b.index>>by-first] += b.count
	}
	return out
}
