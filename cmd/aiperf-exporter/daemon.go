package main

import (
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/web"
)

// daemonOptions are what its flags say.
type daemonOptions struct {
	toolkit                *toolkit.FlagConfig
	telemetryPath          string
	externalURL            string
	routePrefix            string
	maxRequests            int
	adminAPI               bool
	pprof                  bool
	disableExporterMetrics bool
	grace                  time.Duration
	finalScrape            time.Duration
	memoryLimitRatio       float64
}

// serve runs the daemon until a signal or a fatal error, and returns the exit code. listening, if not nil, is told the address once
// it is open; extra actors run beside the daemon, from before the first request until after the last.
func serve(s *session, o *daemonOptions, c *config.Config, gc generator.Config, listening func(net.Addr), extra ...actor) int {
	logger := s.logger
	logger.Info("starting aiperf-exporter", slog.String("version", version.Info()), slog.String("build", version.BuildContext()))
	setMemoryLimit(logger, o.memoryLimitRatio)
	for _, warning := range c.Warnings {
		logger.Warn("configuration", slog.String("warning", warning.String()))
	}
	e, err := newEngine(s, c, gc, watchers{}, logger)
	if err != nil {
		logger.Error("cannot start", slog.Any("err", err))
		return exitFailure
	}
	defer e.close(s.logger)
	if s.stateFile == "" && budgeted(&gc) {
		logger.Warn("a restart forgets what budgets have spent, unless --budget.state-file names a file to keep it in")
	}
	webLogger := logger.With(slog.String("component", "web"))
	handler, err := newHandler(o, c, e, webLogger)
	if err != nil {
		e.generator.Close()
		logger.Error("cannot start", slog.Any("err", err))
		return exitFailure
	}
	p := &process{
		options: o, logger: logger, stderr: s.stderr, engine: e, handler: handler, server: web.Server(handler, webLogger),
		listening: listening, extra: extra,
	}
	return p.run()
}

// budgeted tells whether anything limits what is spent.
func budgeted(gc *generator.Config) bool {
	limited := func(t targetConfig) bool { return len(t.Budget.Limits()) > 0 }
	return len(gc.Limits.Budget.Limits()) > 0 || slices.ContainsFunc(gc.Targets, limited)
}

// delays are the histograms of the Go runtime of how long this process held its own goroutines up: ready ones waited for a processor, all stood
// still for the garbage collector.
var delays = regexp.MustCompile(`^/sched/(latencies|pauses/total/gc):seconds$`)

// newHandler makes what the daemon serves.
func newHandler(o *daemonOptions, c *config.Config, e *engine, logger *slog.Logger) (*web.Handler, error) {
	if !o.disableExporterMetrics {
		e.registry.MustRegister(
			collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: delays})),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		)
	}
	text, err := c.YAML()
	if err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	options := &web.Options{
		Registry:          e.registry,
		Gatherer:          e.gatherer,
		Logger:            logger,
		Start:             e.clock.Wall(0),
		Version:           version.Version,
		TelemetryPath:     o.telemetryPath,
		RoutePrefix:       o.prefix(),
		MaxRequests:       o.maxRequests,
		InstrumentHandler: !o.disableExporterMetrics,
		Pprof:             o.pprof,
		Config:            text,
		ConfigHash:        c.Hash(),
		Targets:           func() []web.Target { return pageTargets(e.targets) },
	}
	if o.adminAPI {
		options.Pause = e.generator.Pause
	}
	return web.New(options)
}

func pageTargets(targets []generator.TargetConfig) []web.Target {
	out := make([]web.Target, 0, len(targets))
	for i := range targets {
		t := &targets[i]
		slos := make([]string, 0, len(t.SLOs))
		for _, slo := range t.SLOs {
			slos = append(slos, slo.Name)
		}
		out = append(out, web.Target{
			Name: t.Name, Model: t.Model, URL: t.PublicURL(), Endpoint: string(t.Endpoint.Type), Workload: t.WorkloadName,
			Load: describeLoad(t), SLOs: strings.Join(slos, ", "),
		})
	}
	return out
}

// describeLoad says how often requests come: per second, or where they are rare by the time between two.
func describeLoad(t *generator.TargetConfig) string {
	hz, steady := t.Load.Steady()
	switch {
	case t.Load.Paused || t.Paused:
		return t.LoadName + ", paused"
	case !steady:
		return fmt.Sprintf("%s, %s", t.LoadName, t.Load.Mode)
	case hz < 0.1:
		between := time.Duration(float64(time.Second) / hz).Round(time.Millisecond)
		return fmt.Sprintf("%s, %s every %v", t.LoadName, t.Load.Mode, between)
	}
	return fmt.Sprintf("%s, %s %.4g/s", t.LoadName, t.Load.Mode, hz)
}
