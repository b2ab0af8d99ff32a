package metrics

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options configure a Store.
type Options struct {
	Config Config
	Clock  *SystemClock
	// SLOs are all objectives of the configuration: their limits become bucket boundaries of every target, so that targets aggregate.
	SLOs []SLO
	// InfoLabels are the names of all labels that targets carry in the configuration, for aiperf_target_info.
	InfoLabels []string
	ConfigHash string
	// SecretReadErrors counts, by secret, how often its file could not be read; nil = there are no secrets.
	SecretReadErrors func() map[string]int64
	// Budget is the one of all targets together; Budgets tells at each scrape what of it is used, in that order, and whether the state of
	// budgets can be written. nil = there are no budgets.
	Budget  []BudgetLimit
	Budgets func() (used []float64, writable bool)
}

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

	mu          sync.RWMutex
	targets     map[string]*Target
	generations map[string]int
}

// NewStore builds all vectors; there are no targets yet.
func NewStore(options Options) *Store {
	options.InfoLabels = slices.Compact(slices.Sorted(slices.Values(options.InfoLabels)))
	s := &Store{
		options:     options,
		start:       options.Clock.Wall(options.Clock.Now()),
		series:      Table(),
		named:       map[string]*Series{},
		descs:       map[string]*prometheus.Desc{},
		layouts:     map[string]*layout{},
		targets:     map[string]*Target{},
		generations: map[string]int{},
	}
	for i := range s.series {
		series := &s.series[i]
		s.named[series.Name] = series
		s.descs[series.Name] = prometheus.NewDesc(series.Name, series.Help, s.labelNames(series), nil)
		if series.Kind == Histogram && series.Scope == PerTarget && !series.weighted {
			s.layouts[series.Name] = s.layout(series)
		}
	}
	s.spareGaps.New = func() any {
		h := newHistogram(s.layouts[gapSeries], nil)
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

func (s *Store) labelNames(series *Series) []string {
	return series.LabelNames(s.options.Config.ExtraLabels, s.options.InfoLabels)
}

// Add starts the series of a target, all of them at zero. A target of that name must not be there.
func (s *Store) Add(info TargetInfo) *Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generations[info.Name]++
	t := newTarget(s, info)
	s.targets[info.Name] = t
	return t
}

// Remove ends all series of a target in one step: no scrape sees a part of them.
func (s *Store) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.targets, name)
}

// Describe implements prometheus.Collector.
func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range s.descs {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	var now snapshot
	var sums totals
	for _, t := range s.inOrder() {
		t.refresh()
		now.take(t)
		sums.add(t, &now)
		now.send(t, ch)
	}
	s.process.collect(ch, &sums)
}

// inOrder are the targets by name: what is collected in order is sorted faster.
func (s *Store) inOrder() []*Target {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*Target, 0, len(s.targets))
	for _, name := range slices.Sorted(maps.Keys(s.targets)) {
		out = append(out, s.targets[name])
	}
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
