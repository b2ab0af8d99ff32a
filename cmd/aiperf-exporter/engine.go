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
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/selftest"
)

// engine is the measuring part of the process: what is measured, and what makes the traffic.
type engine struct {
	logger    *slog.Logger
	clock     *metrics.SystemClock
	registry  *prometheus.Registry
	generator *generator.Generator
	targets   []generator.TargetConfig
	watch     *selftest.Watch
	poller    *transport.Poller
	ledger    *budget.Ledger
	others    *others
	// gatherer is everything that is shown: what is measured, and what others say of themselves.
	gatherer prometheus.Gatherer
}

// newEngine wires the targets of a configuration.
func newEngine(s *session, c *config.Config, gc generator.Config, watchers watchers, logger *slog.Logger) (*engine, error) {
	e := &engine{logger: logger, clock: metrics.NewSystemClock(), registry: prometheus.NewRegistry(), targets: gc.Targets}
	var err error
	if e.ledger, err = budget.Open(s.stateFile); err != nil {
		return nil, fmt.Errorf("--budget.state-file: %w", err)
	}
	if err := e.build(s, c, gc, watchers, logger); err != nil {
		e.close(logger)
		return nil, err
	}
	return e, nil
}

// build makes everything that works with the ledger.
func (e *engine) build(s *session, c *config.Config, gc generator.Config, watchers watchers, logger *slog.Logger) error {
	options := metrics.Options{
		Config: c.Metrics, Clock: e.clock, SLOs: c.AllSLOs(), InfoLabels: c.LabelNames(),
		ConfigHash: c.Hash(), SecretReadErrors: c.SecretReadErrors,
	}
	shared := e.sharedBudget(&gc.Limits.Budget, &options)
	store := metrics.NewStore(options)
	labelled := prometheus.WrapRegistererWith(c.Global.Labels, e.registry)
	if err := labelled.Register(store); err != nil {
		return fmt.Errorf("register series: %w", err)
	}
	if err := labelled.Register(versioncollector.NewCollector("aiperf_exporter")); err != nil {
		return fmt.Errorf("register build info: %w", err)
	}
	instance, err := s.instance()
	if err != nil {
		return err
	}
	if e.others, err = newOthers(c, e, watchers, instance); err != nil {
		return err
	}
	if e.poller, err = transport.NewPoller(e.clock); err != nil {
		return err
	}
	measuring := logger.With(slog.String("component", "generator"))
	e.watch = selftest.New(c.SelfTest, selftest.Deps{Clock: e.clock, Store: store, Poller: e.poller, Logger: measuring, Root: os.DirFS("/")})
	e.generator, err = generator.New(gc, generator.Deps{
		Clock:     e.clock,
		Store:     store,
		Poller:    e.poller,
		Limiter:   load.NewLimiter(gc.Limits.MaxInFlight, gc.Limits.MaxRate),
		Ledger:    e.ledger,
		Budget:    shared,
		Shard:     s.shard,
		Logger:    measuring,
		Instance:  instance,
		UserAgent: program + "/" + version.Version,
		Redact:    c.Redactor().Redact,
		Trace:     e.others.trace,
		Observer:  e.others.observer,
	})
	return err
}

// sharedBudget opens the account of all targets together, nil if they have none, and puts it into the series.
func (e *engine) sharedBudget(c *budget.Config, options *metrics.Options) *budget.Account {
	options.Budget = generator.BudgetLimits(c)
	var account *budget.Account
	if len(options.Budget) > 0 {
		account = e.ledger.Account(budget.Global, c)
	}
	options.Budgets = func() (used []float64, writable bool) {
		if account != nil {
			for _, use := range account.State(e.clock.Wall(e.clock.Now())) {
				used = append(used, use.Used)
			}
		}
		return used, e.ledger.Err() == nil
	}
	return account
}

// close ends what was started. Traffic that still runs gets no answers any more.
func (e *engine) close(logger *slog.Logger) {
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
	watching.Go(func() { e.watch.Run(watch) })
	for _, c := range e.others.collectors {
		watching.Go(func() { c.Run(watch) })
	}
	defer watching.Wait()
	defer stop()
	work(ctx)
}
