package selftest

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const (
	// targetName stands in logs only: the null target is not among the targets of the configuration.
	targetName   = "selftest"
	promptTokens = 8
	// grace is for the request that runs when everything ends, enough for it on a host that is well.
	grace = time.Second
)

// test measures the null target until ctx ends. Where that cannot be done at all, it has failed once.
func (w *Watch) test(ctx context.Context) {
	err := w.testServer(ctx)
	if err == nil {
		return
	}
	w.deps.Logger.Error("the exporter cannot test itself", slog.Any("err", err))
	w.series.Finished(w.deps.Clock.Now(), metrics.Failure, nil)
}

// testServer serves the null target for as long as it is measured.
func (w *Watch) testServer(ctx context.Context) error {
	s, err := listen(ctx, func(cause any) {
		w.deps.Store.Panicked(metrics.ComponentTarget)
		w.deps.Logger.Error("panic", slog.Any("err", cause), slog.String("stack", string(debug.Stack())))
	})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // until the last request has ended
	var served sync.WaitGroup
	defer served.Wait()
	defer stop()
	served.Go(func() { s.serve(serving) })
	return w.measure(ctx, s.url(), 0)
}

// measure keeps requests going to the null target at url as they go to any target, by the same code, until ctx ends or so many have been
// sent; 0 = no limit. What that code counts goes into a store of its own that nobody reads.
func (w *Watch) measure(ctx context.Context, url string, requests int64) error {
	target, err := generator.NewTarget(w.targetConfig(url), generator.Deps{ //nolint:contextcheck // what it keeps is ended by Close
		Clock:     w.deps.Clock,
		Store:     metrics.NewStore(metrics.Options{Config: metrics.DefaultConfig(), Clock: w.deps.Clock}),
		Poller:    w.deps.Poller,
		Limiter:   load.NewLimiter(0, 0),
		Logger:    w.deps.Logger,
		UserAgent: targetName,
		Observer:  &judge{series: w.series},
	})
	if err != nil {
		return err
	}
	defer target.Close()
	target.Run(ctx, grace, requests)
	return nil
}

// targetConfig is that of a usual target, in small.
func (w *Watch) targetConfig(url string) generator.TargetConfig {
	c := generator.TargetConfig{
		Name: targetName, Model: targetName, URL: url, WorkloadName: targetName, LoadName: targetName,
		Endpoint: endpoint.Config{Type: endpoint.Chat, MaxTokensField: endpoint.FieldAuto},
		Workload: workload.DefaultConfig(),
		Load:     load.DefaultConfig(),
		Client:   transport.DefaultConfig(),
	}
	c.Workload.InputTokens.Mean, c.Workload.OutputTokens.Mean = promptTokens, contentEvents
	c.Load.Interval, c.Load.MaxInFlight = w.config.Interval, 1
	c.Client.Timeouts = transport.Timeouts{Connect: time.Second, FirstToken: 2 * time.Second, Idle: time.Second, Total: 5 * time.Second}
	return c
}

// judge is a generator.Observer that compares what was measured with the plan.
type judge struct{ series *metrics.SelfTest }

// Finished implements generator.Observer.
func (j *judge) Finished(_ string, r *metrics.Record, _ *metrics.Measures, _ []metrics.Verdict) {
	outcome := r.Outcome
	if outcome == metrics.Success && len(r.Content) != contentEvents {
		outcome = metrics.Failure // measured something, but not this stream
	}
	j.series.Finished(r.Time.End, outcome, errorsOf(r))
}

// Dropped implements generator.Observer. An arrival is dropped while the request before it is late, whose events tell the error.
func (*judge) Dropped(string, metrics.DropReason, int64) {}
