package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// observed is a registry with the store of that many targets, each with a few requests behind it.
func observed(targets int) *prometheus.Registry {
	slo := metrics.DefaultSLOConfig()
	slo.TimeToFirstToken = 250 * time.Millisecond
	slos := []metrics.SLO{slo.SLO("interactive")}
	store := metrics.NewStore(metrics.Options{Config: metrics.DefaultConfig(), Clock: metrics.NewSystemClock(), Settings: metrics.Settings{SLOs: slos}})
	const ms = int64(time.Millisecond)
	for i := range targets {
		target := store.Add(metrics.TargetInfo{
			Name: fmt.Sprintf("target-%03d", i), Model: "meta-llama/Llama-3.1-8B-Instruct", Workload: "short", URL: "http://server.example:8000", Features: metrics.Features{Streaming: true, SLOs: slos},
		})
		for n := range int64(10) {
			start := int64(time.Second)
			r := &metrics.Record{RequestID: "0123456789abcdef0123456789abcdef", Streaming: true, Outcome: metrics.Success, Status: http.StatusOK}
			r.Time = metrics.Timeline{Sched: start, Issue: start, Start: start, Sent: start + ms, FirstByte: start + 9*ms, Header: start + 9*ms}
			for chunk := range int64(20) {
				r.Content = append(r.Content, start+(40+n)*ms+chunk*(10+n)*ms)
			}
			r.Time.End = start + time.Second.Nanoseconds()
			target.Sent().Finish(r)
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(store)
	return registry
}

// BenchmarkScrape is a whole scrape as Prometheus asks for it, by format and compression.
func BenchmarkScrape(b *testing.B) {
	for _, targets := range []int{1, 100} {
		o := options()
		o.Registry = observed(targets)
		h, err := New(o)
		if err != nil {
			b.Fatal(err)
		}
		for _, format := range formats[1:] {
			for _, encoding := range []string{"identity", "gzip"} {
				b.Run(fmt.Sprintf("targets=%d/format=%s/encoding=%s", targets, format.name, encoding), func(b *testing.B) {
					size := 0
					b.ReportAllocs()
					for b.Loop() {
						r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", http.NoBody)
						r.Header.Set("Accept", format.accept)
						r.Header.Set("Accept-Encoding", encoding)
						w := httptest.NewRecorder()
						h.ServeHTTP(w, r)
						if w.Code != http.StatusOK {
							b.Fatalf("status %d", w.Code)
						}
						size = w.Body.Len()
					}
					b.ReportMetric(float64(size), "bytes")
				})
			}
		}
	}
}
