package generator

import (
	"context"
	"log/slog"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// loop turns the schedule of one target into requests. Only its own goroutine touches it; requests run on goroutines of their own, tell
// their end through wake, and are waited for in drain.
type loop struct {
	target   *Target
	schedule *load.Schedule
	gate     *load.Gate
	requests context.Context // of all requests: ended by drain, not with the context of run
	limit    int64           // of admitted arrivals, 0 = none
	admitted int64           // sent, or queued to be sent
	wake     chan struct{}   // a slot has become free; holds at most one
	running  sync.WaitGroup
	timer    *time.Timer
}

func newLoop(requests context.Context, t *Target, limit int64) *loop {
	now := t.deps.Clock.Now()
	c := &t.config
	return &loop{
		target: t,
		schedule: load.NewSchedule(&c.Load, &load.Origin{
			Anchor: now, Wall: t.deps.Clock.Wall(now).UnixNano(), Seed: c.Seed, Target: c.Name, Instance: t.deps.Instance,
		}),
		gate:     load.NewGate(&c.Load),
		requests: requests,
		limit:    limit,
		wake:     make(chan struct{}, 1),
		timer:    time.NewTimer(time.Hour),
	}
}

// runSafely is run, with a panic caught and counted; it returns false then.
func (l *loop) runSafely(ctx context.Context) (done bool) {
	defer func() {
		if cause := recover(); cause != nil {
			t := l.target
			t.deps.Store.Panicked(metrics.ComponentTarget)
			t.deps.Logger.Error("panic in target", slog.String("target", t.config.Name), slog.Any("err", cause), slog.String("stack", string(debug.Stack())))
		}
	}()
	l.run(ctx)
	return true
}

func (l *loop) run(ctx context.Context) {
	clock := l.target.deps.Clock
	if l.target.config.Load.Paused {
		<-ctx.Done()
		return
	}
	for !l.reached() {
		next := l.schedule.Peek()
		woken := next
		if at, ok := l.gate.Deadline(); ok {
			woken = min(woken, at)
		}
		l.timer.Reset(time.Duration(max(0, woken-clock.Now())))
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-l.timer.C:
		}
		now := clock.Now()
		l.takeQueued(now)
		if now >= next {
			l.target.deps.Store.WokeUp(next, now)
			l.arrive(now)
		}
	}
}

// reached tells whether no further arrival shall be admitted.
func (l *loop) reached() bool { return l.limit > 0 && l.admitted >= l.limit }

// arrive handles all arrivals that are due.
func (l *loop) arrive(now int64) {
	series := l.target.series
	if late := l.schedule.SkipLate(now); late > 0 {
		l.drop(metrics.DropSchedulerLate, late)
	}
	for l.schedule.Peek() <= now && !l.reached() {
		sched := l.schedule.Pop()
		switch d := l.gate.Offer(sched, now); d.Verdict {
		case load.Send:
			if !l.target.deps.Limiter.Acquire(now) {
				l.gate.Release(now)
				l.drop(metrics.DropGlobalLimit, 1)
				continue
			}
			l.admitted++
			l.send(series.Sent(), sched)
		case load.Queued:
			l.admitted++
			series.Queued()
		case load.Dropped:
			l.drop(d.Reason, 1)
		}
	}
}

// takeQueued handles the queued arrivals whose fate is decided.
func (l *loop) takeQueued(now int64) {
	series := l.target.series
	for {
		sched, d, ok := l.gate.Next(now)
		switch {
		case !ok:
			return
		case d.Verdict == load.Dropped:
			l.dropQueued(d.Reason)
		case !l.target.deps.Limiter.Acquire(now):
			l.gate.Release(now)
			l.dropQueued(metrics.DropGlobalLimit)
		default:
			l.send(series.DequeuedSent(), sched)
		}
	}
}

// drop ends arrivals that were never queued.
func (l *loop) drop(reason metrics.DropReason, n int64) {
	l.target.series.Dropped(reason, n)
	l.target.observeDrop(reason, n)
}

func (l *loop) dropQueued(reason metrics.DropReason) {
	l.target.series.DequeuedDropped(reason)
	l.target.observeDrop(reason, 1)
}

func (l *loop) send(flight *metrics.Flight, sched int64) {
	issue := l.target.deps.Clock.Now()
	l.running.Go(func() {
		defer l.ended()
		l.target.request(l.requests, flight, sched, issue)
	})
}

// ended gives the slots of a request back.
func (l *loop) ended() {
	l.target.deps.Limiter.Release()
	l.gate.Release(l.target.deps.Clock.Now())
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// drain lets what is queued or runs come to its end. Queued arrivals keep their rules: they are sent as slots become free, and dropped when
// they have waited too long. After grace, cancel ends the rest.
func (l *loop) drain(grace time.Duration, cancel func()) {
	defer l.timer.Stop()
	over := time.NewTimer(grace)
	defer over.Stop()
	for l.gate.Queued() > 0 || l.gate.InFlight() > 0 {
		wait := time.Duration(math.MaxInt64)
		if at, ok := l.gate.Deadline(); ok {
			wait = time.Duration(max(0, at-l.target.deps.Clock.Now()))
		}
		l.timer.Reset(wait)
		select {
		case <-l.wake:
		case <-l.timer.C:
		case <-over.C:
			cancel()
		}
		l.takeQueued(l.target.deps.Clock.Now())
	}
	l.running.Wait()
}
