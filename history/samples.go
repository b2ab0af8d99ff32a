package history

import (
	"iter"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

const (
	maxSamples = 512
	// windowLength is how far back the window reaches, hourLength how far anything does.
	windowLength, hourLength = int64(5 * time.Minute), int64(time.Hour)
	// maxMasked is how many objectives a sample can tell apart; those behind share the last bit.
	maxMasked = 64
)

// sample is what a request adds to the window.
type sample struct {
	at                 int64
	bad                uint64 // objectives that it missed, by index
	ttft, itl, latency micros
	class              int8  // index in metrics.ErrorClasses; -1 = it succeeded
	violated           uint8 // limits that it did not keep, by index in limited
	judged             bool
}

func (s *sample) failed() bool { return s.class >= 0 }

// limited are the measures that objectives limit, as bits of sample.violated.
var limited = []metrics.SLOMetric{
	metrics.SLOTimeToFirstToken, metrics.SLOInterTokenLatency, metrics.SLORequestLatency, metrics.SLOTimeToFirstOutputToken,
	metrics.SLOTimeToSecondToken, metrics.SLOEffectiveLatency, metrics.SLOPerUserThroughput, metrics.SLOE2EThroughput,
}

// mask is the bit of an objective.
func mask(slo int) uint64 { return 1 << min(slo, maxMasked-1) }

func sampleOf(r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict, slos int) sample {
	s := sample{class: -1, judged: len(verdicts) > 0, ttft: none, itl: none, latency: none}
	if r.Outcome == metrics.Failure {
		// One that is not in the list is a fault of ours.
		s.class = int8(max(slices.Index(metrics.ErrorClasses, r.Class), 0))
	} else {
		s.ttft, s.itl, s.latency = microsOf(m.TTFT), microsOf(m.ITL), microsOf(m.RequestLatency)
	}
	for i := range min(len(verdicts), slos) {
		if verdicts[i].Good {
			continue
		}
		s.bad |= mask(i)
		for _, metric := range verdicts[i].Violated {
			if at := slices.Index(limited, metric); at >= 0 {
				s.violated |= 1 << at
			}
		}
	}
	return s
}

// samples are the newest ones. Not safe for concurrent use.
type samples struct {
	ring []sample
	next int // place of the next one, once the ring is full
}

func (k *samples) add(s sample) {
	if len(k.ring) < maxSamples {
		k.ring = append(k.ring, s)
		return
	}
	k.ring[k.next] = s
	k.next = (k.next + 1) % maxSamples
}

// newestFirst gives them all.
func (k *samples) newestFirst() iter.Seq[*sample] {
	return func(yield func(*sample) bool) {
		n := len(k.ring)
		for i := range n {
			if !yield(&k.ring[(k.next-1-i+2*n)%n]) {
				return
			}
		}
	}
}

func (k *samples) newest() *sample {
	for s := range k.newestFirst() {
		return s
	}
	return nil
}

// reorder gives the objectives their new places; was is the old one of each, -1 where it is new.
func (k *samples) reorder(was []int) {
	for i := range k.ring {
		s := &k.ring[i]
		old := s.bad
		s.bad = 0
		for now, before := range was {
			if before >= 0 && old&mask(before) != 0 {
				s.bad |= mask(now)
			}
		}
	}
}

// window sums up the newest requests. The lock is held.
func (t *target) window(now int64) view.Window {
	w := view.Window{Errors: map[string]int{}}
	oldest := max(now-windowLength, t.begun)
	var ttft, itl, latency []micros
	judged, good := 0, 0
	for s := range t.samples.newestFirst() {
		if s.at < oldest {
			break
		}
		w.Requests++
		if s.failed() {
			w.Failures++
			w.Errors[string(metrics.ErrorClasses[s.class])]++
		}
		if s.judged {
			judged++
			if s.bad == 0 {
				good++
			}
		}
		ttft, itl, latency = addDefined(ttft, s.ttft), addDefined(itl, s.itl), addDefined(latency, s.latency)
		if w.Requests == maxSamples { // older ones are not kept
			oldest = s.at
		}
	}
	w.Seconds = metrics.Seconds(now - oldest)
	w.TTFT, w.ITL, w.Latency = quantiles(ttft), quantiles(itl), quantiles(latency)
	if judged > 0 && len(t.slos) > 0 {
		w.Goodput = new(float64(good) / float64(judged))
	}
	w.Dropped = map[string]int{}
	for i, n := range t.points.droppedSince(oldest) {
		if n > 0 {
			w.Dropped[string(metrics.DropReasons[i])] = int(n)
		}
	}
	return w
}

func addDefined(values []micros, d micros) []micros {
	if d == none {
		return values
	}
	return append(values, d)
}

// quantiles of values. One that has no value above it is not told: it would be the largest, whatever it is called.
func quantiles(values []micros) view.Quantiles {
	slices.Sort(values)
	q := view.Quantiles{Samples: len(values), P50: quantile(values, 0.5)}
	if len(values) >= 20 {
		q.P95 = quantile(values, 0.95)
	}
	if len(values) >= 100 {
		q.P99 = quantile(values, 0.99)
	}
	return q
}
