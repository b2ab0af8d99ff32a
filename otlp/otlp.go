package otlp

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
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
	// Env is the environment, in the form of os.Environ: OTEL_* fill in what the configuration does not say.
	Env []string
}

// Exporter sends metrics and, if they are wanted, spans. It implements collector.Collector.
type Exporter struct{}

// New connects to nothing yet. Errors are those of certificates that cannot be read, and of the environment, by variable.
func New(c Config, deps Deps) (*Exporter, error) { return &Exporter{}, nil }

// Meter is where instruments are made whose values are sent, beside the series of the Gatherer.
func (e *Exporter) Meter() metric.Meter { return nil }

// Tracer is where spans are made; it takes the ids of a span from genai.WithSpan's context. nil = no spans are wanted.
func (e *Exporter) Tracer() trace.Tracer { return nil }

// Run sends each interval, until ctx ends; then once more, for at most 5 s.
func (e *Exporter) Run(ctx context.Context) {}

// Families implements collector.Collector: how exports went.
func (e *Exporter) Families() []*dto.MetricFamily { return nil }

// Table lists the series of Families.
func Table() []metrics.Series { return nil }
