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
	target   *Target
	schedule *load.Schedule
	gate     *load.Gate
	requests context.Context // of all requests: ended by drain, not with the context of run
	limit    int64           // of sent arrivals, 0 = none
	sent     int64
	admitted int64         // sent, or queued to be sent
	wake     chan struct{} // a slot has become free, or the pause has begun or ended; holds at most one
	running  sync.WaitGroup
	timer    *time.Timer

	mu    sync.Mutex
	ended []ended // requests, of which the schedule has not heard yet
}

// ended is an arrival whose request ran from one instant to another.
type ended struct {
	arrival  load.Arrival
	from, to int64
}

func newLoop(requests context.Context, t *Target, limit int64) *loop {
	now := t.deps.Clock.Now()
	c := &t.config
	l := &loop{
		target: t,
		schedule: load.NewSchedule(&c.Load, &load.Origin{
			Anchor: now, Wall: t.deps.Clock.Wall(now).UnixNano(), Seed: c.Seed, Target: c.Name, Instance: t.deps.Instance,
			Shard: t.deps.Shard, Turns: c.Workload.MeanTurns(),
		}, t.recording()),
		gate:     load.NewGate(&c.Load),
		requests: requests,
		limit:    limit,
		wake:     t.wake,
		timer:    time.NewTimer(time.Hour),
	}
	t.schedule.Store(l.schedule)
	return l
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
	for !l.complete() {
		if l.target.paused.Load() {
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
		if known && now >= next {
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
	switch {
	case l.limit == 0:
		return false
	case l.sent >= l.limit || l.target.backoff.Refused():
		return true
	}
	idle := l.gate.InFlight() == 0 && l.gate.Queued() == 0 // requests that run may use less than is set aside for them
	return idle && l.target.spent()
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
	for l.target.paused.Load() {
		if !l.wait(ctx, 0, false) {
			return false
		}
		l.takeEnded()
		l.takeQueued(l.target.deps.Clock.Now())
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
	logger := l.target.deps.Logger.With(slog.String("target", l.target.config.Name))
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
			l.forget(a)
			continue
		}
		if a.Overlap {
			l.drop(metrics.DropOverlap, 1)
			continue
		}
		switch d := l.gate.Offer(a, now); d.Verdict {
		case load.Send:
			h, refused := l.target.admit(a, now)
			if refused != "" {
				l.gate.Release(now, true)
				l.dropArrival(refused, a)
				continue
			}
			l.admitted++
			l.send(series.Sent(), h)
		case load.Queued:
			l.admitted++
			series.Queued()
		case load.Dropped:
			l.dropArrival(l.blame(d.Reason, now-a.Ready), a)
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
			l.dropQueued(d.Reason, a)
			continue
		case l.requests.Err() != nil: // the grace is over
			l.gate.Release(now, true)
			l.dropQueued(metrics.DropSchedulerLate, a)
			continue
		}
		h, refused := l.target.admit(a, now)
		if refused != "" {
			l.gate.Release(now, true)
			l.dropQueued(refused, a)
			continue
		}
		l.send(series.DequeuedSent(), h)
	}
}

// drop ends arrivals that were never queued.
func (l *loop) drop(reason metrics.DropReason, n int64) {
	l.target.series.Dropped(reason, n)
	l.target.observeDrop(reason, n)
}

// dropArrival ends one that was never queued.
func (l *loop) dropArrival(reason metrics.DropReason, a load.Arrival) {
	l.forget(a)
	l.drop(reason, 1)
}

// forget tells those who wait for the end of an arrival that it will not be sent.
func (l *loop) forget(a load.Arrival) {
	l.schedule.Ended(a, 0, 0)
	if a.Entry != 0 {
		l.target.workload.Forget(a.Entry)
	}
}

func (l *loop) dropQueued(reason metrics.DropReason, a load.Arrival) {
	l.forget(a)
	l.admitted-- // another arrival may take its place
	l.target.series.DequeuedDropped(reason)
	l.target.observeDrop(reason, 1)
}

func (l *loop) send(flight *metrics.Flight, h *hold) {
	l.sent++
	issue := l.target.deps.Clock.Now()
	warmup := l.sent <= int64(l.target.config.Load.WarmupRequests)
	if !warmup {
		h.abandonAfter, h.abandon = l.target.cancellation.Next()
	}
	h.prefilled = func() {
		if l.gate.FirstToken(l.target.deps.Clock.Now()) {
			l.target.nudge()
		}
	}
	l.running.Go(func() {
		defer l.over(h, issue)
		l.target.request(l.requests, flight, h, issue, warmup)
	})
}

// over gives the slots of a request back.
func (l *loop) over(h *hold, began int64) {
	now := l.target.deps.Clock.Now()
	l.target.share.Release(now)
	l.mu.Lock()
	l.ended = append(l.ended, ended{h.arrival, began, now})
	l.mu.Unlock()
	l.gate.Release(now, !h.firstToken)
	l.target.nudge()
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
	l.takeEnded()
}
