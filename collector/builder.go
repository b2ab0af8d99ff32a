package collector

import (
	"fmt"
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Builder makes families of the series in a table. Not safe for concurrent use.
type Builder struct {
	shapes map[string]*shape
}

// shape is a series of the table and what there is of it so far.
type shape struct {
	labels []string
	family *dto.MetricFamily
}

// TypeOf is a kind of series as it is exposed.
func TypeOf(kind metrics.Kind) dto.MetricType {
	switch kind {
	case metrics.Counter:
		return dto.MetricType_COUNTER
	case metrics.Histogram:
		return dto.MetricType_HISTOGRAM
	case metrics.Gauge:
	}
	return dto.MetricType_GAUGE
}

// NewBuilder makes an empty one.
func NewBuilder(table []metrics.Series) *Builder {
	b := &Builder{shapes: make(map[string]*shape, len(table))}
	for i := range table {
		s := &table[i]
		kind := TypeOf(s.Kind)
		b.shapes[s.Name] = &shape{
			labels: s.LabelNames(nil, nil),
			family: &dto.MetricFamily{Name: new(s.Name), Help: new(s.Help), Type: &kind},
		}
	}
	return b
}

// Add takes a counter or a gauge of the table, with the values of its labels in their order. It panics at a name that is not in the table and
// at a wrong number of values: both are mistakes of the program.
func (b *Builder) Add(name string, value float64, labels ...string) {
	s, m := b.metric(name, labels)
	if s.family.GetType() == dto.MetricType_COUNTER {
		m.Counter = &dto.Counter{Value: &value}
	} else {
		m.Gauge = &dto.Gauge{Value: &value}
	}
}

// AddHistogram takes a histogram of the table, which nobody may change any more.
func (b *Builder) AddHistogram(name string, h *dto.Histogram, labels ...string) {
	_, m := b.metric(name, labels)
	m.Histogram = h
}

func (b *Builder) metric(name string, values []string) (*shape, *dto.Metric) {
	s, ok := b.shapes[name]
	if !ok {
		panic("collector: no series " + name + " in the table")
	}
	if len(values) != len(s.labels) {
		panic(fmt.Sprintf("collector: %s has the labels %q, got the values %q", name, s.labels, values))
	}
	m := &dto.Metric{Label: make([]*dto.LabelPair, 0, len(values))}
	for i, label := range s.labels {
		m.Label = append(m.Label, &dto.LabelPair{Name: &label, Value: &values[i]})
	}
	slices.SortFunc(m.Label, byName)
	s.family.Metric = append(s.family.Metric, m)
	return s, m
}

// Families gives what was added, by name; the Builder must not be used after it.
func (b *Builder) Families() []*dto.MetricFamily {
	var out []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(b.shapes)) {
		if s := b.shapes[name]; len(s.family.Metric) > 0 {
			out = append(out, s.family)
		}
	}
	return out
}
