package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/version"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/selftest"
)

// engine is the measuring part of the process: what is measured, and what makes the traffic.
type engine struct {
	clock     *metrics.SystemClock
	registry  *prometheus.Registry
	generator *generator.Generator
	targets   []generator.TargetConfig
	watch     *selftest.Watch
	poller    *transport.Poller
}

// newEngine wires the targets of a configuration. observer may be nil.
func newEngine(c *config.Config, gc generator.Config, logger *slog.Logger, observer generator.Observer) (*engine, error) {
	e := &engine{clock: metrics.NewSystemClock(), registry: prometheus.NewRegistry(), targets: gc.Targets}
	store := metrics.NewStore(metrics.Options{
		Config: c.Metrics, Clock: e.clock, SLOs: c.AllSLOs(), InfoLabels: c.LabelNames(),
		ConfigHash: c.Hash(), SecretReadErrors: c.SecretReadErrors,
	})
	labelled := prometheus.WrapRegistererWith(c.Global.Labels, e.registry)
	if err := labelled.Register(store); err != nil {
		return nil, fmt.Errorf("register series: %w", err)
	}
	if err := labelled.Register(versioncollector.NewCollector("aiperf_exporter")); err != nil {
		return nil, fmt.Errorf("register build info: %w", err)
	}
	instance, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("host name, which tells exporters with the same targets apart: %w", err)
	}
	if e.poller, err = transport.NewPoller(e.clock); err != nil {
		return nil, err
	}
	e.watch = selftest.New(c.SelfTest, selftest.Deps{Clock: e.clock, Store: store, Poller: e.poller, Logger: logger, Root: os.DirFS("/")})
	e.generator, err = generator.New(gc, generator.Deps{
		Clock:     e.clock,
		Store:     store,
		Poller:    e.poller,
		Limiter:   load.NewLimiter(gc.Limits.MaxInFlight, gc.Limits.MaxRate),
		Logger:    logger,
		Instance:  instance,
		UserAgent: program + "/" + version.Version,
		Redact:    c.Redactor().Redact,
		Observer:  observer,
	})
	if err != nil {
		e.poller.Close()
		return nil, err
	}
	return e, nil
}

// close ends what was started. Traffic that still runs gets no answers any more.
func (e *engine) close() { e.poller.Close() }

// watched does work, and watches until its end whether this process can be trusted.
func (e *engine) watched(ctx context.Context, work func(context.Context)) {
	watch, stop := context.WithCancel(context.WithoutCancel(ctx)) // requests may end when ctx has ended
	var watching sync.WaitGroup
	watching.Go(func() { e.watch.Run(watch) })
	defer watching.Wait()
	defer stop()
	work(ctx)
}
