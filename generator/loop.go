package generator

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// loop turns the schedule of one target into requests. Only its own goroutine touches it; requests run on goroutines of their own, tell
// their end through wake, and are waited for in drain.
type loop struct {
	target       *Target
	config       *TargetConfig // that its schedule follows
	schedule     *load.Schedule
	cancellation *load.Cancellation
	gate         *load.Gate
	pins         []pin // what queued arrivals are asked by that wait since before a change, oldest first
	pace         *pace
	sent         int64
	admitted     int64         // sent, or queued to be sent
	left         bool          // the drain began because the target was to leave
	wake         chan struct{} // a slot has become free, or something is to be done; holds at most one
	timer        *time.Timer
	running      sync.WaitGroup

	requests context.Context // of all requests: ended by cancel when they have had their time, not with the context of run
	cancel   context.CancelCauseFunc

	calibrating  context.Context
	calibrations sync.WaitGroup

	mu    sync.Mutex
	ended []ended // requests, of which the schedule has not heard yet
}

// pace is how long a loop goes on.
type pace struct {
	grace time.Duration // for requests that run in the end
	limit int64         // of sent arrivals, 0 = none
	stays bool          // where there are no more arrivals it waits for a change that brings some
}

// ended is an arrival whose request ran from one instant to another.
type ended struct {
	arrival  load.Arrival
	from, to int64
}

// begin anchors the schedule.
func (l *loop) begin() {
	content := l.target.current.Load().content
	content.startUsers(l.config)
	l.schedule = load.NewSchedule(&l.config.Load, l.origin(), content.recording(&l.config.Load))
	l.target.totals.follow(l.schedule)
}

// origin is that of a schedule which begins now.
func (l *loop) origin() *load.Origin {
	t, c := l.target, l.config
	now := t.deps.Clock.Now()
	return &load.Origin{
		Anchor: now, Wall: t.deps.Clock.Wall(now).UnixNano(), Seed: c.Seed, Target: c.Name, Instance: t.deps.Instance,
		Shard: t.deps.Shard, Turns: c.Workload.MeanTurns(),
	}
}

// runSafely is run, with a panic caught and counted; it returns false then.
func (l *loop) runSafely(ctx context.Context) (done bool) {
	defer func() {
		if cause := recover(); cause != nil {
			l.target.caught(metrics.ComponentTarget, cause)
		}
	}()
	l.run(ctx)
	return true
}

func (l *loop) run(ctx context.Context) {
	for !l.complete() && !l.target.leaving.Load() {
		l.takeRevisions(!l.target.paused())
		if l.target.paused() {
			if !l.rest(ctx) {
				return
			}
			continue
		}
		next, known := l.schedule.Peek()
		if !known && l.exhausted() {
			return
		}
		if !l.wait(ctx, next, known) {
			return
		}
		now := l.target.deps.Clock.Now()
		l.takeEnded()
		l.takeQueued(now)
		if known && now >= next && !l.target.leaving.Load() {
			if l.target.deps.Store.WokeUp(next, now) {
				l.target.deps.Logger.Warn("the wall clock was set; schedules and latencies do not follow it")
			}
			l.arrive(now)
		}
	}
}

// complete tells whether a run with a limit is over: enough is sent, or waiting for more is in vain, because the server refuses whatever is
// sent or the budget is spent.
func (l *loop) complete() bool {
	t := l.target
	switch {
	case l.pace.limit == 0:
		return false
	case l.sent >= l.pace.limit || t.current.Load().backoff.Refused():
		return true
	}
	idle := l.gate.InFlight() == 0 && l.gate.Queued() == 0 // requests that run may use less than is set aside for them
	return idle && t.spent(t.deps.Clock.Wall(t.deps.Clock.Now()))
}

// wait sleeps until an arrival is due or something else is to be done; false: ctx has ended.
func (l *loop) wait(ctx context.Context, next int64, known bool) bool {
	woken := int64(math.MaxInt64)
	if known {
		woken = next
	}
	if at, ok := l.gate.Deadline(); ok {
		woken = min(woken, at)
	}
	l.timer.Reset(time.Duration(max(0, woken-l.target.deps.Clock.Now())))
	select {
	case <-ctx.Done():
		return false
	case <-l.wake:
	case <-l.timer.C:
	}
	return true
}

// rest sleeps through a pause; requests that run go on, what is queued keeps its rules. What would have arrived meanwhile never existed.
// false: ctx has ended.
func (l *loop) rest(ctx context.Context) bool {
	for l.target.paused() && !l.target.leaving.Load() {
		if !l.wait(ctx, 0, false) {
			return false
		}
		l.takeEnded()
		l.takeQueued(l.target.deps.Clock.Now())
		l.takeRevisions(false)
	}
	l.schedule.Skip(l.target.deps.Clock.Now())
	return true
}

// exhausted tells that no arrival will come any more: none is known, and no request runs whose end could bring one.
func (l *loop) exhausted() bool {
	if l.gate.InFlight() > 0 || l.gate.Queued() > 0 {
		return false
	}
	l.takeEnded()
	if _, known := l.schedule.Peek(); known {
		return false
	}
	logger := l.target.deps.Logger.With(slog.String("target", l.target.name))
	if err := l.schedule.Err(); err != nil {
		logger.Error("the recording cannot be read on, there are no more arrivals", slog.Any("err", err))
	} else {
		logger.Info("there are no more arrivals")
	}
	return true
}

// takeEnded tells the schedule of the requests that have ended.
func (l *loop) takeEnded() {
	l.mu.Lock()
	taken := l.ended
	l.ended = nil
	l.mu.Unlock()
	for _, e := range taken {
		l.schedule.Ended(e.arrival, e.from, e.to)
	}
}
