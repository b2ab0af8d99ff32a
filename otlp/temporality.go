package otlp

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Temporality says since when what is sent was counted.
type Temporality string

// The temporalities, as OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE calls them.
const (
	Cumulative Temporality = "cumulative" // since the series began
	Delta      Temporality = "delta"      // since the last export that arrived
	LowMemory  Temporality = "lowmemory"  // histograms like `delta`, counters like `cumulative`
)

// Valid tells whether it is one of them.
func (t Temporality) Valid() bool { return t == Cumulative || t == Delta || t == LowMemory }

// deltas turns what is cumulative into what is new since the last export that arrived. What did not arrive stays new, whatever happens to its
// series meanwhile: nothing is lost while a collector is away, and nothing is kept but the last values that arrived and the last that were
// seen. What a server or a GPU had counted before it was looked at is not new. Not safe for concurrent use.
//
// It works on the level of metric data, behind everything that makes some: the SDK's readers count as sent what they have read.
type deltas struct {
	counters bool      // whether they are turned, too
	began    time.Time // of this process

	round        uint64
	order        []identity // of all metrics there are
	sums         map[identity]*group[metricdata.DataPoint[float64]]
	histograms   map[identity]*group[metricdata.HistogramDataPoint[float64]]
	exponentials map[identity]*group[metricdata.ExponentialHistogramDataPoint[float64]]
}

// identity is which metric a series belongs to.
type identity struct {
	scope string
	name  string
	kind  aggregation
}

type aggregation uint8

const (
	aSum aggregation = iota
	aHistogram
	anExponential
)

// newDeltas makes the stage for a temporality in a process that began then, nil if there is nothing to turn.
func newDeltas(t Temporality, began time.Time) *deltas {
	if t == Cumulative {
		return nil
	}
	return &deltas{
		counters:     t == Delta,
		began:        began,
		sums:         map[identity]*group[metricdata.DataPoint[float64]]{},
		histograms:   map[identity]*group[metricdata.HistogramDataPoint[float64]]{},
		exponentials: map[identity]*group[metricdata.ExponentialHistogramDataPoint[float64]]{},
	}
}

// turn gives what is to be sent. What is gone since the last call comes once more, if some of it has not arrived.
func (d *deltas) turn(scopes []metricdata.ScopeMetrics) []metricdata.ScopeMetrics {
	d.round++
	out := make([]metricdata.ScopeMetrics, len(scopes))
	for i, s := range scopes {
		out[i] = metricdata.ScopeMetrics{Scope: s.Scope, Metrics: make([]metricdata.Metrics, 0, len(s.Metrics))}
		for _, m := range s.Metrics {
			m.Data = d.turnMetric(s.Scope, &m)
			out[i].Metrics = append(out[i].Metrics, m)
		}
	}
	return d.withGone(out)
}

func (d *deltas) turnMetric(scope instrumentation.Scope, m *metricdata.Metrics) metricdata.Aggregation {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		return d.turnSum(scope, m, floatSum(data))
	case metricdata.Sum[float64]:
		return d.turnSum(scope, m, data)
	case metricdata.Histogram[int64]:
		return d.turnHistogram(scope, m, floatHistogram(data))
	case metricdata.Histogram[float64]:
		return d.turnHistogram(scope, m, data)
	case metricdata.ExponentialHistogram[float64]:
		id := identity{scope.Name, m.Name, anExponential}
		g := groupOf(d, d.exponentials, id, scope, m, exponentialPoints{})
		return metricdata.ExponentialHistogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: g.turn(data.DataPoints, d.round)}
	}
	return m.Data
}

func (d *deltas) turnSum(scope instrumentation.Scope, m *metricdata.Metrics, data metricdata.Sum[float64]) metricdata.Aggregation {
	if !data.IsMonotonic || !d.counters {
		return m.Data
	}
	g := groupOf(d, d.sums, identity{scope.Name, m.Name, aSum}, scope, m, sumPoints{})
	return metricdata.Sum[float64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true, DataPoints: g.turn(data.DataPoints, d.round)}
}

func (d *deltas) turnHistogram(scope instrumentation.Scope, m *metricdata.Metrics, data metricdata.Histogram[float64]) metricdata.Aggregation {
	g := groupOf(d, d.histograms, identity{scope.Name, m.Name, aHistogram}, scope, m, histogramPoints{})
	return metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: g.turn(data.DataPoints, d.round)}
}

// withGone adds what has not arrived of series that are gone, as metrics of their own, and forgets metrics without series.
func (d *deltas) withGone(out []metricdata.ScopeMetrics) []metricdata.ScopeMetrics {
	d.order = slices.DeleteFunc(d.order, func(id identity) bool {
		about, data, forgotten := d.gone(id)
		if data == nil {
			return forgotten
		}
		m := about.metric
		m.Data = data
		at := slices.IndexFunc(out, func(s metricdata.ScopeMetrics) bool { return s.Scope.Name == id.scope })
		if at < 0 {
			at = len(out)
			out = append(out, metricdata.ScopeMetrics{Scope: about.scope})
		}
		out[at].Metrics = append(out[at].Metrics, m)
		return false
	})
	return out
}

// gone gives what has not arrived of the series of a metric that are gone, nil if there is nothing, and whether the metric has no series left
// and was forgotten.
func (d *deltas) gone(id identity) (about *header, data metricdata.Aggregation, forgotten bool) {
	switch id.kind {
	case aSum:
		var points []sumPoint
		if about, points, forgotten = goneOf(d.sums, id, d.round); len(points) > 0 {
			data = metricdata.Sum[float64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true, DataPoints: points}
		}
	case aHistogram:
		var points []histogramPoint
		if about, points, forgotten = goneOf(d.histograms, id, d.round); len(points) > 0 {
			data = metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: points}
		}
	case anExponential:
		var points []exponentialPoint
		if about, points, forgotten = goneOf(d.exponentials, id, d.round); len(points) > 0 {
			data = metricdata.ExponentialHistogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: points}
		}
	}
	return about, data, forgotten
}

func goneOf[P any](groups map[identity]*group[P], id identity, round uint64) (about *header, points []P, forgotten bool) {
	g := groups[id]
	points = g.gone(round)
	if len(g.tracks) == 0 {
		delete(groups, id)
		return &g.header, nil, true
	}
	return &g.header, points, false
}

// arrived notes that a request, made of what turn gave last, has arrived.
func (d *deltas) arrived(scopes []metricdata.ScopeMetrics) {
	for _, s := range scopes {
		for _, m := range s.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[float64]:
				if data.Temporality == metricdata.DeltaTemporality {
					d.sums[identity{s.Scope.Name, m.Name, aSum}].arrived(data.DataPoints)
				}
			case metricdata.Histogram[float64]:
				d.histograms[identity{s.Scope.Name, m.Name, aHistogram}].arrived(data.DataPoints)
			case metricdata.ExponentialHistogram[float64]:
				d.exponentials[identity{s.Scope.Name, m.Name, anExponential}].arrived(data.DataPoints)
			}
		}
	}
}

// header is what a metric is, beside its series.
type header struct {
	scope  instrumentation.Scope
	metric metricdata.Metrics // without data
}

// groupOf finds the group of a metric, or makes it.
func groupOf[P any](
	d *deltas, groups map[identity]*group[P], id identity, scope instrumentation.Scope, m *metricdata.Metrics, how arithmetic[P],
) *group[P] {
	g, ok := groups[id]
	if !ok {
		g = &group[P]{how: how, began: d.began, tracks: map[attribute.Distinct]*track[P]{}}
		groups[id] = g
		d.order = append(d.order, id)
	}
	g.header = header{scope: scope, metric: metricdata.Metrics{Name: m.Name, Description: m.Description, Unit: m.Unit}}
	return g
}
