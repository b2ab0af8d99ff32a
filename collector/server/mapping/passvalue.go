package mapping

import (
	"math"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

func passedType(kind exposition.Kind) dto.MetricType {
	switch kind {
	case exposition.Counter:
		return dto.MetricType_COUNTER
	case exposition.Gauge:
		return dto.MetricType_GAUGE
	case exposition.Histogram:
		return dto.MetricType_HISTOGRAM
	case exposition.Summary:
		return dto.MetricType_SUMMARY
	case exposition.Untyped:
	}
	return dto.MetricType_UNTYPED
}

// setValue gives a metric what a series says, false if that cannot be shown. A gauge may be no number, a counter not.
func setValue(m *dto.Metric, kind exposition.Kind, s *exposition.Series) bool {
	switch kind {
	case exposition.Untyped:
		m.Untyped = &dto.Untyped{Value: new(s.Value)}
	case exposition.Gauge:
		m.Gauge = &dto.Gauge{Value: new(s.Value)}
	case exposition.Counter:
		if !finite(s.Value) || s.Value < 0 {
			return false
		}
		m.Counter = &dto.Counter{Value: new(s.Value), CreatedTimestamp: timestamp(s.Created)}
	case exposition.Histogram:
		if s.Histogram == nil || !showable(s.Histogram) {
			return false
		}
		m.Histogram = newHistogram(s.Histogram, s.Created)
	case exposition.Summary:
		if s.Summary == nil || !(s.Summary.Count >= 0 && s.Summary.Count < maxCount) {
			return false
		}
		m.Summary = newSummary(s.Summary, s.Created)
	}
	return true
}

func newSummary(q *exposition.Quantiles, created float64) *dto.Summary {
	out := &dto.Summary{SampleCount: new(uint64(q.Count)), SampleSum: new(q.Sum), CreatedTimestamp: timestamp(created)}
	for _, v := range q.Values {
		if !math.IsNaN(v.Quantile) {
			out.Quantile = append(out.Quantile, &dto.Quantile{Quantile: new(v.Quantile), Value: new(v.Value)})
		}
	}
	return out
}
