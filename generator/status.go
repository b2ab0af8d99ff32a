package generator

import (
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Status is what a target does at one moment.
type Status struct {
	Config *TargetConfig // the newest; not to be changed
	State  metrics.TargetState
	// Since is when that state began; zero = nobody knows.
	Since time.Time
	// Generation counts the configurations that the target has had, from 1.
	Generation int
	// RateHz is the rate of arrivals that is wanted now, per second. RateKnown is false where the server or a recording sets it.
	RateHz    float64
	RateKnown bool
	InFlight  int // requests that run
	// Budget is what is used of its own limits.
	Budget []budget.Use
}

// Status tells of all targets, those that leave and are not gone included. It waits for none of them.
func (g *Generator) Status() []Status {
	g.mu.Lock()
	targets := slices.Concat(g.targets, g.leaving)
	g.mu.Unlock()
	out := make([]Status, 0, len(targets))
	for _, t := range targets {
		out = append(out, t.status())
	}
	return out
}

func (t *Target) status() Status {
	now := t.deps.Clock.Now()
	wall := t.deps.Clock.Wall(now)
	does := t.state.Load()
	s := Status{
		Config: t.config.Load(), State: does.state, Since: t.deps.Clock.Wall(does.at), Generation: int(t.revisions.Load()),
		InFlight: t.gate.InFlight(),
	}
	if _, schedule := t.totals.now(); schedule != nil {
		s.RateHz, s.RateKnown = schedule.Rate(now)
	}
	if account := t.account.Load(); account != nil {
		s.Budget = account.State(wall)
	}
	if at := t.pausedAt.Load(); at != 0 && s.State != metrics.StateDraining && s.State != metrics.StateFailed {
		s.State, s.Since = metrics.StatePaused, t.deps.Clock.Wall(at)
		return s
	}
	if s.State != metrics.StateRunning {
		return s
	}
	switch {
	case t.spent(wall):
		s.State, s.Since = metrics.StateBudget, time.Time{}
	case t.current.Load().backoff.Active(now):
		s.State, s.Since = metrics.StateBackoff, time.Time{}
	}
	return s
}
