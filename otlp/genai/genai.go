// Package genai says what became of requests in the words of OpenTelemetry's conventions for generative AI: instruments in both generations of
// their names, and a span for each request that is sampled. It is an observer of the generator and measures nothing.
//
// Warm-up requests are in no instrument. Those that were cancelled are in no duration either: the conventions know successes and errors, and a
// cancellation of ours is neither. Spans are made of all of them, because the server's own spans have them as their parents.
package genai

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Target is what attributes say of a target.
type Target struct {
	Name, Workload, Model, URL, EndpointType string
	Provider                                 string // as configured; "" = by the endpoint's protocol
}

// Settings are what a reload may change.
type Settings struct {
	Semconv string // "1.41", "genai-0.1" or "none"
	Targets []Target
	// SLOs are all objectives of the configuration: histograms that /metrics has too have the same boundaries as there, their limits included. A
	// target that is observed already keeps those that it had.
	SLOs []metrics.SLO
}

// Options configure an Observer.
type Options struct {
	Settings

	Clock *metrics.SystemClock
	// Tracer gives what makes spans now, or nil if none are wanted; nil = none ever are.
	Tracer func() trace.Tracer
	// Exemplars says which values are worth one; nil = those of spans that are sent.
	Exemplars exemplar.Filter
}

// Observer implements generator.Observer.
type Observer struct {
	clock     *metrics.SystemClock
	tracer    func() trace.Tracer
	exemplars exemplar.Filter
	targets   atomic.Pointer[map[string]*observed] // replaced, never changed

	mu      sync.Mutex // held while the targets change or are collected
	told    map[string]bool
	leaving map[string]bool // those of them for which Remove was called
	retired []*measured     // targets that are gone, until they have been collected once more
}

// maxRetired bounds the targets that are gone and have not been collected.
const maxRetired = 1000

// observed is a target with everything about it that does not change.
type observed struct {
	target   Target
	semconv  string
	measured *measured // nil = no instruments
	traced   *traced
}

// New makes one.
func New(o Options) (*Observer, error) {
	observer := &Observer{clock: o.Clock, tracer: o.Tracer, exemplars: o.Exemplars}
	if observer.exemplars == nil {
		observer.exemplars = exemplar.TraceBasedFilter
	}
	observer.targets.Store(&map[string]*observed{})
	if err := observer.Apply(o.Settings); err != nil {
		return nil, err
	}
	return observer, nil
}

// Apply changes the targets. Those that are the same as before go on counting; others begin at zero. Targets that it is not told of are observed until
// they are removed: their last requests are not over. The only error is that of conventions that are not known; then nothing has changed.
func (o *Observer) Apply(s Settings) error {
	g, known := generations[s.Semconv]
	if !known {
		if s.Semconv != none {
			return fmt.Errorf("semconv must be one of %s, got %q", strings.Join(append(slices.Sorted(maps.Keys(generations)), none), ", "), s.Semconv)
		}
		g = generations[defaultGeneration] // of which spans are
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	before, next, told := *o.targets.Load(), map[string]*observed{}, map[string]bool{}
	for i := range s.Targets {
		t := s.Targets[i]
		told[t.Name] = true
		if old := before[t.Name]; old != nil && old.target == t && old.semconv == s.Semconv {
			next[t.Name] = old
			continue
		}
		d := dialectOf(t.EndpointType)
		attributes := attributesOf(&t, d)
		made := &observed{target: t, semconv: s.Semconv, traced: newTraced(&t, d, &g, attributes)}
		if known {
			var err error
			if made.measured, err = newMeasured(&g, s.SLOs, o.exemplars, d, attributes); err != nil {
				return err
			}
		}
		next[t.Name] = made
	}
	for name, t := range before {
		if !told[name] && !o.leaving[name] {
			next[name] = t
		}
	}
	o.told, o.leaving = told, map[string]bool{}
	o.replace(next)
	return nil
}

// Remove ends a target. One that Apply was last told of stays until that changes: its name has been given again, or the change that leaves it out is
// still to come.
func (o *Observer) Remove(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told[name] {
		o.leaving[name] = true
		return
	}
	next := maps.Clone(*o.targets.Load())
	delete(next, name)
	o.replace(next)
}

// replace changes the targets. The caller holds mu.
func (o *Observer) replace(next map[string]*observed) {
	before := *o.targets.Load()
	o.targets.Store(&next)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if old := before[name]; old != next[name] && old.measured != nil {
			o.retired = append(o.retired, old.measured)
		}
	}
	if more := len(o.retired) - maxRetired; more > 0 {
		o.retired = slices.Clone(o.retired[more:])
	}
}

// Metrics are the values of all instruments since each target began. gone are the last ones of targets that are gone since the last call; a target that
// came back may have the same attributes.
func (o *Observer) Metrics(ctx context.Context) (now, gone []metricdata.Metrics, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	retired, targets := o.retired, *o.targets.Load()
	o.retired = nil
	var all []*measured
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if m := targets[name].measured; m != nil {
			all = append(all, m)
		}
	}
	now, err = collect(ctx, all)
	gone, failure := collect(ctx, retired)
	return now, gone, errors.Join(err, failure)
}

// Finished implements generator.Observer.
func (o *Observer) Finished(target string, r *metrics.Record, m *metrics.Measures, _ []metrics.Verdict) {
	t := (*o.targets.Load())[target]
	if t == nil {
		return
	}
	if t.measured != nil && !r.Warmup {
		t.measured.record(r, m)
	}
	if o.tracer == nil || !r.Trace.Sampled {
		return
	}
	if tracer := o.tracer(); tracer != nil {
		t.traced.send(tracer, o.clock, r, m)
	}
}

// Dropped implements generator.Observer. What was never sent is no operation.
func (*Observer) Dropped(string, metrics.DropReason, int64) {}
