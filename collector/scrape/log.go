package scrape

import (
	"maps"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Log counts how the scrapes of one collector went ("server", "nvml", "dcgm", "amd", "triton"), each of them of a target, "" if they belong to none.
// Safe for concurrent use.
type Log struct {
	collector string
	clock     *metrics.SystemClock

	mu      sync.Mutex
	targets map[string]*record
	took    histogram
}

// record is what is known of one target.
type record struct {
	samples                      int   // of the last look, -1 = it failed or there was none
	succeeded                    int64 // instant of the last success, noSuccess = none
	failed                       map[Reason]int
	skipped, duplicate, panicked int
}

const (
	noSamples = -1
	noSuccess = -1
)

// histogram counts durations.
type histogram struct {
	bounds  []float64
	buckets []uint64 // by bound, not cumulative
	count   uint64
	sum     float64
}

// NewLog makes one. Counters of the targets are at zero from the start.
func NewLog(name string, clock *metrics.SystemClock, targets ...string) *Log {
	l := &Log{collector: name, clock: clock, targets: map[string]*record{}, took: histogram{bounds: bounds()}}
	l.took.buckets = make([]uint64, len(l.took.bounds))
	for _, target := range targets {
		l.of(target)
	}
	return l
}

// of gives the record of a target. The caller holds mu, or is NewLog.
func (l *Log) of(target string) *record {
	r, ok := l.targets[target]
	if !ok {
		r = &record{samples: noSamples, succeeded: noSuccess, failed: map[Reason]int{}}
		l.targets[target] = r
	}
	return r
}

// Succeeded notes a scrape that took so long and gave so many samples.
func (l *Log) Succeeded(target string, took time.Duration, samples int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took.observe(took)
	r := l.of(target)
	r.samples, r.succeeded = samples, l.clock.Now()
}

// Failed notes one that did not.
func (l *Log) Failed(target string, took time.Duration, reason Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took.observe(took)
	r := l.of(target)
	r.samples = noSamples
	r.failed[reason]++
}

// FailedPartly notes that a scrape succeeded as a whole, but n of its questions did not.
func (l *Log) FailedPartly(target string, reason Reason, n int) {
	l.change(target, func(r *record) { r.failed[reason] += n })
}

// Skipped notes one that was due while the one before still ran.
func (l *Log) Skipped(target string) { l.change(target, func(r *record) { r.skipped++ }) }

// Duplicates counts series that stood on a page twice.
func (l *Log) Duplicates(target string, n int) {
	l.change(target, func(r *record) { r.duplicate += n })
}

// Panicked counts a panic that was caught.
func (l *Log) Panicked(target string) { l.change(target, func(r *record) { r.panicked++ }) }

func (l *Log) change(target string, change func(*record)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.of(target))
}

// Forget ends the series of a target.
func (l *Log) Forget(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.targets, target)
}

// Families are the series of the table.
func (l *Log) Families() []*dto.MetricFamily {
	b := collector.NewBuilder(Table())
	l.mu.Lock()
	defer l.mu.Unlock()
	b.AddHistogram(duration, l.took.show(), l.collector)
	for _, target := range slices.Sorted(maps.Keys(l.targets)) {
		l.show(b, target, l.targets[target])
	}
	return b.Families()
}

func (l *Log) show(b *collector.Builder, target string, r *record) {
	if r.samples != noSamples {
		b.Add(samples, float64(r.samples), l.collector, target)
	}
	if r.succeeded != noSuccess {
		b.Add(lastSuccess, float64(l.clock.Wall(r.succeeded).UnixNano())/1e9, l.collector, target)
	}
	for _, reason := range Reasons {
		b.Add(failures, float64(r.failed[reason]), l.collector, target, string(reason))
	}
	b.Add(skips, float64(r.skipped), l.collector, target)
	b.Add(duplicates, float64(r.duplicate), l.collector, target)
	b.Add(panics, float64(r.panicked), l.collector, target)
}

func (h *histogram) observe(d time.Duration) {
	v := d.Seconds()
	h.count++
	h.sum += v
	if i, _ := slices.BinarySearch(h.bounds, v); i < len(h.buckets) {
		h.buckets[i]++
	}
}

func (h *histogram) show() *dto.Histogram {
	out := &dto.Histogram{SampleCount: new(h.count), SampleSum: new(h.sum)}
	below := uint64(0)
	for i, bound := range h.bounds {
		below += h.buckets[i]
		out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: new(bound), CumulativeCount: new(below)})
	}
	return out
}
