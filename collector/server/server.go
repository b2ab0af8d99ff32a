package server

import (
	"context"
	"log/slog"

	dto "github.com/prometheus/client_model/go"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Target is what the collector needs to know of a target.
type Target struct {
	Name, URL, Model string
	Config           TargetConfig
	HTTP             promconfig.HTTPClientConfig
	// Credential gives the header that authenticates the target's own requests, if auth is inherit and they have one.
	Credential func() (header, value string, err error)
}

// Deps are what the collector works with.
type Deps struct {
	Clock     *metrics.SystemClock
	Logger    *slog.Logger
	UserAgent string
	// Observe, if not nil, is told each page that was read, mapped, and when.
	Observe func(target, instance string, at int64, families []*dto.MetricFamily)
}

// Collector implements collector.Collector.
type Collector struct{}

// New makes one. Errors are those of files and certificates that cannot be read.
func New(c Config, targets []Target, deps Deps) (*Collector, error) { return &Collector{}, nil }

// Run implements collector.Collector.
func (c *Collector) Run(ctx context.Context) {}

// Families implements collector.Collector.
func (c *Collector) Families() []*dto.MetricFamily { return nil }

// Table lists every series of the collector: those of mapping, and those about the servers as such.
func Table() []metrics.Series { return nil }
