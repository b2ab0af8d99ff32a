// Package generator makes the traffic: it keeps the requests of every target flowing as its load wants them, and hands each finished
// one to the metrics. It joins load (when), workload (what), endpoint (how it is said) and transport (how it travels), which do not
// know each other.
package generator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
)

// Generator is the set of running targets.
type Generator struct {
	targets      []*Target
	maxStartRate float64 // targets per second
}

// New builds all targets; nothing is sent before Run. With an error nothing is left behind.
func New(config Config, deps Deps) (*Generator, error) {
	g := &Generator{maxStartRate: config.Limits.MaxStartRate}
	if deps.Tokenizers == nil {
		deps.Tokenizers = &tokenizer.Shelf{}
	}
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

// Run runs all targets until ctx ends, or until each has sent as many requests as requests says, 0 = no limit, or has no more arrivals. They
// begin one after the other, so that hundreds of them do not all connect in the same instant. It returns when every request has ended, at
// most grace after that.
func (g *Generator) Run(ctx context.Context, grace time.Duration, requests int64) {
	var all sync.WaitGroup
	for i, t := range g.targets {
		delay := time.Duration(0)
		if g.maxStartRate > 0 {
			delay = time.Duration(float64(i) / g.maxStartRate * float64(time.Second))
		}
		all.Go(func() {
			if delay == 0 || sleep(ctx, delay) {
				t.Run(ctx, grace, requests)
			}
		})
	}
	all.Wait()
}

// Pause stops or resumes the arrivals of a target, "" = of all. Requests that run go on. What the configuration pauses is only resumed by its
// name.
func (g *Generator) Pause(target string, paused bool) error {
	found := false
	for _, t := range g.targets {
		switch {
		case target == "" && !paused && t.config.pausedByFile():
		case target == "" || t.config.Name == target:
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
	for _, t := range g.targets {
		all.Go(func() { t.Once(ctx) })
	}
	all.Wait()
}
