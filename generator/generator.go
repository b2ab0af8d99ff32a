// Package generator makes the traffic: it keeps the requests of every target flowing as its load wants them, and hands each finished
// one to the metrics. It joins load (when), workload (what), endpoint (how it is said) and transport (how it travels), which do not
// know each other.
package generator

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// Generator is the set of running targets. What it runs is changed while it runs by Plan, which may fail and changes nothing, and Commit, which
// cannot fail.
//
// Lock order: changing before mu. Sending takes neither.
type Generator struct {
	deps   Deps
	shared atomic.Pointer[budget.Account] // of all targets together; nil = there is none

	changing sync.Mutex // held while targets come and go

	mu      sync.Mutex // guards those below
	limits  Limits
	targets []*Target // of the configuration, in its order
	leaving []*Target // that it does not have any more, oldest first
	claimed []*Target // that a plan builds on
	ending  []*Target // whose goroutines have come to their end, and wait for changing
	work    *work     // that goes on; nil = nothing runs
}

// New builds all targets; nothing is sent before Run. With an error nothing is left behind.
func New(config Config, deps Deps) (*Generator, error) {
	g := &Generator{deps: deps}
	if deps.Limiter == nil {
		g.deps.Limiter = load.NewLimiter(0, 0)
	}
	g.deps.shared = &g.shared
	change, err := g.Plan(config)
	if err != nil {
		return nil, err
	}
	change.Commit()
	return g, nil
}

// Close removes the series of all targets. Not while Run runs.
func (g *Generator) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range slices.Concat(g.targets, g.leaving) {
		t.Close()
	}
	g.targets, g.leaving = nil, nil
}

// limit makes the limits those of all targets together.
func (g *Generator) limit(limits *Limits) {
	g.deps.Limiter.Configure(limits.MaxInFlight, limits.MaxRate)
	g.mu.Lock()
	old := g.limits
	g.limits = *limits
	g.mu.Unlock()
	if g.deps.Ledger == nil || old.Budget == limits.Budget {
		return
	}
	if len(limits.Budget.Limits()) == 0 {
		g.shared.Store(nil)
		return
	}
	g.shared.Store(g.deps.Ledger.Account(budget.Global, &limits.Budget))
}

// Account is that of all targets together, nil if there is none. A change may give another one.
func (g *Generator) Account() *budget.Account { return g.shared.Load() }

// living are the targets of the configuration, in its order.
func (g *Generator) living() []*Target {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.targets)
}

// Pause stops or resumes the arrivals of a target, "" = of all. Requests that run go on. What the configuration pauses is only resumed by its
// name.
func (g *Generator) Pause(target string, paused bool) error {
	found := false
	for _, t := range g.living() {
		switch {
		case target == "" && !paused && t.config.Load().pausedByFile():
		case target == "" || t.name == target:
			t.Pause(paused)
		default:
			continue
		}
		found = true
	}
	if !found {
		return fmt.Errorf("there is no target %q", target)
	}
	return nil
}

// Once sends one request of each target, side by side, and waits for them.
func (g *Generator) Once(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range g.living() {
		all.Go(func() { t.Once(ctx) })
	}
	all.Wait()
}

// Run runs all targets until ctx ends, or until each has sent as many requests as requests says, 0 = no limit, or has no more arrivals. They
// begin one after the other, so that hundreds of them do not all connect in the same instant. It returns when every request has ended, at
// most grace after that.
func (g *Generator) Run(ctx context.Context, grace time.Duration, requests int64) {
	w := g.start(ctx, &pace{grace: grace, limit: requests})
	g.release(w)
	<-w.idle
}

// Serve runs all targets that there are, and those that changes bring, until ctx ends. It returns when every request has ended, at most grace
// after that.
func (g *Generator) Serve(ctx context.Context, grace time.Duration) {
	w := g.start(ctx, &pace{grace: grace, stays: true})
	<-ctx.Done()
	g.release(w)
	<-w.idle
}
