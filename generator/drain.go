package generator

import (
	"context"
	"math"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// drainTime is how long the requests of a target may take to end that the configuration does not have any more.
const drainTime = 30 * time.Second

// run keeps requests going until ctx ends, the target is to leave, or the pace is kept. Then it lets the running ones end for some time and
// cancels the rest. It returns when the last has ended.
func (t *Target) run(ctx context.Context, p *pace) {
	l, stop := t.newLoop(ctx, p)
	defer stop()
	if !t.paused() {
		l.calibrate(t.current.Load(), calibrationWait)
	}
	l.begin() // only now: the first arrival is not late
	for again := true; again; {
		t.setState(metrics.StateRunning)
		l.keepRunning(ctx)
		t.setState(metrics.StateDraining)
		l.drain(ctx)
		switch {
		case ctx.Err() != nil || t.leaving.Load():
			again = false
		case l.left: // and was called back
			l.goOn(ctx)
		default:
			t.setState(metrics.StateRunning) // nothing is wrong, there are just no more arrivals
			again = p.stays && l.park(ctx)
		}
	}
}

// newLoop makes the loop that takes the revisions until stop is called.
func (t *Target) newLoop(ctx context.Context, p *pace) (l *loop, stop func()) {
	l = &loop{target: t, gate: t.gate, pace: p, wake: t.wake, timer: time.NewTimer(time.Hour)}
	calibrating, end := context.WithCancel(ctx)
	l.calibrating = calibrating
	t.mu.Lock()
	t.looping = true
	l.config = t.config.Load()
	t.mu.Unlock()
	l.renew(ctx)
	l.cancellation = load.NewCancellation(&l.config.Load.Cancel, l.config.Seed, l.config.Name)
	return l, func() {
		end()
		l.calibrations.Wait()
		l.cancel(nil)
		l.running.Wait() // some may run where a panic has ended the loop
		l.timer.Stop()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.looping = false
		for _, r := range t.pending {
			t.adopt(r)
		}
		t.pending = nil
	}
}

// renew makes the context of requests, which go on when ctx has ended.
func (l *loop) renew(ctx context.Context) {
	l.requests, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
}

// goOn has a target send again that was to leave: what would have arrived meanwhile never existed.
func (l *loop) goOn(ctx context.Context) {
	l.left = false
	if l.requests.Err() != nil {
		l.renew(ctx)
	}
	l.schedule.Skip(l.target.deps.Clock.Now())
}

// keepRunning runs the loop to its end, and starts it anew when it has panicked, not at once.
func (l *loop) keepRunning(ctx context.Context) {
	for pause := time.Second; !l.runSafely(ctx); pause = min(2*pause, time.Minute) {
		l.target.setState(metrics.StateFailed)
		if !l.target.sleep(ctx, pause) {
			return
		}
		l.target.setState(metrics.StateRunning)
		l.target.nudge() // requests may have ended meanwhile
	}
}

// park waits for a change, which may bring arrivals; false: ctx has ended, or the target is to leave.
func (l *loop) park(ctx context.Context) bool {
	for !l.target.leaving.Load() {
		if l.takeRevisions(true) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-l.wake:
		}
	}
	return false
}

// drain lets what is queued or runs come to its end. Queued arrivals keep their rules: they are sent as slots become free, and dropped when
// they have waited too long. When the time for it is over, the rest is cancelled. It also returns when the target is called back.
func (l *loop) drain(ctx context.Context) {
	l.left = l.target.leaving.Load()
	wait, stopped := l.pace.grace, (<-chan struct{})(nil)
	if l.left && ctx.Err() == nil {
		wait, stopped = drainTime, ctx.Done()
	}
	began := time.Now()
	over := time.NewTimer(wait)
	defer over.Stop()
	for l.gate.Queued() > 0 || l.gate.InFlight() > 0 {
		if l.left && !l.target.leaving.Load() {
			return
		}
		l.timer.Reset(l.untilDeadline())
		select {
		case <-l.wake:
		case <-l.timer.C:
		case <-stopped:
			stopped = nil
			over.Reset(min(l.pace.grace, wait-time.Since(began)))
		case <-over.C:
			l.cancel(errStopped)
		}
		l.takeQueued(l.target.deps.Clock.Now())
	}
	l.running.Wait()
	l.takeEnded()
}

func (l *loop) untilDeadline() time.Duration {
	at, ok := l.gate.Deadline()
	if !ok {
		return math.MaxInt64
	}
	return time.Duration(max(0, at-l.target.deps.Clock.Now()))
}
