// Package genai says what became of requests in the words of OpenTelemetry's conventions for generative AI: instruments in both generations of
// their names, and a span for each request that is sampled. It is an observer of the generator and measures nothing.
package genai

import (
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
	Clock   *metrics.SystemClock
	Meter   metric.Meter // nil = no instruments
	Tracer  trace.Tracer // nil = no spans
}

// Observer implements generator.Observer.
type Observer struct{}

// New makes the instruments.
func New(o Options) (*Observer, error) { return &Observer{}, nil }

// Finished implements generator.Observer.
func (o *Observer) Finished(target string, r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) {
}

// Dropped implements generator.Observer.
func (o *Observer) Dropped(target string, reason metrics.DropReason, n int64) {}
