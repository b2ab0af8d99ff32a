package otlp

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// observed is a store with targets that answer at random.
type observed struct {
	clock    *metrics.SystemClock
	store    *metrics.Store
	registry *prometheus.Registry
	targets  []*metrics.Target
	features metrics.Features
}

func observe(tb testing.TB, kind metrics.HistogramKind, targets int) *observed {
	tb.Helper()
	slo := metrics.DefaultSLOConfig()
	slo.TimeToFirstToken = 250 * time.Millisecond
	slos := []metrics.SLO{slo.SLO("interactive")}
	config := metrics.DefaultConfig()
	config.Histograms = kind
	o := &observed{clock: metrics.NewSystemClock(), registry: prometheus.NewRegistry(), features: metrics.Features{Streaming: true, SLOs: slos}}
	o.store = metrics.NewStore(metrics.Options{Config: config, Clock: o.clock, Settings: metrics.Settings{SLOs: slos}})
	o.registry.MustRegister(o.store)
	for i := range targets {
		o.add(fmt.Sprintf("target-%03d", i))
	}
	return o
}

func (o *observed) add(name string) {
	o.targets = append(o.targets, o.store.Add(metrics.TargetInfo{
		Name: name, Model: "meta-llama/Llama-3.1-8B-Instruct", Workload: "short", URL: "http://server.example:8000", Features: o.features,
	}))
}

// finish lets a target answer a request, at latencies from microseconds to minutes.
func (o *observed) finish(target *metrics.Target, random *rand.Rand) {
	span := func(low, high time.Duration) int64 { // evenly over the logarithm
		at := float64(low)
		for at < float64(high) && random.IntN(12) > 0 {
			at *= 1 + random.Float64()
		}
		return int64(at)
	}
	start := int64(time.Second) + random.Int64N(1e9)
	r := &metrics.Record{RequestID: fmt.Sprintf("%032x", random.Uint64()), Streaming: true, Outcome: metrics.Success, Status: http.StatusOK}
	r.Time = metrics.Timeline{Sched: start - random.Int64N(1e6), Issue: start, Start: start, Sent: start + 1e5}
	r.Time.FirstByte = r.Time.Sent + span(time.Microsecond, time.Second)
	r.Time.Header = r.Time.FirstByte
	at := r.Time.Header + span(time.Microsecond, time.Minute)
	for range 1 + random.IntN(30) {
		r.Content = append(r.Content, at)
		at += span(time.Microsecond, 2*time.Second)
	}
	r.Time.End = at
	if random.IntN(10) == 0 {
		r.Outcome, r.Class, r.Status = metrics.Failure, metrics.ErrorClasses[0], http.StatusInternalServerError
	}
	target.Sent().Finish(r)
}
