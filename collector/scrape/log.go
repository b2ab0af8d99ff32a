package scrape

import (
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Log counts how the scrapes of one collector went ("server", "nvml", "dcgm", "amd", "triton"). What it knows of a target whoever reads that target
// holds: with the last of them it is gone, and nothing that still runs can bring its series back. Safe for concurrent use.
type Log struct {
	collector string
	clock     *metrics.SystemClock

	mu   sync.Mutex
	took histogram
}

// TargetLog counts the scrapes of one target, which has the name "" where there is none. Safe for concurrent use.
type TargetLog struct {
	log    *Log
	target string

	// The rest is guarded by the mutex of the log.
	samples                      int   // of the last look, noSamples = it failed or there was none
	succeeded                    int64 // instant of the last success, noSuccess = none
	lasted                       time.Duration
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

// NewLog makes one.
func NewLog(name string, clock *metrics.SystemClock) *Log {
	l := &Log{collector: name, clock: clock, took: histogram{bounds: bounds()}}
	l.took.buckets = make([]uint64, len(l.took.bounds))
	return l
}

// Target begins to count for a target, from zero.
func (l *Log) Target(name string) *TargetLog {
	return &TargetLog{log: l, target: name, samples: noSamples, succeeded: noSuccess, failed: map[Reason]int{}}
}

// Succeeded notes a scrape that took so long and gave so many samples.
func (t *TargetLog) Succeeded(took time.Duration, samples int) {
	t.change(func() {
		t.log.took.observe(took)
		t.samples, t.succeeded, t.lasted = samples, t.log.clock.Now(), took
	})
}

// Failed notes one that did not.
func (t *TargetLog) Failed(took time.Duration, reason Reason) {
	t.change(func() {
		t.log.took.observe(took)
		t.samples, t.lasted = noSamples, took
		t.failed[reason]++
	})
}

// FailedPartly notes that a scrape succeeded as a whole, but n of its questions did not.
func (t *TargetLog) FailedPartly(reason Reason, n int) {
	t.change(func() { t.failed[reason] += n })
}

// Skipped notes one that was due while the one before still ran.
func (t *TargetLog) Skipped() { t.change(func() { t.skipped++ }) }

// Duplicates counts series that stood on a page twice.
func (t *TargetLog) Duplicates(n int) { t.change(func() { t.duplicate += n }) }

// Panicked counts a panic that was caught.
func (t *TargetLog) Panicked() { t.change(func() { t.panicked++ }) }

// Vacant notes that there is nothing to be scraped any more: the last success is no longer told. What was counted stays.
func (t *TargetLog) Vacant() { t.change(func() { t.samples, t.succeeded = noSamples, noSuccess }) }

func (t *TargetLog) change(change func()) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	change()
}

// Last is how the last scrapes of a target went.
type Last struct {
	Success time.Time     // zero = there was none
	Took    time.Duration // of the last one
	Samples int           // of the last one, 0 if it failed
}

// Last gives it.
func (t *TargetLog) Last() Last {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	out := Last{Took: t.lasted, Samples: max(0, t.samples)}
	if t.succeeded != noSuccess {
		out.Success = t.log.clock.Wall(t.succeeded)
	}
	return out
}

// Families are the series of the table for these targets.
func (l *Log) Families(targets []*TargetLog) []*dto.MetricFamily {
	b := collector.NewBuilder(Table())
	l.mu.Lock()
	defer l.mu.Unlock()
	b.AddHistogram(duration, l.took.show(), l.collector)
	for _, t := range targets {
		t.show(b)
	}
	return b.Families()
}

func (t *TargetLog) show(b *collector.Builder) {
	name := t.log.collector
	if t.samples != noSamples {
		b.Add(samples, float64(t.samples), name, t.target)
	}
	if t.succeeded != noSuccess {
		b.Add(lastSuccess, float64(t.log.clock.Wall(t.succeeded).UnixNano())/1e9, name, t.target)
	}
	for _, reason := range Reasons {
		b.Add(failures, float64(t.failed[reason]), name, t.target, string(reason))
	}
	b.Add(skips, float64(t.skipped), name, t.target)
	b.Add(duplicates, float64(t.duplicate), name, t.target)
	b.Add(panics, float64(t.panicked), name, t.target)
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
