package mapping

import (
	"cmp"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// family makes a family of the cells, nil if none of them can be shown.
func (s *normalised) family(cells []*cell) *dto.MetricFamily {
	out := &dto.MetricFamily{Name: new(s.Name), Help: new(s.Help), Type: collector.TypeOf(s.Kind).Enum()}
	names := s.LabelNames(nil, nil)
	order := make([]int, len(names)) // of the labels by name
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(names[a], names[b]) })

	var last *dto.Metric
	for _, c := range cells {
		value := c.result(s.join)
		if c.broken || !finite(value) || s.Kind == metrics.Counter && value < 0 {
			continue
		}
		m := &dto.Metric{Label: make([]*dto.LabelPair, len(order))}
		for i, at := range order {
			if last != nil && last.Label[i].GetValue() == c.values[at] {
				m.Label[i] = last.Label[i] // most are the same all along
			} else {
				m.Label[i] = &dto.LabelPair{Name: &names[at], Value: &c.values[at]}
			}
		}
		last = m
		switch s.Kind {
		case metrics.Histogram:
			m.Histogram = newHistogram(&c.histogram, c.created)
		case metrics.Counter:
			m.Counter = &dto.Counter{Value: new(value), CreatedTimestamp: timestamp(c.created)}
		case metrics.Gauge:
			m.Gauge = &dto.Gauge{Value: new(value)}
		}
		out.Metric = append(out.Metric, m)
	}
	if len(out.Metric) == 0 {
		return nil
	}
	return out
}

// newHistogram makes one that is whole. The last of classic buckets, +Inf, is the count.
func newHistogram(h *exposition.Buckets, created float64) *dto.Histogram {
	out := &dto.Histogram{SampleCount: new(uint64(h.Count)), SampleSum: new(h.Sum), CreatedTimestamp: timestamp(created)}
	if last := len(h.Classic) - 1; last >= 0 {
		out.SampleCount = new(uint64(h.Classic[last].Count))
		// One piece of memory for all of them: a page has thousands.
		type bucket struct {
			dto.Bucket

			bound float64
			count uint64
		}
		memory := make([]bucket, last)
		out.Bucket = make([]*dto.Bucket, last)
		for i := range memory {
			b := &memory[i]
			b.bound, b.count = h.Classic[i].Bound, uint64(h.Classic[i].Count)
			b.UpperBound, b.CumulativeCount = &b.bound, &b.count
			out.Bucket[i] = &b.Bucket
		}
	}
	if h.Native != nil {
		addNative(out, h.Native)
	}
	return out
}

func addNative(out *dto.Histogram, n *exposition.Native) {
	out.Schema, out.ZeroThreshold, out.ZeroCount = new(n.Schema), new(n.ZeroThreshold), new(uint64(n.ZeroCount))
	out.PositiveSpan, out.NegativeSpan = spans(n.PositiveSpans), spans(n.NegativeSpans)
	out.PositiveDelta, out.NegativeDelta = slices.Clone(n.PositiveDeltas), slices.Clone(n.NegativeDeltas)
	if len(out.PositiveSpan) == 0 && len(out.NegativeSpan) == 0 {
		out.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}} // what tells an empty one from a classic one
	}
}

func spans(in []exposition.Span) []*dto.BucketSpan {
	out := make([]*dto.BucketSpan, 0, len(in))
	for _, s := range in {
		out = append(out, &dto.BucketSpan{Offset: new(s.Offset), Length: new(s.Length)})
	}
	return out
}

// timestamp is a time in seconds of Unix time, nil = not told.
func timestamp(seconds float64) *timestamppb.Timestamp {
	if !(seconds > 0 && seconds < 1<<33) {
		return nil
	}
	whole, rest := math.Modf(seconds)
	return &timestamppb.Timestamp{Seconds: int64(whole), Nanos: int32(rest * 1e9)}
}
