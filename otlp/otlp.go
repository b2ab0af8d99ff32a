package otlp

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Deps are what the exporter works with.
type Deps struct {
	Clock  *metrics.SystemClock
	Logger *slog.Logger
	// Gatherer is what /metrics shows; Table lists all its series that are ours, for their units.
	Gatherer prometheus.Gatherer
	Table    []metrics.Series
	// Instruments gives, cumulatively, what is sent beside it, and the last values of what is gone since it was last asked; nil = there is nothing.
	// Histograms have their own bounds, whatever the configuration says of the form.
	Instruments func(context.Context) (now, gone []metricdata.Metrics, err error)
	Version     string
	Instance    string
	// Env is the environment, in the form of os.Environ. What has a key in the configuration is there already, see FromEnvironment; of the
	// rest this reads what says who is speaking, which exemplars are wanted, and whether OpenTelemetry is switched off.
	Env []string
	// Panicked, if not nil, is told each panic that was caught.
	Panicked func(cause any)
}

// Exporter sends metrics and, if they are wanted, spans. It implements collector.Collector.
type Exporter struct {
	deps  Deps
	env   environment
	scope instrumentation.Scope
	now   func() time.Time
	tally *tally
	looks *looks

	session atomic.Pointer[session] // that sends, or is the next to send
	mu      sync.Mutex              // held while it changes
	over    bool                    // Run has ended
}

var _ collector.Collector = (*Exporter)(nil)

// New connects to nothing yet. The configuration must be valid. Errors are those of files that cannot be read, and of the environment, by
// variable.
func New(c Config, deps Deps) (*Exporter, error) {
	e := &Exporter{
		deps: deps, env: newEnvironment(deps.Env), now: time.Now, tally: newTally(),
		scope: instrumentation.Scope{Name: serviceName, Version: deps.Version},
	}
	e.looks = &looks{gatherer: deps.Gatherer, instruments: deps.Instruments, now: e.now}
	// The SDK looks at the environment, too, and writes variables that it cannot read to standard error as they are: headers have secrets.
	otel.SetLogger(logr.Discard())
	first, err := e.newSession(c)
	if err != nil {
		return nil, err
	}
	e.put(first)
	return e, nil
}

// ExemplarFilter says which values of instruments are worth an exemplar.
func (e *Exporter) ExemplarFilter() exemplar.Filter {
	filter, _ := e.env.exemplars() // New tells what is wrong with it
	return filter.instruments()
}

// Tracer is where spans are made now; it takes the ids of a span from genai.WithSpan's context. nil = no spans are wanted.
func (e *Exporter) Tracer() trace.Tracer {
	s := e.session.Load()
	if s.tracers == nil {
		return nil
	}
	return s.tracers.Tracer(e.scope.Name, trace.WithInstrumentationVersion(e.scope.Version))
}

// Trace is the context that the next request is sent with; the zero value = no spans are wanted.
func (e *Exporter) Trace() metrics.Trace {
	s := e.session.Load()
	if s.traces == nil {
		return metrics.Trace{}
	}
	return s.traces()
}

// Families implements collector.Collector: how exports went.
func (e *Exporter) Families() []*dto.MetricFamily {
	if !e.session.Load().sends() {
		return nil
	}
	return e.tally.families()
}
