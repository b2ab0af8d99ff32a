package generator

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// reached tells whether no further arrival is wanted, because enough are sent or queued.
func (l *loop) reached() bool { return l.pace.limit > 0 && l.admitted >= l.pace.limit }

// arrive handles all arrivals that are due.
func (l *loop) arrive(now int64) {
	series, g := l.target.series, l.target.current.Load()
	if late := l.schedule.SkipLate(now); late > 0 && !l.reached() {
		l.drop(metrics.DropSchedulerLate, late)
	}
	for next, known := l.schedule.Peek(); known && next <= now; next, known = l.schedule.Peek() {
		a := l.schedule.Pop()
		if l.reached() {
			l.forget(g, a)
			continue
		}
		if a.Overlap {
			l.drop(metrics.DropOverlap, 1)
			continue
		}
		switch d := l.gate.Offer(a, now); d.Verdict {
		case load.Send:
			h, refused := l.target.admit(g, a, now)
			if refused != "" {
				l.gate.Release(now, true)
				l.dropArrival(refused, g, a)
				continue
			}
			l.admitted++
			l.send(series.Sent(), h)
		case load.Queued:
			l.admitted++
			series.Queued()
		case load.Dropped:
			l.dropArrival(l.blame(d.Reason, now-a.Ready), g, a)
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
	for {
		a, d, ok := l.gate.Next(now)
		if !ok {
			return
		}
		g, pinned := l.target.current.Load(), len(l.pins) > 0
		if pinned {
			g = l.pins[0].generation
		}
		l.takeOne(g, a, d, now)
		if pinned {
			l.unpin()
		}
	}
}

// takeOne handles an arrival that has left the queue and is asked by g.
func (l *loop) takeOne(g *generation, a load.Arrival, d load.Decision, now int64) {
	switch {
	case d.Verdict == load.Dropped:
		l.dropQueued(d.Reason, g, a)
		return
	case l.requests.Err() != nil: // the grace is over
		l.gate.Release(now, true)
		l.dropQueued(metrics.DropSchedulerLate, g, a)
		return
	}
	h, refused := l.target.admit(g, a, now)
	if refused != "" {
		l.gate.Release(now, true)
		l.dropQueued(refused, g, a)
		return
	}
	l.send(l.target.series.DequeuedSent(), h)
}

// drop ends arrivals that were never queued.
func (l *loop) drop(reason metrics.DropReason, n int64) {
	l.target.series.Dropped(reason, n)
	l.target.observeDrop(reason, n)
}

// dropArrival ends one that was never queued.
func (l *loop) dropArrival(reason metrics.DropReason, g *generation, a load.Arrival) {
	l.forget(g, a)
	l.drop(reason, 1)
}

// forget tells those who wait for the end of an arrival that it will not be sent.
func (l *loop) forget(g *generation, a load.Arrival) {
	l.schedule.Ended(a, 0, 0)
	if a.Entry != 0 {
		g.content.Forget(a.Entry)
	}
}

func (l *loop) dropQueued(reason metrics.DropReason, g *generation, a load.Arrival) {
	l.forget(g, a)
	l.admitted-- // another arrival may take its place
	l.target.series.DequeuedDropped(reason)
	l.target.observeDrop(reason, 1)
}

func (l *loop) send(flight *metrics.Flight, h *hold) {
	h.generation.acquire() // it is in use here: it cannot be closed
	l.sent++
	issue := l.target.deps.Clock.Now()
	warmup := l.sent <= int64(l.config.Load.WarmupRequests)
	if !warmup {
		h.abandonAfter, h.abandon = l.cancellation.Next()
	}
	h.prefilled = func() {
		if l.gate.FirstToken(l.target.deps.Clock.Now()) {
			l.target.nudge()
		}
	}
	requests := l.requests
	l.running.Go(func() {
		defer l.over(h, issue)
		l.target.request(requests, flight, h, issue, warmup)
	})
}

// over gives the slots of a request back.
func (l *loop) over(h *hold, began int64) {
	h.generation.release()
	now := l.target.deps.Clock.Now()
	l.target.share.Release(now)
	l.mu.Lock()
	l.ended = append(l.ended, ended{h.arrival, began, now})
	l.mu.Unlock()
	l.gate.Release(now, !h.firstToken)
	l.target.nudge()
}
