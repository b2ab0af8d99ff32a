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
	limit    int64           // of sent arrivals, 0 = none
	sent     int64
	admitted int64         // sent, or queued to be sent
	wake     chan struct{} // a slot has become free; holds at most one
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
		}, nil),
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
	for l.limit == 0 || l.sent < l.limit {
		next, known := l.schedule.Peek()
		if !known {
			next = math.MaxInt64
		}
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
			if l.target.deps.Store.WokeUp(next, now) {
				l.target.deps.Logger.Warn("the wall clock was set; schedules and latencies do not follow it")
			}
			l.arrive(now)
		}
	}
}

// reached tells whether no further arrival is wanted, because enough are sent or queued.
func (l *loop) reached() bool { return l.limit > 0 && l.admitted >= l.limit }

// arrive handles all arrivals that are due.
func (l *loop) arrive(now int64) {
	series := l.target.series
	if late := l.schedule.SkipLate(now); late > 0 && !l.reached() {
		l.drop(metrics.DropSchedulerLate, late)
	}
	for next, known := l.schedule.Peek(); known && next <= now; next, known = l.schedule.Peek() {
		a := l.schedule.Pop()
		if l.reached() {
			continue
		}
		switch d := l.gate.Offer(a, now); d.Verdict {
		case load.Send:
			if !l.target.deps.Limiter.Acquire(now) {
				l.gate.Release(now)
				l.drop(metrics.DropGlobalLimit, 1)
				continue
			}
			l.admitted++
			l.send(series.Sent(), a)
		case load.Queued:
			l.admitted++
			series.Queued()
		case load.Dropped:
			l.drop(l.blame(d.Reason, now-a.Ready), 1)
		}
	}
}

// ownLateness is how late an arrival may be offered before a full gate is our fault: in time, it might have found a free slot.
const ownLateness = 100 * time.Millisecond

// blame is the reason for which an arrival is dropped at the gate, offered so many nanoseconds after its instant.
func (l *loop) blame(reason metrics.DropReason, late int64) metrics.DropReason {
	if reason.CausedByServer() && late > int64(ownLateness) {
		return metrics.DropSchedulerLate
	}
	return reason
}

// takeQueued handles the queued arrivals whose fate is decided.
func (l *loop) takeQueued(now int64) {
	series := l.target.series
	for {
		a, d, ok := l.gate.Next(now)
		switch {
		case !ok:
			return
		case d.Verdict == load.Dropped:
			l.dropQueued(d.Reason)
		case l.requests.Err() != nil: // the grace is over
			l.gate.Release(now)
			l.dropQueued(metrics.DropSchedulerLate)
		case !l.target.deps.Limiter.Acquire(now):
			l.gate.Release(now)
			l.dropQueued(metrics.DropGlobalLimit)
		default:
			l.send(series.DequeuedSent(), a)
		}
	}
}

// drop ends arrivals that were never queued.
func (l *loop) drop(reason metrics.DropReason, n int64) {
	l.target.series.Dropped(reason, n)
	l.target.observeDrop(reason, n)
}

func (l *loop) dropQueued(reason metrics.DropReason) {
	l.admitted-- // another arrival may take its place
	l.target.series.DequeuedDropped(reason)
	l.target.observeDrop(reason, 1)
}

func (l *loop) send(flight *metrics.Flight, a load.Arrival) {
	l.sent++
	issue := l.target.deps.Clock.Now()
	warmup := l.sent <= int64(l.target.config.Load.WarmupRequests)
	l.running.Go(func() {
		defer l.ended()
		l.target.request(l.requests, flight, a, issue, warmup)
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
