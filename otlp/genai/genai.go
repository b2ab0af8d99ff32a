// Package genai says what became of requests in the words of OpenTelemetry's conventions for generative AI: instruments in both generations of
// their names, and a span for each request that is sampled. It is an observer of the generator and measures nothing.
//
// Warm-up requests are in no instrument. Those that were cancelled are in no duration either: the conventions know successes and errors, and a
// cancellation of ours is neither. Spans are made of all of them, because the server's own spans have them as their parents.
package genai

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Target is what attributes say of a target.
type Target struct {
	Name, Workload, Model, URL, EndpointType string
	Provider                                 string // as configured; "" = by the endpoint's protocol
}

// Options configure an Observer.
type Options struct {
	Semconv string // "1.41", "genai-0.1" or "none"
	Targets []Target
	// SLOs are all objectives of the configuration: histograms that /metrics has too have the same boundaries as there, their limits included.
	SLOs   []metrics.SLO
	Clock  *metrics.SystemClock
	Meter  metric.Meter // nil = no instruments
	Tracer trace.Tracer // nil = no spans
}

// Observer implements generator.Observer.
type Observer struct {
	clock   *metrics.SystemClock
	tracer  trace.Tracer
	targets map[string]*observed
}

// observed is a target with everything about it that does not change. Either may be nil.
type observed struct {
	measured *measured
	traced   *traced
}

// New makes the instruments.
func New(o Options) (*Observer, error) {
	g, known := generations[o.Semconv]
	if !known && o.Semconv != none {
		return nil, fmt.Errorf("semconv must be one of %s, got %q", strings.Join(append(slices.Sorted(maps.Keys(generations)), none), ", "), o.Semconv)
	}
	var all *instruments
	if known && o.Meter != nil {
		var err error
		if all, err = newInstruments(o.Meter, &g, o.SLOs); err != nil {
			return nil, err
		}
	}
	if !known {
		g = generations[defaultGeneration] // of which spans are
	}
	observer := &Observer{clock: o.Clock, tracer: o.Tracer, targets: make(map[string]*observed, len(o.Targets))}
	for i := range o.Targets {
		t := &o.Targets[i]
		d := dialectOf(t.EndpointType)
		attributes, target := attributesOf(t, d), &observed{}
		if all != nil {
			target.measured = all.of(d, attributes)
		}
		if o.Tracer != nil {
			target.traced = newTraced(t, d, &g, attributes)
		}
		observer.targets[t.Name] = target
	}
	return observer, nil
}

// Finished implements generator.Observer.
func (o *Observer) Finished(target string, r *metrics.Record, m *metrics.Measures, _ []metrics.Verdict) {
	t := o.targets[target]
	if t == nil {
		return
	}
	if t.measured != nil && !r.Warmup {
		t.measured.record(r, m)
	}
	if t.traced != nil && r.Trace.Sampled {
		t.traced.send(o.tracer, o.clock, r, m)
	}
}

// Dropped implements generator.Observer. What was never sent is no operation.
func (*Observer) Dropped(string, metrics.DropReason, int64) {}
