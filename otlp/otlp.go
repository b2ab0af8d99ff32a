package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
)

// Deps are what the exporter works with.
type Deps struct {
	Clock  *metrics.SystemClock
	Logger *slog.Logger
	// Gatherer is what /metrics shows; Table lists all its series that are ours, for their units.
	Gatherer prometheus.Gatherer
	Table    []metrics.Series
	Version  string
	Instance string
	// Env is the environment, in the form of os.Environ. What has a key in the configuration is there already, see FromEnvironment; of the
	// rest this reads what says who is speaking, which exemplars are wanted, and whether OpenTelemetry is switched off.
	Env []string
}

// Exporter sends metrics and, if they are wanted, spans. It implements collector.Collector.
type Exporter struct {
	config   Config
	logger   *slog.Logger
	now      func() time.Time
	tally    *tally
	warnings *warnings

	// The rest is nil if nothing is sent.
	wire     *wire
	resource *resource.Resource
	meters   *sdkmetric.MeterProvider
	reader   *sdkmetric.ManualReader
	deltas   *deltas // nil = everything is cumulative
	metrics  *otlpmetricgrpc.Exporter
	tracers  *sdktrace.TracerProvider // nil = no spans
	queue    *spanQueue
	scope    instrumentation.Scope
	failing  bool // the last export failed; only Run looks at it
}

var _ collector.Collector = (*Exporter)(nil)

// New connects to nothing yet. The configuration must be valid. Errors are those of files that cannot be read, and of the environment, by
// variable.
func New(c Config, deps Deps) (*Exporter, error) {
	env := newEnvironment(deps.Env)
	e := &Exporter{
		config: c, logger: deps.Logger, now: time.Now,
		scope: instrumentation.Scope{Name: serviceName, Version: deps.Version},
	}
	off, err := env.disabled()
	switch {
	case !c.Enabled:
		return e, nil
	case err != nil:
		return nil, err
	case off:
		deps.Logger.Info("nothing is sent over OTLP: " + envDisabled + " says so")
		return e, nil
	}
	// The SDK looks at the environment, too, and writes variables that it cannot read to standard error as they are: headers have secrets.
	otel.SetLogger(logr.Discard())
	filter, err := env.exemplars()
	if err != nil {
		return nil, err
	}
	if e.resource, err = newResource(&c, &deps, env); err != nil {
		return nil, err
	}
	e.tally = newTally(c.Traces.Enabled, e.now())
	e.warnings = &warnings{logger: deps.Logger, now: e.now}
	if e.wire, err = dial(&c, deps.Version, e.tally, e.warnings); err != nil {
		return nil, err
	}
	e.reader = sdkmetric.NewManualReader(sdkmetric.WithProducer(&producer{
		gatherer: deps.Gatherer, names: newNamer(deps.Table), form: c.Histogram, exemplars: filter, extra: conventions(&c),
		scope: e.scope, start: deps.Clock.Wall(0), now: e.now,
	}))
	// Labels are closed sets from the configuration. The limit of 2000 sets that the SDK has by itself is reached at a hundred targets.
	e.meters = sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(e.reader), sdkmetric.WithResource(e.resource),
		sdkmetric.WithCardinalityLimit(0), sdkmetric.WithExemplarFilter(filter.instruments()),
	)
	e.deltas = newDeltas(c.Temporality, deps.Clock.Wall(0))
	if err := e.open(); err != nil {
		e.wire.close(deps.Logger)
		return nil, err
	}
	return e, nil
}

// open makes the exporters of the SDK on the connection.
func (e *Exporter) open() (err error) {
	ctx := context.Background() // neither of them connects or waits
	if e.metrics, err = e.wire.metrics(ctx, &e.config); err != nil {
		return fmt.Errorf("exporter of metrics: %w", err)
	}
	if !e.config.Traces.Enabled {
		return nil
	}
	spans, err := e.wire.spans(ctx, &e.config)
	if err != nil {
		return fmt.Errorf("exporter of spans: %w", err)
	}
	e.queue = newSpanQueue(spans, e.tally, e.warnings)
	e.tracers = sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(e.queue), sdktrace.WithResource(e.resource), sdktrace.WithIDGenerator(genai.IDs{}),
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

// Meter is where instruments are made whose values are sent, beside the series of the Gatherer; nil = nothing is sent. Only those of float64
// are. Histograms have the bounds that their instruments advise, whatever the configuration says of the form.
func (e *Exporter) Meter() metric.Meter {
	if e.meters == nil {
		return nil
	}
	return e.meters.Meter(e.scope.Name, metric.WithInstrumentationVersion(e.scope.Version))
}

// Tracer is where spans are made; it takes the ids of a span from genai.WithSpan's context. nil = no spans are wanted.
func (e *Exporter) Tracer() trace.Tracer {
	if e.tracers == nil {
		return nil
	}
	return e.tracers.Tracer(e.scope.Name, trace.WithInstrumentationVersion(e.scope.Version))
}

// Families implements collector.Collector: how exports went.
func (e *Exporter) Families() []*dto.MetricFamily {
	if e.tally == nil {
		return nil
	}
	return e.tally.families()
}
