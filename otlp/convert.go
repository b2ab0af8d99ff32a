package otlp

import (
	"strings"
	"time"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// producer says what a scrape would show in the words of OpenTelemetry, all of it cumulative.
type producer struct {
	names     namer
	form      HistogramForm
	exemplars exemplarFilter
	extra     map[string]convention // by family: what is sent under a second name
	scope     instrumentation.Scope
	start     time.Time // of this process: it has counted since then where a series of its own does not tell
}

// produce says a look.
func (p *producer) produce(l look) []metricdata.ScopeMetrics {
	scope := metricdata.ScopeMetrics{Scope: p.scope, Metrics: make([]metricdata.Metrics, 0, len(l.families)+len(l.instruments))}
	for _, f := range l.families {
		made := p.convert(f, l.at)
		scope.Metrics = append(scope.Metrics, made...)
		if second, ok := p.extra[f.GetName()]; ok {
			for _, m := range made {
				scope.Metrics = joined(scope.Metrics, second.rename(m))
			}
		}
	}
	scope.Metrics = append(scope.Metrics, l.instruments...)
	return []metricdata.ScopeMetrics{scope}
}

// convert says one family. It becomes two metrics of the same name where some of its histograms are only there in one form, some only in the
// other.
func (p *producer) convert(f *dto.MetricFamily, at time.Time) []metricdata.Metrics {
	name := p.names.of(f.GetName(), f.GetType() == dto.MetricType_COUNTER)
	w := when{start: p.start, at: at}
	if name.foreign {
		w.start = time.Time{}
	}
	var data []metricdata.Aggregation
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		data = append(data, metricdata.Sum[float64]{
			Temporality: metricdata.CumulativeTemporality, IsMonotonic: true, DataPoints: p.counters(f.Metric, w),
		})
	case dto.MetricType_GAUGE, dto.MetricType_UNTYPED:
		data = append(data, metricdata.Gauge[float64]{DataPoints: gauges(f.Metric, at)})
	case dto.MetricType_HISTOGRAM:
		data = p.histograms(f.Metric, w)
	case dto.MetricType_SUMMARY:
		data = append(data, metricdata.Summary{DataPoints: summaries(f.Metric, w)})
	case dto.MetricType_GAUGE_HISTOGRAM: // OpenTelemetry has none
	}
	out := make([]metricdata.Metrics, 0, len(data))
	for _, d := range data {
		out = append(out, metricdata.Metrics{Name: name.name, Description: f.GetHelp(), Unit: name.unit, Data: d})
	}
	return out
}

func (p *producer) counters(metrics []*dto.Metric, w when) []metricdata.DataPoint[float64] {
	out := make([]metricdata.DataPoint[float64], 0, len(metrics))
	for _, m := range metrics {
		point := metricdata.DataPoint[float64]{Attributes: attributesOf(m.Label), Value: m.Counter.GetValue()}
		point.StartTime, point.Time = w.times(m.Counter.GetCreatedTimestamp())
		if e := m.Counter.GetExemplar(); e != nil {
			point.Exemplars = p.exemplars.convert(e)
		}
		out = append(out, point)
	}
	return out
}

func gauges(metrics []*dto.Metric, at time.Time) []metricdata.DataPoint[float64] {
	out := make([]metricdata.DataPoint[float64], 0, len(metrics))
	for _, m := range metrics {
		value := m.Gauge.GetValue()
		if m.Gauge == nil {
			value = m.Untyped.GetValue()
		}
		out = append(out, metricdata.DataPoint[float64]{Attributes: attributesOf(m.Label), Time: at, Value: value})
	}
	return out
}

func summaries(metrics []*dto.Metric, w when) []metricdata.SummaryDataPoint {
	out := make([]metricdata.SummaryDataPoint, 0, len(metrics))
	for _, m := range metrics {
		point := metricdata.SummaryDataPoint{
			Attributes: attributesOf(m.Label), Count: m.Summary.GetSampleCount(), Sum: m.Summary.GetSampleSum(),
		}
		point.StartTime, point.Time = w.times(m.Summary.GetCreatedTimestamp())
		for _, q := range m.Summary.GetQuantile() {
			point.QuantileValues = append(point.QuantileValues, metricdata.QuantileValue{Quantile: q.GetQuantile(), Value: q.GetValue()})
		}
		out = append(out, point)
	}
	return out
}

// when is the time of a family: when it was read, and when counting began where its series do not tell; the zero time = nobody knows.
type when struct{ start, at time.Time }

// times are when counting began and when the series was read, never in the other order: a wall clock that was set back would make it so.
func (w *when) times(created *timestamppb.Timestamp) (start, at time.Time) {
	start = w.start
	if created != nil {
		start = created.AsTime()
	}
	return start, later(w.at, start)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// attributesOf are the labels as they are.
func attributesOf(labels []*dto.LabelPair) attribute.Set {
	pairs := make([]attribute.KeyValue, 0, len(labels))
	for _, l := range labels {
		pairs = append(pairs, attribute.String(valid(l.GetName()), valid(l.GetValue())))
	}
	return attribute.NewSet(pairs...)
}

// valid is the text as protobuf takes it: a single byte that is not UTF-8 would make a whole request impossible.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
