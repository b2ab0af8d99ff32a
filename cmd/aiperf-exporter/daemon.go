package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	rungroup "github.com/oklog/run"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web"
)

// serverGrace is how long scrapes that run at the end may take.
const serverGrace = 5 * time.Second

// options of the daemon, from flags.
type daemonOptions struct {
	toolkit                *toolkit.FlagConfig
	telemetryPath          string
	externalURL            string
	routePrefix            string
	maxRequests            int
	pprof                  bool
	disableExporterMetrics bool
	grace                  time.Duration
	memoryLimitRatio       float64
}

// engine is the measuring part of the process: what is measured, and what makes the traffic.
type engine struct {
	clock     *metrics.SystemClock
	store     *metrics.Store
	registry  *prometheus.Registry
	generator *generator.Generator
	config    generator.Config
}

// newEngine wires the targets of a configuration. observer may be nil.
func newEngine(c *config.Config, gc generator.Config, logger *slog.Logger, observer generator.Observer) (*engine, error) {
	e := &engine{clock: metrics.NewSystemClock(), registry: prometheus.NewRegistry(), config: gc}
	e.store = metrics.NewStore(metrics.Options{
		Config: c.Metrics, Clock: e.clock, SLOs: c.AllSLOs(), InfoLabels: c.LabelNames(),
		ConfigHash: c.Hash(), SecretReadErrors: c.SecretReadErrors,
	})
	labelled := prometheus.WrapRegistererWith(c.Global.Labels, e.registry)
	if err := labelled.Register(e.store); err != nil {
		return nil, fmt.Errorf("register series: %w", err)
	}
	if err := labelled.Register(versioncollector.NewCollector("aiperf_exporter")); err != nil {
		return nil, fmt.Errorf("register build info: %w", err)
	}
	instance, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("host name, which tells exporters with the same targets apart: %w", err)
	}
	e.generator, err = generator.New(gc, generator.Deps{
		Clock:     e.clock,
		Store:     e.store,
		Limiter:   load.NewLimiter(gc.Limits.MaxInFlight, gc.Limits.MaxRate),
		Logger:    logger,
		Instance:  instance,
		UserAgent: "aiperf-exporter/" + version.Version,
		Redact:    c.Redactor().Redact,
		Observer:  observer,
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // names the target already
	}
	return e, nil
}

// serve runs the daemon until a signal or a fatal error, and returns the exit code. extra actors run beside it.
func serve(s *session, o *daemonOptions, c *config.Config, listening func(net.Addr), extra ...actor) int {
	logger := s.logger
	logger.Info("starting aiperf-exporter", "version", version.Info(), "build", version.BuildContext())
	setMemoryLimit(logger, o.memoryLimitRatio)
	for _, warning := range c.Warnings {
		logger.Warn("configuration", "warning", warning.String())
	}
	gc, err := c.Generator()
	if err != nil {
		logger.Error("cannot start", "err", err)
		return exitFailure
	}
	e, err := newEngine(c, gc, logger.With("component", "generator"), nil)
	if err != nil {
		logger.Error("cannot start", "err", err)
		return exitFailure
	}
	defer e.generator.Close()
	if !o.disableExporterMetrics {
		e.registry.MustRegister(
			collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsScheduler)),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		)
	}
	options, err := webOptions(o, c, e, logger)
	if err != nil {
		logger.Error("cannot start", "err", err)
		return exitFailure
	}
	handler, err := web.New(options)
	if err != nil {
		logger.Error("cannot start", "err", err)
		return exitFailure
	}
	d := &process{options: o, logger: logger, engine: e, handler: handler, server: web.Server(handler), listening: listening}
	return d.run(extra)
}

// actor is something that runs beside the daemon: run blocks until stop is called or it fails.
type actor struct {
	run  func() error
	stop func()
}

// process is the running daemon.
type process struct {
	options   *daemonOptions
	logger    *slog.Logger
	engine    *engine
	handler   *web.Handler
	server    *http.Server
	listening func(net.Addr)
}

func (d *process) run(extra []actor) int {
	var group rungroup.Group
	signals := newSignals(d.logger)
	group.Add(signals.run, signals.stop)

	// The actors are interrupted in this order. The web server is the last: metrics stay readable while requests end.
	ctx, cancel := context.WithCancel(context.Background())
	drained := make(chan struct{})
	ready := make(chan struct{})
	group.Add(func() error {
		defer close(drained)
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
		d.handler.SetReady(true)
		notify("READY=1")
		d.logger.Info("traffic starts", "targets", len(d.engine.config.Targets))
		d.engine.generator.Run(ctx, d.options.grace, 0)
		<-ctx.Done() // all targets may be gone, the daemon stays
		return nil
	}, func(error) {
		d.handler.SetReady(false)
		notify("STOPPING=1")
		cancel()
	})
	for _, a := range extra {
		group.Add(a.run, func(error) {
			<-drained
			a.stop()
		})
	}
	d.server.BaseContext = d.baseContext(ready)
	group.Add(func() error {
		err := toolkit.ListenAndServe(d.server, d.options.toolkit, d.logger.With("component", "web"))
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("web server: %w", err)
	}, func(error) {
		<-drained
		ctx, cancel := context.WithTimeout(context.Background(), serverGrace)
		defer cancel()
		if err := d.server.Shutdown(ctx); err != nil {
			d.logger.Warn("web server did not end in time", "err", err)
		}
	})
	err := group.Run()
	switch {
	case errors.Is(err, errSecondSignal):
		return exitKilled
	case errors.Is(err, errSignal) || err == nil:
		d.logger.Info("stopped")
		return exitOK
	}
	d.logger.Error("stopped", "err", err)
	return exitFailure
}

// baseContext tells when the first listener is open.
func (d *process) baseContext(ready chan struct{}) func(net.Listener) context.Context {
	first := true
	return func(l net.Listener) context.Context {
		if first {
			first = false
			if d.listening != nil {
				d.listening(l.Addr())
			}
			close(ready)
		}
		return context.Background()
	}
}

func webOptions(o *daemonOptions, c *config.Config, e *engine, logger *slog.Logger) (*web.Options, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	return &web.Options{
		Registry:          e.registry,
		Logger:            logger.With("component", "web"),
		Start:             e.clock.Wall(0),
		Version:           version.Version,
		TelemetryPath:     o.telemetryPath,
		RoutePrefix:       o.prefix(),
		MaxRequests:       o.maxRequests,
		InstrumentHandler: !o.disableExporterMetrics,
		Pprof:             o.pprof,
		Config:            text,
		ConfigHash:        c.Hash(),
		Targets:           func() []web.Target { return pageTargets(e.config.Targets) },
	}, nil
}

func pageTargets(targets []generator.TargetConfig) []web.Target {
	var out []web.Target
	for i := range targets {
		t := &targets[i]
		var slos []string
		for _, slo := range t.SLOs {
			slos = append(slos, slo.Name)
		}
		out = append(out, web.Target{
			Name: t.Name, Model: t.Model, URL: t.PublicURL(), Endpoint: string(t.Endpoint.Type), Workload: t.WorkloadName,
			Load: fmt.Sprintf("%s, %s %.4g/s", t.LoadName, t.Load.Mode, t.Load.Hz()), SLOs: strings.Join(slos, ", "),
		})
	}
	return out
}
