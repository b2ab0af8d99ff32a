package metrics

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// benchRecord is a streamed success with that many content events, 12 ms apart and now and then two at once, of a request that started
// with its connection kept alive.
func benchRecord(events int) *Record {
	const ms = int64(time.Millisecond)
	start := 10 * int64(time.Second)
	r := &Record{
		RequestID: "0123456789abcdef0123456789abcdef", Streaming: true, Outcome: Success, Finish: FinishLength, Status: 200,
		ConnObtained: true, ConnReused: true, RequestBytes: 600, ResponseBytes: 60_000, KernelStamps: true,
		OutputSource: SourceUsage, InputSource: SourceUsage, ServedModel: "m",
		Usage: Usage{Input: Tokens(128), Output: Tokens(int64(events))},
	}
	r.Time = Timeline{
		Sched: start - ms/10, Issue: start - ms/20, Start: start, ConnStart: start + ms/50, ConnDone: start + ms/40, Sent: start + ms/30,
		FirstByte: start + 9*ms, Header: start + 10*ms, FirstEvent: start + 50*ms, FirstOutput: start + 50*ms,
	}
	at := r.Time.FirstEvent
	for i := range events {
		r.Content = append(r.Content, at)
		if i%10 != 9 {
			at += 11*ms + int64(i*7919%2000)*1000
		}
	}
	r.Time.End = at + ms
	return r
}

func benchStore(targets int) *Store {
	slos := []SLO{testSLO()}
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock(), Settings: Settings{SLOs: slos, ConfigHash: "0123456789ab"}})
	r := benchRecord(50)
	for i := range targets {
		target := s.Add(TargetInfo{Name: fmt.Sprintf("target-%03d", i), Model: "m", Workload: "w", URL: "http://server.example:8000", Features: Features{Streaming: true, SLOs: slos}})
		target.Sent().Finish(r)
	}
	return s
}

// BenchmarkObserve is what a finished request costs, by the number of its content events.
func BenchmarkObserve(b *testing.B) {
	for _, events := range []int{1, 250} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			s := benchStore(0)
			target := s.Add(TargetInfo{Name: "t", Model: "m", Workload: "w", Features: Features{Streaming: true, SLOs: []SLO{testSLO()}}})
			r := benchRecord(events)
			b.ReportAllocs()
			for b.Loop() {
				target.Sent().Finish(r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}

// BenchmarkUpdate is what a reload costs for each target that it changes.
func BenchmarkUpdate(b *testing.B) {
	s := benchStore(0)
	info := TargetInfo{Name: "t", Model: "m", Workload: "w", Features: Features{Streaming: true, SLOs: []SLO{testSLO()}}}
	target := s.Add(info)
	target.Sent().Finish(benchRecord(50))
	b.ReportAllocs()
	for b.Loop() {
		target.Update(info)
	}
}

// BenchmarkCollect is what the store itself does for a scrape.
func BenchmarkCollect(b *testing.B) {
	for _, targets := range []int{1, 100, 500} {
		b.Run(fmt.Sprintf("targets=%d", targets), func(b *testing.B) {
			s := benchStore(targets)
			b.ReportAllocs()
			for b.Loop() {
				ch := make(chan prometheus.Metric, 1000)
				go func() {
					s.Collect(ch)
					close(ch)
				}()
				for m := range ch {
					if err := m.Write(&dto.Metric{}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkGather is the same with the registry, which checks, groups and sorts what is collected.
func BenchmarkGather(b *testing.B) {
	for _, targets := range []int{1, 100, 500} {
		b.Run(fmt.Sprintf("targets=%d", targets), func(b *testing.B) {
			registry := prometheus.NewRegistry()
			registry.MustRegister(benchStore(targets))
			children := 0
			b.ReportAllocs()
			for b.Loop() {
				families, err := registry.Gather()
				if err != nil {
					b.Fatal(err)
				}
				children = 0
				for _, f := range families {
					children += len(f.GetMetric())
				}
			}
			b.ReportMetric(float64(children), "children")
		})
	}
}
