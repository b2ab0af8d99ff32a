package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/version"

	"github.com/aiperf-exporter/aiperf-exporter/capture"
	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server"
	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/history"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
	"github.com/aiperf-exporter/aiperf-exporter/probe"
	"github.com/aiperf-exporter/aiperf-exporter/reload"
	"github.com/aiperf-exporter/aiperf-exporter/selftest"
)

// engine is everything that measures: what makes the traffic, what is measured and remembered of it, and those outside that are read and told. Its
// rooms are made once. What a configuration asks of them changes while they run, see change.
type engine struct {
	session  *session
	logger   *slog.Logger
	clock    *metrics.SystemClock
	instance string

	own         *prometheus.Registry // of the process: go_*, process_*, promhttp_*, prometheus_sd_*
	store       *metrics.Store
	poller      *transport.Poller
	ledger      *budget.Ledger
	limiter     *load.Limiter
	generator   *generator.Generator
	watch       *selftest.Watch
	servers     *server.Collector
	gpus        *gpu.Collector
	exporter    *otlp.Exporter
	conventions *genai.Observer
	history     *history.History
	captures    *capture.Ring
	discovery   *discovery.Discovery
	prober      *probe.Prober

	redaction redaction
	start     *config.Config
	effect    atomic.Pointer[effect]
	reading   reload.Apart // where the files are read
	planning  sync.Mutex   // held while a change is prepared
	// showing is held for reading while everything is gathered, and for writing while the series of a target go: either all of them are seen or none.
	showing sync.RWMutex
}

// effect is what a configuration has brought about beside what the rooms keep themselves. It does not change.
type effect struct {
	config   *config.Config // with the discovered targets
	loaded   time.Time      // when its files were
	restart  []string       // keys that the files have otherwise than the process
	dropped  []discovery.Dropped
	targets  []targetConfig
	gatherer prometheus.Gatherer
}

// newEngine wires a configuration, of whose targets gc has those that are wanted.
func newEngine(s *session, c *config.Config, gc generator.Config, watchers watchers, logger *slog.Logger) (*engine, error) {
	e := &engine{session: s, logger: logger, clock: metrics.NewSystemClock(), own: prometheus.NewRegistry()}
	var err error
	if e.instance, err = s.instance(); err != nil {
		return nil, err
	}
	if e.ledger, err = budget.Open(s.stateFile); err != nil {
		return nil, fmt.Errorf("--budget.state-file: %w", err)
	}
	if err := e.build(c, &gc, watchers); err != nil {
		e.close(logger)
		return nil, err
	}
	return e, nil
}

// build makes the rooms, each with those that it needs.
func (e *engine) build(c *config.Config, gc *generator.Config, watchers watchers) error {
	e.start = c
	first := &effect{config: c, loaded: time.Now(), targets: gc.Targets}
	e.effect.Store(first)
	e.redaction.learn(c.Redactor())
	var err error
	if e.poller, err = transport.NewPoller(e.clock); err != nil {
		return err
	}
	e.store = metrics.NewStore(metrics.Options{Config: c.Metrics, Clock: e.clock, Settings: e.settings(c, gc)})
	e.limiter = load.NewLimiter(gc.Limits.MaxInFlight, gc.Limits.MaxRate)
	e.history = history.New(historyConfig(c), history.Deps{Clock: e.clock, Redact: e.redaction.Redact})
	e.captures = capture.New(c.Debug.Capture.Ring(), capture.Deps{Clock: e.clock, Redactor: &e.redaction, Version: version.Version})
	e.discovery, err = discovery.New(discovery.Deps{
		Now: time.Now, Logger: e.component("discovery"), Registerer: e.own, Redact: e.redaction.Redact, Panicked: e.panicked(metrics.ComponentDiscovery),
	})
	if err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	if err = e.buildOthers(c, gc.Targets, watchers); err != nil {
		return err
	}
	measuring := e.component("generator")
	e.watch = selftest.New(c.SelfTest, selftest.Deps{Clock: e.clock, Store: e.store, Poller: e.poller, Logger: measuring, Root: os.DirFS("/")})
	e.generator, err = generator.New(*gc, generator.Deps{
		Clock:     e.clock,
		Store:     e.store,
		Poller:    e.poller,
		Limiter:   e.limiter,
		Ledger:    e.ledger,
		Shard:     e.session.shard,
		Logger:    measuring,
		Instance:  e.instance,
		UserAgent: userAgent(),
		Redact:    e.redaction.Redact,
		Trace:     e.exporter.Trace,
		Observer:  e.observers(watchers),
		Tape:      e.tape,
		Removed:   e.removed,
	})
	if err != nil {
		return err
	}
	e.prober = e.newProber()
	e.history.SetTargets(remembered(gc.Targets))
	if first.gatherer, err = e.gatherer(c); err != nil {
		return err
	}
	return nil
}

// component is the logger of a part.
func (e *engine) component(name string) *slog.Logger {
	return e.logger.With(slog.String("component", name))
}

// panicked counts what a room has caught and logged.
func (e *engine) panicked(in metrics.Component) func(any) {
	return func(any) { e.store.Panicked(in) }
}

// close ends what was started. Traffic that still runs gets no answers any more.
func (e *engine) close(logger *slog.Logger) {
	if e.prober != nil {
		e.prober.Close()
	}
	if e.poller != nil {
		e.poller.Close()
	}
	if err := e.ledger.Close(); err != nil {
		logger.Error("what budgets have spent could not be written", slog.Any("err", err))
	}
}

// watched does work, and until its end reads what others say of themselves, and watches whether this process can be trusted.
func (e *engine) watched(ctx context.Context, work func(context.Context)) {
	watch, stop := context.WithCancel(context.WithoutCancel(ctx)) // requests may end when ctx has ended
	var watching sync.WaitGroup
	for _, part := range []func(context.Context){e.watch.Run, e.servers.Run, e.gpus.Run, e.exporter.Run} {
		watching.Go(func() { part(watch) })
	}
	defer watching.Wait()
	defer stop()
	work(ctx)
}

// Gather implements prometheus.Gatherer: everything that there is to be shown.
func (e *engine) Gather() ([]*dto.MetricFamily, error) {
	e.showing.RLock()
	defer e.showing.RUnlock()
	return e.effect.Load().gatherer.Gather()
}

// removed ends all that is shown and remembered of targets whose last requests have ended. What was captured stays: that a target is gone may well be
// what somebody looks into.
func (e *engine) removed(targets []string, series func()) {
	e.exporter.Removing(targets...)
	e.showing.Lock()
	series()
	for _, target := range targets {
		e.servers.Remove(target)
		e.gpus.Remove(target)
	}
	e.showing.Unlock()
	for _, target := range targets {
		e.conventions.Remove(target)
		e.history.Forget(target)
	}
}

// tape tells how much is to be recorded of a target's exchanges.
func (e *engine) tape(target string) (maxBytes int) {
	return max(e.history.Tape(target), e.captures.Tape(target))
}
