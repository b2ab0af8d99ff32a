package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// lastWords is how long sending goes on after the end.
const lastWords = 5 * time.Second

// session is the sending to one collector with one configuration. One that sends nothing has neither wire nor anything else.
type session struct {
	config   Config
	logger   *slog.Logger
	now      func() time.Time
	tally    *tally
	warnings *warnings
	looks    *looks
	panicked func(cause any)

	wire     *wire
	resource *resource.Resource
	producer *producer
	deltas   *deltas // nil = everything is cumulative
	metrics  *otlpmetricgrpc.Exporter
	tracers  *sdktrace.TracerProvider // nil = no spans
	queue    *spanQueue
	traces   func() metrics.Trace // nil = no spans
	failing  bool                 // the last export failed; only run looks at it

	stop context.CancelFunc // nil = it has not begun; guarded by Exporter.mu
}

// legacy is what a session leaves to the next one, so that it goes on where this one stopped.
type legacy struct {
	deltas *deltas // nil = everything that was seen has been sent
	last   look
}

// newSession connects to nothing yet.
func (e *Exporter) newSession(c Config) (*session, error) {
	s := &session{
		config: c, logger: e.deps.Logger, now: e.now, tally: e.tally, looks: e.looks, panicked: e.deps.Panicked,
		warnings: &warnings{logger: e.deps.Logger, now: e.now},
	}
	if off, err := e.env.disabled(); !c.Enabled || err != nil || off {
		if c.Enabled && off {
			e.deps.Logger.Info("nothing is sent over OTLP: " + envDisabled + " says so")
		}
		if !c.Enabled {
			err = nil
		}
		return s, err
	}
	filter, err := e.env.exemplars()
	if err != nil {
		return nil, err
	}
	if s.resource, err = newResource(&c, &e.deps, e.env); err != nil {
		return nil, err
	}
	began := e.deps.Clock.Wall(0)
	s.producer = &producer{names: newNamer(e.deps.Table), form: c.Histogram, exemplars: filter, extra: conventions(&c), scope: e.scope, start: began}
	s.deltas = newDeltas(c.Temporality, began)
	if s.wire, err = dial(&c, e.deps.Version, s.tally, s.warnings); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		s.wire.close(s.logger)
		return nil, err
	}
	return s, nil
}

// open makes the exporters of the SDK on the connection.
func (s *session) open() (err error) {
	ctx := context.Background() // neither of them connects or waits
	if s.metrics, err = s.wire.metrics(ctx, &s.config); err != nil {
		return fmt.Errorf("exporter of metrics: %w", err)
	}
	if !s.config.Traces.Enabled {
		return nil
	}
	spans, err := s.wire.spans(ctx, &s.config)
	if err != nil {
		return fmt.Errorf("exporter of spans: %w", err)
	}
	s.traces = genai.NewTraces(s.config.Traces.Ratio, rand.Uint64)
	s.queue = newSpanQueue(spans, s.tally, s.warnings, s.caught)
	s.tracers = sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(s.queue), sdktrace.WithResource(s.resource), sdktrace.WithIDGenerator(genai.IDs{}),
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // whether a request is sampled was decided before it was sent
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
			AttributeValueLengthLimit: sdktrace.DefaultAttributeValueLengthLimit, AttributeCountLimit: sdktrace.DefaultAttributeCountLimit,
			EventCountLimit: sdktrace.DefaultEventCountLimit, LinkCountLimit: sdktrace.DefaultLinkCountLimit,
			AttributePerEventCountLimit: sdktrace.DefaultAttributePerEventCountLimit,
			AttributePerLinkCountLimit:  sdktrace.DefaultAttributePerLinkCountLimit,
		}),
	)
	return nil
}

// sends tells whether anything is.
func (s *session) sends() bool { return s.wire != nil }

// discard gives back what one holds that has not begun.
func (s *session) discard() {
	if s.sends() {
		s.wire.close(s.logger)
	}
}

// inherit goes on where another session stopped. What that one had sent as a whole, or in another form, is not new.
func (s *session) inherit(l *legacy) {
	if s.deltas == nil || l == nil {
		return
	}
	if l.deltas != nil {
		s.deltas = l.deltas.as(s.config.Temporality)
	}
	s.deltas.baseline(s.producer.produce(l.last))
}

// run sends each interval, until ctx ends; then once more. What is under way at the end and what comes after it have 5 s together. program ends with
// this program, ctx also if another session follows.
func (s *session) run(ctx, program context.Context) *legacy {
	defer s.wire.close(s.logger)
	s.logger.Info("series are sent over OTLP", slog.String("endpoint", secret.RedactURL(s.config.Endpoint)), slog.Duration("interval", s.config.Interval))
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, end) })()
	var sending sync.WaitGroup
	if s.queue != nil {
		sending.Go(func() { s.queue.run(ctx, life) })
	}
	tick := time.NewTicker(s.config.Interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			s.export(life)
		}
	}
	if program.Err() != nil {
		s.warnings.ending()
	}
	left := &legacy{last: s.export(life), deltas: s.deltas}
	sending.Wait()
	s.shutdown(life)
	return left
}

// shutdown lets go of what the SDK holds.
func (s *session) shutdown(ctx context.Context) {
	errs := []error{s.metrics.Shutdown(ctx)}
	if s.queue != nil {
		errs = append(errs, s.tracers.Shutdown(ctx), s.queue.exporter.Shutdown(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		s.warnings.warn("the end", err)
	}
}

// export sends everything once, and gives what it has seen. What does not arrive is sent with the next one: nothing waits but the values themselves.
func (s *session) export(ctx context.Context) (seen look) {
	start := s.now()
	err := s.guarded(ctx, &seen)
	s.tally.exported(s.now(), s.now().Sub(start), err, s.warnings.text)
	if err == nil {
		if s.failing {
			s.logger.Info("metrics arrive again over OTLP")
		}
		s.failing = false
		return seen
	}
	s.failing = true
	problem := "metrics did not arrive, the next export has them"
	if s.warnings.isEnding() {
		problem = "the last metrics did not arrive, the collector never gets them"
	}
	s.warnings.warn(problem, err)
	return seen
}

// guarded keeps a fault of this room in it.
func (s *session) guarded(ctx context.Context, seen *look) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.caught(cause)
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	return s.exportAll(ctx, seen)
}

// caught tells about a panic.
func (s *session) caught(cause any) {
	s.tally.failed(reasonInternal)
	s.logger.Error("OTLP export panicked", slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
	if s.panicked != nil {
		s.panicked(cause)
	}
}

// exportAll sends what there is in as many requests as it needs. One that the collector does not want, or finds too large, is left out; any other that
// fails ends it: those that follow would fail alike.
func (s *session) exportAll(ctx context.Context, seen *look) error {
	before, now, err := s.looks.take(ctx)
	*seen = now
	if err != nil {
		if len(now.families) == 0 {
			s.tally.failed(reasonInternal)
			return fmt.Errorf("collect: %w", err)
		}
		s.warnings.warn("a part of the series cannot be shown", err)
	}
	scopes := s.producer.produce(now)
	if s.deltas != nil {
		for _, noted := range before {
			s.deltas.note(s.producer.produce(noted))
		}
		scopes = s.deltas.turn(scopes)
	}
	var unwanted error
	for _, request := range split(scopes, resourceSize(s.resource), int(s.config.MaxRequestSize)) {
		err := s.metrics.Export(ctx, &metricdata.ResourceMetrics{Resource: s.resource, ScopeMetrics: request})
		why := reasonOf(err)
		switch {
		case err == nil && s.deltas != nil:
			s.deltas.arrived(request)
		case err == nil:
		case why == reasonRefused || why == reasonExhausted:
			unwanted = cmp.Or(unwanted, err)
		default:
			return err
		}
	}
	return unwanted
}
