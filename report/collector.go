package report

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Collector keeps the finished requests of a run against one target: about 1 kB each, and 8 bytes per content event. It is safe for
// concurrent use.
type Collector struct {
	slos []metrics.SLO

	mu      sync.Mutex // guards what follows
	samples []*sample  // pointers, so that growing does not copy a megabyte under the lock
	dropped map[metrics.DropReason]int64
	tallies []tally // one per SLO
}

// sample is one finished request.
type sample struct {
	record   metrics.Record // without Content
	measures metrics.Measures
	events   int     // content events
	gaps     []int64 // nanoseconds between successive content events of a stream
	good     bool    // a success that kept every limit of every SLO
}

// tally counts what one SLO said.
type tally struct {
	good       int64
	violations map[metrics.SLOMetric]int64
}

// NewCollector makes an empty Collector. slos are the target's.
func NewCollector(slos []metrics.SLO) *Collector {
	c := &Collector{slos: slos, dropped: map[metrics.DropReason]int64{}, tallies: make([]tally, len(slos))}
	for i := range c.tallies {
		c.tallies[i].violations = map[metrics.SLOMetric]int64{}
	}
	return c
}

// Add takes a finished request, its measures, and what each SLO said of it, in the order given to NewCollector. Verdicts are only read of
// successes that are no warm-up. Nothing that is handed in is kept or changed.
func (c *Collector) Add(r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) {
	s := &sample{record: *r, measures: *m, events: len(r.Content)}
	s.record.Content = nil
	// The detail may be a piece of a whole answer.
	s.record.Detail = strings.Clone(r.Detail)
	if r.Streaming && len(r.Content) > 1 {
		s.gaps = make([]int64, len(r.Content)-1)
		for i := range s.gaps {
			s.gaps[i] = r.Content[i+1] - r.Content[i]
		}
	}
	judged := r.Outcome == metrics.Success && !r.Warmup && len(c.slos) > 0
	s.good = judged
	if judged {
		for i := range c.slos {
			s.good = s.good && verdicts[i].Good
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.samples = append(c.samples, s)
	if judged {
		for i := range c.tallies {
			c.tallies[i].add(&verdicts[i])
		}
	}
}

func (t *tally) add(v *metrics.Verdict) {
	if v.Good {
		t.good++
	}
	for _, metric := range v.Violated {
		t.violations[metric]++
	}
}

// AddDrop counts n arrivals that were never sent.
func (c *Collector) AddDrop(reason metrics.DropReason, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped[reason] += n
}

// Window gives the instants, of the clock of the records, between which throughputs are counted: what GPUs took and servers did is to be
// known between them, too. It is not there before a request has ended.
func (c *Collector) Window() (from, to int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	window := windowOf(c.samples)
	return window.from, window.to, window.any
}

// Report describes everything added so far.
func (c *Collector) Report(meta Meta) *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &Report{
		Meta:    meta,
		Dropped: maps.Clone(c.dropped),
		// A sample never changes, and appending to the longer slice does not touch these.
		samples: slices.Clip(c.samples),
	}
	window := windowOf(r.samples)
	if window.any {
		r.Start, r.End = r.wall(window.from), r.wall(window.to)
	}
	t := r.count(len(c.slos) > 0, window)
	r.describe(t)
	r.describePower()
	r.describeServer(window)
	for i := range c.slos {
		r.SLOs = append(r.SLOs, r.judge(&c.slos[i], &c.tallies[i]))
	}
	r.Notes = notes(r, t)
	return r
}

// judge sums up an SLO.
func (r *Report) judge(slo *metrics.SLO, t *tally) SLOResult {
	result := SLOResult{SLO: *slo, Good: t.good, Total: r.Successes + r.Failures, Failures: r.Failures}
	if slo.CountDrops {
		for reason, n := range r.Dropped {
			if reason.CausedByServer() {
				result.Drops += n
			}
		}
		result.Total += result.Drops
	}
	if window := r.window(); window > 0 {
		result.Goodput = float64(t.good) / window
	}
	for _, threshold := range slo.Thresholds {
		if n := t.violations[threshold.Metric]; n > 0 {
			result.Violations = append(result.Violations, Violation{threshold, n})
		}
	}
	return result
}
