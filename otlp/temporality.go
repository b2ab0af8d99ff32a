package otlp

import (
	"slices"
	"time"

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

	round   uint64
	order   []identity // of all metrics there are
	metrics map[identity]*known
}

// identity is which metric a series belongs to.
type identity struct {
	scope, name string
	kind        kind
}

// kind is a kind of metrics that are turned. There is one value of each.
type kind interface {
	newGroup(began time.Time) series
}

// series are all of one metric.
type series interface {
	// turn gives what is new of those that are there.
	turn(data metricdata.Aggregation, round uint64) metricdata.Aggregation
	// note sees those that are there.
	note(data metricdata.Aggregation, round uint64)
	// baseline takes those for sent that were not there at the last turn.
	baseline(data metricdata.Aggregation, round uint64)
	// gone gives what has not arrived of those that are not there any more, nil if that is nothing, and whether any series is known at all.
	gone(round uint64) (data metricdata.Aggregation, some bool)
	// arrived notes of which series everything has.
	arrived(data metricdata.Aggregation)
}

// known is what is remembered of a metric.
type known struct {
	series

	scope  instrumentation.Scope
	metric metricdata.Metrics // without data
}

// newDeltas makes the stage for a temporality in a process that began then, nil if there is nothing to turn.
func newDeltas(t Temporality, began time.Time) *deltas {
	if t == Cumulative {
		return nil
	}
	return &deltas{counters: t == Delta, began: began, metrics: map[identity]*known{}}
}

// kindOf is nil for what is sent as it is.
func (d *deltas) kindOf(data metricdata.Aggregation) kind {
	switch data := data.(type) {
	case metricdata.Sum[float64]:
		if data.IsMonotonic && d.counters {
			return sumPoints{}
		}
	case metricdata.Histogram[float64]:
		return histogramPoints{}
	case metricdata.ExponentialHistogram[float64]:
		return exponentialPoints{}
	}
	return nil
}

// turn gives what is to be sent. What is gone since the last call comes once more, if some of it has not arrived.
func (d *deltas) turn(scopes []metricdata.ScopeMetrics) []metricdata.ScopeMetrics {
	d.round++
	out := make([]metricdata.ScopeMetrics, len(scopes))
	for i, s := range scopes {
		out[i] = metricdata.ScopeMetrics{Scope: s.Scope, Metrics: make([]metricdata.Metrics, 0, len(s.Metrics))}
		for _, m := range s.Metrics {
			if of := d.kindOf(m.Data); of != nil {
				m.Data = d.find(s.Scope, &m, of).turn(m.Data, d.round)
			}
			out[i].Metrics = append(out[i].Metrics, m)
		}
	}
	return d.withGone(out)
}

// note sees series that may be gone at the next turn.
func (d *deltas) note(scopes []metricdata.ScopeMetrics) {
	d.each(scopes, func(k *known, data metricdata.Aggregation) { k.note(data, d.round) })
}

// baseline takes what is there for sent, but for series that were there at the last turn: it was sent as a whole, or in another form.
func (d *deltas) baseline(scopes []metricdata.ScopeMetrics) {
	d.each(scopes, func(k *known, data metricdata.Aggregation) { k.baseline(data, d.round) })
}

// each visits the metrics that are turned.
func (d *deltas) each(scopes []metricdata.ScopeMetrics, visit func(*known, metricdata.Aggregation)) {
	for _, s := range scopes {
		for _, m := range s.Metrics {
			if of := d.kindOf(m.Data); of != nil {
				visit(d.find(s.Scope, &m, of), m.Data)
			}
		}
	}
}

// as is what is known, for another temporality that has differences. Counters that are sent as a whole from now on are not owed.
func (d *deltas) as(t Temporality) *deltas {
	if d.counters = t == Delta; !d.counters {
		d.order = slices.DeleteFunc(d.order, func(id identity) bool {
			counts := id.kind == sumPoints{}
			if counts {
				delete(d.metrics, id)
			}
			return counts
		})
	}
	return d
}

// find gives what is remembered of a metric, or begins to remember.
func (d *deltas) find(scope instrumentation.Scope, m *metricdata.Metrics, of kind) *known {
	id := identity{scope.Name, m.Name, of}
	k, ok := d.metrics[id]
	if !ok {
		k = &known{series: of.newGroup(d.began)}
		d.metrics[id] = k
		d.order = append(d.order, id)
	}
	k.scope, k.metric = scope, metricdata.Metrics{Name: m.Name, Description: m.Description, Unit: m.Unit}
	return k
}

// withGone adds what has not arrived of series that are gone, as metrics of their own, and forgets metrics without series.
func (d *deltas) withGone(out []metricdata.ScopeMetrics) []metricdata.ScopeMetrics {
	d.order = slices.DeleteFunc(d.order, func(id identity) bool {
		k := d.metrics[id]
		data, some := k.gone(d.round)
		if !some {
			delete(d.metrics, id)
		}
		if data == nil {
			return !some
		}
		m := k.metric
		m.Data = data
		at := slices.IndexFunc(out, func(s metricdata.ScopeMetrics) bool { return s.Scope.Name == id.scope })
		if at < 0 {
			at = len(out)
			out = append(out, metricdata.ScopeMetrics{Scope: k.scope})
		}
		out[at].Metrics = append(out[at].Metrics, m)
		return false
	})
	return out
}

// arrived notes that a request, made of what turn gave last, has arrived.
func (d *deltas) arrived(scopes []metricdata.ScopeMetrics) {
	for _, s := range scopes {
		for _, m := range s.Metrics {
			if k := d.metrics[identity{s.Scope.Name, m.Name, d.kindOf(m.Data)}]; k != nil {
				k.arrived(m.Data)
			}
		}
	}
}
