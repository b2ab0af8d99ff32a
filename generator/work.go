package generator

import (
	"context"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// work is what Run and Serve do. The generator's lock guards it.
type work struct {
	ctx   context.Context //nolint:containedctx // of what is done, also for targets that come later
	pace  *pace
	idle  chan struct{} // closed when no target runs any more
	alive int           // goroutines of targets, and one until the work is released
	next  time.Time     // when the next target may begin
}

// start runs the targets that there are. The caller releases what it gives.
func (g *Generator) start(ctx context.Context, p *pace) *work {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &work{ctx: ctx, pace: p, idle: make(chan struct{}), alive: 1}
	g.work = w
	for _, t := range g.targets {
		g.enliven(t)
	}
	return w
}

// release says that the work may end when no target runs any more.
func (g *Generator) release(w *work) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.finished(w)
}

// enliven begins the goroutine of a target, if work goes on and it has none. The lock is held.
func (g *Generator) enliven(t *Target) {
	w := g.work
	if w == nil || t.alive {
		return
	}
	now := time.Now()
	delay := max(0, w.next.Sub(now))
	if g.limits.MaxStartRate > 0 {
		w.next = now.Add(delay + time.Duration(float64(time.Second)/g.limits.MaxStartRate))
	}
	w.alive++
	t.alive = true
	go g.live(w, t, delay)
}

// finished notes that one of those ends for whom the work goes on. The lock is held.
func (g *Generator) finished(w *work) {
	if w.alive--; w.alive == 0 {
		close(w.idle)
		g.work = nil
	}
}

// live is the goroutine of a target, which begins after delay. When the target has to leave, its series stay for a while.
func (g *Generator) live(w *work, t *Target, delay time.Duration) {
	for over := false; !over; {
		if pause := delay; pause == 0 || t.sleep(w.ctx, pause) {
			delay = t.runSafely(w)
		} else {
			delay = 0
		}
		if w.ctx.Err() == nil && t.leaving.Load() {
			t.setState(metrics.StateDraining)
			t.linger(w.ctx, g.lingers())
		}
		over = g.ends(w, t)
	}
}

// afterPanic is how long a target rests whose goroutine has panicked outside of its loop: as it began, or came to its end.
const afterPanic = 10 * time.Second

// runSafely is run, with a panic caught and counted. It tells how long the target has to rest before the next one.
func (t *Target) runSafely(w *work) (pause time.Duration) {
	defer func() {
		if cause := recover(); cause != nil {
			t.caught(metrics.ComponentTarget, cause)
			t.setState(metrics.StateFailed)
			pause = afterPanic
		}
	}()
	t.run(w.ctx, w.pace)
	return 0
}

func (g *Generator) lingers() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limits.Linger
}

// linger waits, until the target is called back at the latest.
func (t *Target) linger(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for t.leaving.Load() {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-timer.C:
			return
		}
	}
}

// ends decides whether the goroutine of a target is over; false: the target was called back. Of those that come to their end while another one is
// being buried, the first buries all.
func (g *Generator) ends(w *work, t *Target) bool {
	g.mu.Lock()
	g.ending = append(g.ending, t)
	g.mu.Unlock()
	g.changing.Lock()
	defer g.changing.Unlock()
	g.mu.Lock()
	stopped := w.ctx.Err() != nil
	var gone []*Target
	for _, other := range g.ending {
		if !stopped && other.leaving.Load() && !slices.Contains(g.claimed, other) {
			other.alive, other.buried = false, true
			gone = append(gone, other)
		}
	}
	g.ending = slices.DeleteFunc(g.ending, func(other *Target) bool { return other == t || other.buried })
	over := t.buried || stopped || t.leaving.Load() || !w.pace.stays
	if over {
		t.alive = false
	}
	g.mu.Unlock()
	g.bury(gone)
	if over {
		g.release(w) // last: who waits for the work may close everything
	}
	return over
}
