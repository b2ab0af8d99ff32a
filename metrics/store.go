package metrics

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Store holds everything that is measured, and is the one collector of it. Observations go to the Target that Add returns.
//
// Lock order: Store.mu before Target.mu before Suspicion.mu.
type Store struct {
	options Options
	start   time.Time
	series  []Series
	named   map[string]*Series
	descs   map[string]*prometheus.Desc
	layouts map[string]*layout // of the histograms with values of requests
	process *process

	spareGaps sync.Pool // *histogram, empty

	mu         sync.RWMutex // guards those below
	facts      *facts
	targets    map[string]*Target // by name
	superseded []*Target          // by those of their names, and not removed yet
}

// NewStore builds all vectors; there are no targets yet.
func NewStore(options Options) *Store {
	s := &Store{
		options: options,
		start:   options.Clock.Wall(options.Clock.Now()),
		series:  Table(),
		named:   map[string]*Series{},
		descs:   map[string]*prometheus.Desc{},
		layouts: map[string]*layout{},
		targets: map[string]*Target{},
	}
	for i := range s.series {
		series := &s.series[i]
		s.named[series.Name] = series
		if series.Name == targetInfo {
			s.facts = s.newFacts(options.Settings, nil)
			continue
		}
		s.descs[series.Name] = prometheus.NewDesc(series.Name, series.Help, series.LabelNames(options.Config.ExtraLabels, nil), nil)
		if series.Kind == Histogram && series.Scope == PerTarget && !series.weighted {
			s.layouts[series.Name] = s.layout(series)
		}
	}
	s.spareGaps.New = func() any {
		h := newHistogram(s.layouts[gapSeries], nil, nil)
		return &h
	}
	s.process = newProcess(s)
	return s
}

// layout is the same for all targets, so that they aggregate.
func (s *Store) layout(series *Series) *layout {
	return &layout{
		desc:      s.descs[series.Name],
		bounds:    series.Boundaries(s.options.SLOs),
		kind:      s.options.Config.Histograms,
		exemplars: series.Exemplars,
	}
}

// histogramOpts are those of a histogram of the process: classic and native in one, or one of both.
func (s *Store) histogramOpts(series *Series) prometheus.HistogramOpts {
	opts := prometheus.HistogramOpts{Name: series.Name, Help: series.Help}
	if s.options.Config.Histograms != HistogramsNative {
		opts.Buckets = series.Boundaries(s.options.SLOs)
	}
	if s.options.Config.Histograms != HistogramsClassic {
		opts.NativeHistogramBucketFactor = 1.1
		const threshold = 1e-5 // delays of this program reach further down than those of a server, and 160 buckets not that far
		opts.NativeHistogramZeroThreshold = threshold
		opts.NativeHistogramMaxZeroThreshold = threshold
		opts.NativeHistogramMaxBucketNumber = 160
		opts.NativeHistogramMinResetDuration = time.Hour
		opts.NativeHistogramMaxExemplars = 10
	}
	return opts
}

// Add starts the series of a target, all of them at zero. One that has its name and another model, workload or extra label is superseded:
// of its series, those that only carry the name end at once, and the others when it is removed. One that has the very same labels must be
// updated instead, Add panics.
func (s *Store) Add(info TargetInfo) *Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.baseLabels(&info)
	generation := 1
	if old := s.targets[info.Name]; old != nil {
		if slices.Equal(old.base, base) {
			panic(fmt.Sprintf("metrics: target %q is there already, with the same labels", info.Name))
		}
		generation = old.generation + 1
		s.superseded = append(s.superseded, old)
	}
	// Its labels may be those that it had before it was changed and changed back: the series of that time make room.
	s.superseded = slices.DeleteFunc(s.superseded, func(old *Target) bool { return slices.Equal(old.base, base) })
	t := newTarget(s, &info, generation)
	s.targets[info.Name] = t
	return t
}

// Remove ends all series of a target in one step: no scrape sees a part of them. What still happens to the target is shown nowhere.
func (s *Store) Remove(t *Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.targets[t.base[0]] == t {
		delete(s.targets, t.base[0])
	}
	s.superseded = slices.DeleteFunc(s.superseded, func(old *Target) bool { return old == t })
}

// baseLabels are the values of the labels that all series of a target have.
func (s *Store) baseLabels(info *TargetInfo) []string {
	extra := s.options.Config.ExtraLabels
	base := append(make([]string, 0, len(BaseLabels)+len(extra)), info.Name, info.Model, info.Workload)
	for _, name := range extra {
		base = append(base, info.Labels[name])
	}
	return base
}

// Describe implements prometheus.Collector.
func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range s.descs {
		ch <- desc
	}
	ch <- s.shown().facts.info
}

// Collect implements prometheus.Collector.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	var sums totals
	shown := s.shown()
	now := snapshot{facts: shown.facts, clock: s.options.Clock, kind: s.options.Config.Histograms}
	for _, t := range shown.targets {
		t.refresh()
		now.take(t.Target)
		now.superseded = t.superseded
		sums.add(&now)
		now.send(ch)
	}
	s.process.collect(ch, shown.facts, &sums)
}

// shown is what one scrape shows, all of it of one instant.
type shown struct {
	facts   *facts
	targets []shownTarget // by name: what is collected in order is sorted faster
}

type shownTarget struct {
	*Target
	superseded bool
}

func (s *Store) shown() shown {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := shown{facts: s.facts, targets: make([]shownTarget, 0, len(s.targets)+len(s.superseded))}
	for _, t := range s.targets {
		out.targets = append(out.targets, shownTarget{t, false})
	}
	for _, t := range s.superseded {
		out.targets = append(out.targets, shownTarget{t, true})
	}
	slices.SortFunc(out.targets, func(a, b shownTarget) int { return slices.Compare(a.base, b.base) })
	return out
}

// emit sends the value of a counter or gauge of the process.
func (s *Store) emit(ch chan<- prometheus.Metric, name string, kind Kind, created time.Time, value float64, labels ...string) {
	desc := s.descs[name]
	var metric prometheus.Metric
	var err error
	if kind == Counter {
		metric, err = prometheus.NewConstMetricWithCreatedTimestamp(desc, prometheus.CounterValue, value, created, labels...)
	} else {
		metric, err = prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	if err != nil {
		metric = prometheus.NewInvalidMetric(desc, err)
	}
	ch <- metric
}

// SeriesOf is the number of series of a target with these features, where all are the SLOs of the configuration. A native histogram counts
// as one series for each of its children, a classic one as one for each bucket.
func (c *Config) SeriesOf(f *Features, all []SLO) int {
	n := 0
	for _, series := range Table() {
		if series.Scope != PerTarget || !series.of(f) {
			continue
		}
		children := childCount(&series, f)
		if series.Kind == Histogram && c.Histograms != HistogramsNative {
			children *= len(series.Boundaries(all)) + 3 // le="+Inf", _sum, _count
		}
		n += children
	}
	return n
}

// childCount is the number of children that exist from the start.
func childCount(series *Series, f *Features) int {
	children := 1
	for _, label := range series.Labels {
		switch {
		case label.Name == labelMetric.Name: // beside an SLO, whose children it counts
			children = 0
			for _, slo := range f.SLOs {
				children += len(slo.Thresholds)
			}
			return children
		case label.Name == labelSLO.Name:
			children *= len(f.SLOs)
		case label.Name == labelKind.Name:
			return len(f.Budget)
		case label.Name == labelCheck.Name:
			children *= len(f.Checks)
		case series.seen:
			return 0
		case label.Values != nil:
			children *= len(label.Values)
		}
	}
	return children
}
