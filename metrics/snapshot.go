package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// snapshot is what the series of one target were at one instant. A scrape takes one target after the other into the same snapshot: the
// lock of a target is held while its numbers are copied, and for nothing else. Everything that allocates or waits comes before or after.
type snapshot struct {
	facts      *facts // of the scrape
	superseded bool
	clock      *SystemClock
	kind       HistogramKind

	state      TargetState
	running    float64 // requests
	info       *TargetInfo
	base       []string
	infoAt     slot // of aiperf_target_info
	served     string
	children   []child
	gauges     int // among children that are shown
	values     []float64
	histograms []histogram
	weighted   []weighted
	shares     []weightedChild // whose the weighted ones are

	numbers   []uint64   // of the histograms' buckets
	exemplars []exemplar // of the histograms
	cells     []cell     // of the weighted histograms
}

// size is how much room a snapshot of a target needs.
type size struct{ values, histograms, weighted, numbers, exemplars, cells int }

func (t *Target) size() size {
	n := size{values: len(t.values), histograms: len(t.hist.all), weighted: len(t.weighted)}
	for i := range t.hist.all {
		h := &t.hist.all[i]
		n.numbers += len(h.buckets) + len(h.native)
		n.exemplars += len(h.exemplars)
	}
	for i := range t.weighted {
		n.cells += len(t.weighted[i].of.cells)
	}
	return n
}

// take copies the target's numbers.
func (s *snapshot) take(t *Target) {
	for t.settleSome() {
	}
	for {
		t.mu.Lock()
		t.settle(t.store.options.Clock.Now())
		n := t.size()
		if s.fits(n) {
			s.copy(t)
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		s.grow(n)
	}
}

// settleSome settles a part of what the sweep has waiting, and tells whether that was not all. Between two parts, requests get the lock.
func (t *Target) settleSome() (more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := len(t.sweep.pending)
	t.sweep.advance(t.store.options.Clock.Now(), batch)
	return waiting-len(t.sweep.pending) >= batch
}

func (s *snapshot) fits(n size) bool {
	return cap(s.values) >= n.values && cap(s.histograms) >= n.histograms && cap(s.weighted) >= n.weighted &&
		cap(s.numbers) >= n.numbers && cap(s.exemplars) >= n.exemplars && cap(s.cells) >= n.cells
}

// grow makes room for n and, of what grows while requests run, for more.
func (s *snapshot) grow(n size) {
	s.values = make([]float64, 0, n.values+maxCodes)
	s.histograms, s.weighted = make([]histogram, 0, n.histograms), make([]weighted, 0, n.weighted)
	s.numbers, s.exemplars, s.cells = make([]uint64, 0, 2*n.numbers), make([]exemplar, 0, n.exemplars), make([]cell, 0, 2*n.cells)
}

func (s *snapshot) copy(t *Target) {
	s.state = t.state
	s.running = t.values[t.at.inflight["prefill"]] + t.values[t.at.inflight["decode"]]
	s.info, s.base, s.infoAt, s.served = t.info, t.base, t.at.info, t.servedModel
	s.children = t.children[:len(t.values):len(t.values)] // only ever appended to, or replaced
	s.gauges = t.gauges
	s.values = append(s.values[:0], t.values...)
	s.histograms, s.weighted = append(s.histograms[:0], t.hist.all...), s.weighted[:0]
	s.numbers, s.exemplars, s.cells = s.numbers[:0], s.exemplars[:0], s.cells[:0]
	for i := range s.histograms {
		h := &s.histograms[i]
		h.buckets, s.numbers = keep(h.buckets, s.numbers)
		h.native, s.numbers = keep(h.native, s.numbers)
		h.exemplars, s.exemplars = keep(h.exemplars, s.exemplars)
	}
	for i := range t.weighted {
		w := *t.weighted[i].of
		w.cells, s.cells = keep(w.cells, s.cells)
		s.weighted = append(s.weighted, w)
	}
	s.shares = t.weighted
}

// keep appends a part to all that is kept, which has room for it, and returns the copy of the part.
func keep[T any](part, all []T) (kept, longer []T) {
	from := len(all)
	all = append(all, part...)
	return all[from:len(all):len(all)], all
}

// sample is a series as a scrape shows it. client_golang makes one such from names and texts at each scrape; these have everything but the
// value from the start.
type sample struct {
	desc      *prometheus.Desc
	labels    []*dto.LabelPair
	counter   *dto.Counter
	gauge     *dto.Gauge
	histogram *dto.Histogram
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	out.Label, out.Counter, out.Gauge, out.Histogram = s.labels, s.counter, s.gauge, s.histogram
	return nil
}

// send shows what was taken of a target. What belongs to all its series of a kind is allocated at once.
func (s *snapshot) send(ch chan<- prometheus.Metric) {
	samples := make([]sample, len(s.children)+len(s.histograms)+len(s.weighted))
	next := func(desc *prometheus.Desc, labels []*dto.LabelPair) *sample {
		m := &samples[0]
		samples = samples[1:]
		m.desc, m.labels = desc, labels
		return m
	}
	values := slices.Clone(s.values)
	gauges, counters := make([]dto.Gauge, s.gauges), make([]dto.Counter, len(values)-s.gauges)
	for i := range s.children {
		c := &s.children[i]
		if c.desc == nil || c.named && s.superseded {
			continue
		}
		m := next(c.desc, c.labels)
		if slot(i) == s.infoAt && c.desc != s.facts.info { // the settings have changed meanwhile, but not those of this scrape
			m.desc, m.labels = s.facts.info, s.facts.labels(s.info, s.base, s.served)
		}
		if c.kind == Counter {
			m.counter, counters = &counters[0], counters[1:]
			m.counter.Value, m.counter.CreatedTimestamp = &values[i], c.created
		} else {
			m.gauge, gauges = &gauges[0], gauges[1:]
			m.gauge.Value = &values[i]
		}
		ch <- m
	}
	for i := range s.histograms {
		h := &s.histograms[i]
		m := next(h.layout.desc, h.labels)
		m.histogram = h.show(s.clock)
		ch <- m
	}
	for i := range s.weighted {
		c := &s.shares[i]
		if c.since != nil {
			s.weighted[i].less(c.since)
		}
		m := next(c.desc, c.labels)
		m.histogram = s.weighted[i].exposition(s.kind)
		m.histogram.CreatedTimestamp = c.created
		ch <- m
	}
}
