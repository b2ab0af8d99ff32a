package otlp

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// BenchmarkConvert is what an interval costs beside gathering, by the number of targets: conversion, differences and cutting into requests.
func BenchmarkConvert(b *testing.B) {
	for _, temporality := range []Temporality{Cumulative, Delta} {
		b.Run(string(temporality), func(b *testing.B) {
			o := observe(b, metrics.HistogramsBoth, 100)
			random := rand.New(rand.NewPCG(1, 1))
			for range 2000 {
				o.finish(o.targets[random.IntN(len(o.targets))], random)
			}
			families, err := o.registry.Gather()
			if err != nil {
				b.Fatal(err)
			}
			p := testProducer(Exponential, metrics.Table()...)
			p.gatherer, p.now = frozen(families), time.Now
			d := newDeltas(temporality, began)
			b.ReportAllocs()
			requests := 0
			for b.Loop() {
				scopes, err := p.scopes()
				if err != nil {
					b.Fatal(err)
				}
				if d != nil {
					scopes = d.turn(scopes)
				}
				requests = 0
				for _, request := range split(scopes, 500, 4<<20) {
					requests++
					if d != nil {
						d.arrived(request)
					}
				}
			}
			b.ReportMetric(float64(requests), "requests")
		})
	}
}

// BenchmarkExport is a whole export to a collector in the same process, compression and its reading included.
func BenchmarkExport(b *testing.B) {
	for _, targets := range []int{1, 100} {
		b.Run(fmt.Sprintf("targets=%d", targets), func(b *testing.B) {
			o := observe(b, metrics.HistogramsBoth, targets)
			random := rand.New(rand.NewPCG(1, 1))
			for range 20 * targets {
				o.finish(o.targets[random.IntN(len(o.targets))], random)
			}
			s := &collectorServer{}
			address, _ := serve(b, s, "127.0.0.1:0")
			e := newExporter(b, testConfig(address), o.registry)
			b.ReportAllocs()
			for b.Loop() {
				s.metrics = nil
				if err := e.session.Load().exportAll(b.Context(), &look{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
