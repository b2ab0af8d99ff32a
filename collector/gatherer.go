package collector

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// conflicts is the series of families that servers do not agree about.
const conflicts = "aiperf_scrape_type_conflicts"

// maxConflicts bounds the families that are told one by one: servers may invent names for ever. The rest are told together.
const (
	maxConflicts  = 100
	otherFamilies = "other"
)

// Table lists the series of the Gatherer itself.
func Table() []metrics.Series {
	return []metrics.Series{{
		Name: conflicts, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "series", Labels: []metrics.Label{{Name: "family"}},
		Help: "Series that are left out because most servers have the family with another type, " +
			"or have one of which it would be a part, as x_count is of a histogram x.",
	}}
}

// Gatherer joins what sources have to show into one family for each name. Where they do not agree about the type of a family, that of most
// of its series holds and the others are left out, as is a family that has the name of a part of another; the first help text is taken. Of two
// series with the same labels the first stays.
type Gatherer struct {
	labels  []*dto.LabelPair
	sources []Source
}

var _ prometheus.Gatherer = (*Gatherer)(nil)

// NewGatherer makes one that puts the labels on every series.
func NewGatherer(labels map[string]string, sources ...Source) *Gatherer {
	g := &Gatherer{sources: sources}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		g.labels = append(g.labels, &dto.LabelPair{Name: new(name), Value: new(labels[name])})
	}
	return g
}

// Gather implements prometheus.Gatherer.
func (g *Gatherer) Gather() ([]*dto.MetricFamily, error) {
	byName := map[string][]*dto.MetricFamily{}
	for _, c := range g.sources {
		for _, f := range c.Families() {
			byName[f.GetName()] = append(byName[f.GetName()], f)
		}
	}
	out := make([]*dto.MetricFamily, 0, len(byName)+1)
	parts, left := map[string]bool{}, leftOut{}
	for _, name := range slices.Sorted(maps.Keys(byName)) { // a family comes before what has its name and more
		f := g.join(byName[name], left)
		if parts[name] {
			left.add(f)
			continue
		}
		for _, suffix := range partsOf[f.GetType()] {
			parts[name+suffix] = true
		}
		out = append(out, f)
	}
	return g.withConflicts(out, left), nil
}

// partsOf are what names of samples have behind that of their family. No other family may have such a name: a gatherer of gatherers would refuse
// it, and tell so at each scrape.
var partsOf = map[dto.MetricType][]string{
	dto.MetricType_HISTOGRAM: {"_bucket", "_count", "_sum"},
	dto.MetricType_SUMMARY:   {"_count", "_sum"},
}

// join makes one family of those with the same name.
func (g *Gatherer) join(parts []*dto.MetricFamily, left leftOut) *dto.MetricFamily {
	kind := prevailing(parts)
	out := &dto.MetricFamily{Name: parts[0].Name, Help: parts[0].Help, Type: &kind, Unit: parts[0].Unit}
	for _, f := range parts {
		if f.GetType() != kind {
			left.add(f)
			continue
		}
		for _, m := range f.Metric {
			out.Metric = append(out.Metric, g.labelled(m))
		}
	}
	slices.SortStableFunc(out.Metric, func(a, b *dto.Metric) int { return slices.CompareFunc(a.Label, b.Label, byText) })
	out.Metric = slices.CompactFunc(out.Metric, func(a, b *dto.Metric) bool { return slices.CompareFunc(a.Label, b.Label, byText) == 0 })
	return out
}

// prevailing is the type of most series; at a tie, of those that come first.
func prevailing(parts []*dto.MetricFamily) dto.MetricType {
	kind, votes := parts[0].GetType(), map[dto.MetricType]int{}
	for _, f := range parts {
		votes[f.GetType()] += len(f.Metric)
	}
	for _, f := range parts {
		if votes[f.GetType()] > votes[kind] {
			kind = f.GetType()
		}
	}
	return kind
}

// leftOut counts series by family.
type leftOut map[string]float64

func (l leftOut) add(f *dto.MetricFamily) {
	name := f.GetName()
	if _, known := l[name]; !known && len(l) >= maxConflicts {
		name = otherFamilies
	}
	l[name] += float64(len(f.Metric))
}

// labelled is the metric with the labels of all series. A label that it has itself stays.
func (g *Gatherer) labelled(m *dto.Metric) *dto.Metric {
	if len(g.labels) == 0 {
		return m
	}
	labels := slices.Concat(m.Label, g.labels)
	slices.SortStableFunc(labels, byName)
	labels = slices.CompactFunc(labels, func(a, b *dto.LabelPair) bool { return a.GetName() == b.GetName() })
	return &dto.Metric{Label: labels, Counter: m.Counter, Gauge: m.Gauge, Histogram: m.Histogram, Summary: m.Summary, Untyped: m.Untyped}
}

// withConflicts adds the count of what was left out, in its place among the families.
func (g *Gatherer) withConflicts(out []*dto.MetricFamily, left leftOut) []*dto.MetricFamily {
	if len(left) == 0 {
		return out
	}
	b := NewBuilder(Table())
	for _, family := range slices.Sorted(maps.Keys(left)) {
		b.Add(conflicts, left[family], family)
	}
	counted := b.Families()[0]
	for i, m := range counted.Metric {
		counted.Metric[i] = g.labelled(m)
	}
	at, _ := slices.BinarySearchFunc(out, conflicts, func(f *dto.MetricFamily, name string) int { return cmp.Compare(f.GetName(), name) })
	return slices.Insert(out, at, counted)
}

func byName(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) }

func byText(a, b *dto.LabelPair) int {
	return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetValue(), b.GetValue()))
}
