package metrics

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkChunk is what one content event costs while so many streams run, 20 ms between two events of each, with a scrape each 15
// seconds of their time.
func BenchmarkChunk(b *testing.B) {
	for _, streams := range []int{1, 50, 500} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			s := newSweep(0, Estimated)
			open := make([]openRequest, streams)
			const gap = int64(20e6)
			now := int64(0)
			for i := range open {
				now += gap / int64(streams)
				s.start(&open[i], now, 128, true)
			}
			var jitter [1021]int64 // gaps are not all alike, so that neither instants nor rates are
			random := rand.New(rand.NewPCG(7, 8))
			for i := range jitter {
				jitter[i] = random.Int64N(gap / 2)
			}
			next, scrape, event := 0, now, 0
			chunk := func() {
				now += gap / int64(streams)
				event++
				s.content(&open[next], now-jitter[event%len(jitter)], Count{})
				if next++; next == streams {
					next = 0
				}
				if now > scrape {
					s.collect(now)
					scrape = now + 15*second
				}
			}
			for range 100 * streams {
				chunk()
			}
			b.ReportAllocs()
			for b.Loop() {
				chunk()
			}
		})
	}
}

// BenchmarkChunkBehind has a request in prefill all the time, so that up to 30 seconds of changes are pending.
func BenchmarkChunkBehind(b *testing.B) {
	s := newSweep(0, Estimated)
	const streams, gap = 500, int64(20e6)
	open := make([]openRequest, streams+1)
	now := int64(0)
	for i := range open {
		s.start(&open[i], now, 128, true)
	}
	next, event := 0, int64(0)
	b.ReportAllocs()
	for b.Loop() {
		now += gap / streams
		event++
		s.content(&open[next], now-event*7919%(gap/2), Count{})
		if next++; next == streams {
			next = 0
		}
	}
	b.ReportMetric(float64(cap(s.pending))*32/1e6, "MB")
}

// BenchmarkScrapeOfPhases is what the time-weighted series of one busy target add to a scrape: locked while it is settled and copied,
// written without the lock.
func BenchmarkScrapeOfPhases(b *testing.B) {
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock()})
	target := s.Add(TargetInfo{Name: "t", Model: "m", Workload: "w", Features: Features{Streaming: true}})
	random := rand.New(rand.NewPCG(9, 10))
	now := target.sweep.begun
	for range 2000 {
		first := now + random.Int64N(second)
		l := life{start: now, input: 100, content: evenly(first, first+1+random.Int64N(3*second), 30), estimate: true}
		l.end = l.content[29]
		for _, c := range l.events() {
			c.call(&target.sweep)
		}
		now = l.end
	}
	var taken snapshot
	locked := func() {
		target.mu.Lock()
		now += 15 * second
		target.settle(now)
		target.mu.Unlock()
		taken.take(target)
	}
	b.Run("locked", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			locked()
		}
	})
	b.Run("written", func(b *testing.B) {
		locked()
		b.ReportAllocs()
		for b.Loop() {
			for i := range taken.weighted {
				taken.weighted[i].exposition(HistogramsBoth)
			}
		}
	})
}
