package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/reload"
	"github.com/aiperf-exporter/aiperf-exporter/status"
	"github.com/aiperf-exporter/aiperf-exporter/systemd"
	"github.com/aiperf-exporter/aiperf-exporter/web"
)

// daemonOptions are what its flags say.
type daemonOptions struct {
	toolkit                *toolkit.FlagConfig
	telemetryPath          string
	externalURL            string
	routePrefix            string
	maxRequests            int
	lifecycle              bool
	adminAPI               bool
	pprof                  bool
	disableExporterMetrics bool
	autoReload             time.Duration
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
	failures := &failureNotes{}
	e, err := newEngine(s, c, gc, watchers{requests: failures}, logger)
	if err != nil {
		logger.Error("cannot start", slog.Any("err", err))
		return exitFailure
	}
	defer e.close(s.logger)
	if s.stateFile == "" && budgeted(&gc) {
		logger.Warn("a restart forgets what budgets have spent, unless --budget.state-file names a file to keep it in")
	}
	p := &process{
		options: o, logger: logger, stderr: s.stderr, engine: e, listening: listening, extra: extra, manager: systemd.New(logger), quit: make(chan struct{}, 1),
	}
	if err := p.build(); err != nil {
		logger.Error("cannot start", slog.Any("err", err))
		return exitFailure
	}
	failures.handler.Store(p.handler)
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

// build makes what changes the configuration, and what is served.
func (p *process) build() error {
	e, o := p.engine, p.options
	if err := e.discovery.Apply(e.start.Discovery()); err != nil {
		return fmt.Errorf("target_discovery: %w", err)
	}
	if !o.disableExporterMetrics {
		e.own.MustRegister(
			collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: delays})),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		)
	}
	p.reloads = reload.New(reload.Deps{
		Reload: e.reload, Refresh: e.refresh, Refreshed: e.discovery.Changed(), Ticks: p.ticks(),
		Fingerprint: func() string { return reload.Fingerprint(e.session.files) },
		Now:         time.Now, Begin: p.manager.Reloading, Done: p.reloaded, Logger: e.component("reload"),
	}, e.session.fingerprint)
	options := p.webOptions()
	var err error
	if p.handler, err = web.New(options); err != nil {
		return err
	}
	p.server = web.Server(p.handler, options.Logger)
	return nil
}

// ticks are when to look at the files, nil = never.
func (p *process) ticks() <-chan time.Time {
	if p.options.autoReload == 0 {
		return nil
	}
	p.ticker = time.NewTicker(p.options.autoReload)
	return p.ticker.C
}

// webOptions are what is served, and what may be done there.
func (p *process) webOptions() *web.Options {
	e, o := p.engine, p.options
	logger := e.component("web")
	captured := func(string) bool { return false } // nobody can have them
	if o.adminAPI {
		captured = e.captures.Has
	}
	p.status = status.New(status.Deps{
		Clock: e.clock, Version: version.Version, State: func() string { return p.handler.State() }, Effect: e.inEffect, Reload: p.reloads.Last,
		Discovery: e.discovery, Store: e.store, Generator: e.generator, History: e.history, Captured: captured, Servers: e.servers, GPUs: e.gpus,
		Exporter: e.exporter, Flags: e.session.flags,
	})
	options := &web.Options{
		Registry:          e.own,
		Gatherer:          e,
		Logger:            logger,
		Panicked:          e.panicked(metrics.ComponentWeb),
		Start:             e.clock.Wall(0),
		Version:           version.Version,
		TelemetryPath:     o.telemetryPath,
		RoutePrefix:       o.prefix(),
		MaxRequests:       o.maxRequests,
		InstrumentHandler: !o.disableExporterMetrics,
		Pprof:             o.pprof,
		Probe:             web.NewProbe(e.prober, logger, o.adminAPI),
		Rules:             alerts.Rules(),
		Daemon:            p.status,
	}
	if o.lifecycle {
		options.Controls.Reload, options.Controls.Quit = p.reload, p.stop
	}
	if o.adminAPI {
		options.Controls.Pause, options.Captures = e.generator.Pause, e.captures
	}
	return options
}

// inEffect is the configuration as pages show it.
func (e *engine) inEffect() status.Effect {
	now := e.effect.Load()
	return status.Effect{Config: now.config, Loaded: now.loaded, RestartRequired: now.restart, Dropped: now.dropped}
}

// reload is asked for over HTTP.
func (p *process) reload(ctx context.Context) error {
	err := p.reloads.Reload(ctx)
	if errors.Is(err, reload.ErrRunning) {
		return web.ErrReloading
	}
	return err
}

// reloaded tells everybody how an attempt went.
func (p *process) reloaded(r reload.Result) {
	e := p.engine
	if r.Trigger != reload.Discovery {
		e.store.Reloaded(r.At, r.Err == nil)
		if r.Err == nil {
			for _, key := range e.effect.Load().restart {
				e.logger.Warn("a change of the configuration waits for a restart", slog.String("key", key))
			}
		}
	}
	if r.Trigger == reload.Discovery {
		p.manager.Status(p.line())
	} else {
		p.manager.Ready(p.line())
	}
	p.handler.Notify("reload")
}

// stop is asked for over HTTP.
func (p *process) stop() {
	select {
	case p.quit <- struct{}{}:
	default: // it was asked for already
	}
}

// failureNotes tells those who look at the page of failures, once there is a page.
type failureNotes struct{ handler atomic.Pointer[web.Handler] }

// Finished implements generator.Observer.
func (n *failureNotes) Finished(_ string, r *metrics.Record, _ *metrics.Measures, _ []metrics.Verdict) {
	if handler := n.handler.Load(); handler != nil && r.Outcome == metrics.Failure {
		handler.Notify("failure")
	}
}

// Dropped implements generator.Observer.
func (*failureNotes) Dropped(string, metrics.DropReason, int64) {}
