// Package generator makes the traffic: it keeps the requests of every target flowing as its load wants them, and hands each finished
// one to the metrics. It joins load (when), workload (what), endpoint (how it is said) and transport (how it travels), which do not
// know each other.
package generator

import (
	"context"
	"sync"
	"time"
)

// Generator is the set of running targets.
type Generator struct {
	targets []*Target
}

// New builds all targets; nothing is sent before Run. With an error nothing is left behind.
func New(config Config, deps Deps) (*Generator, error) {
	g := &Generator{}
	for _, tc := range config.Targets {
		t, err := NewTarget(tc, deps)
		if err != nil {
			g.Close()
			return nil, err
		}
		g.targets = append(g.targets, t)
	}
	return g, nil
}

// Close removes the series of all targets. Not while Run runs.
func (g *Generator) Close() {
	for _, t := range g.targets {
		t.Close()
	}
}

// Run runs all targets until ctx ends, or until each has sent as many requests as requests says, 0 = no limit. It returns when every
// request has ended, at most grace after that.
func (g *Generator) Run(ctx context.Context, grace time.Duration, requests int64) {
	var all sync.WaitGroup
	for _, t := range g.targets {
		all.Go(func() { t.Run(ctx, grace, requests) })
	}
	all.Wait()
}

// Once sends one request of each target, side by side, and waits for them.
func (g *Generator) Once(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range g.targets {
		all.Go(func() { t.Once(ctx) })
	}
	all.Wait()
}
