package scrape

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

const (
	// firstPause and longestPause are those after a panic.
	firstPause, longestPause = time.Second, time.Minute
	// patience is how long the end of a Loop waits for work that does not heed ctx.
	patience = time.Second
	// spread is the part of an interval within which loops that start together call for the first time.
	spread = 10
)

// Loop calls work each interval, for the first time within a tenth of it (so that many loops do not come at once), until ctx ends. While work
// runs nothing else is started: what falls due is told to skipped. A panic is logged and told to panicked, and the loop goes on after 1 s, doubling
// to 60 s as long as work panics again. Rings of the bell, which may be nil, are due
// times, too, and with one the first call comes at once.
//
// work has a goroutine of its own, so that falling due is noticed while it hangs, as a call into a driver can, which nothing calls back. When ctx
// ends Loop waits for work, but no longer than a second: what hangs then is left behind.
func Loop(ctx context.Context, logger *slog.Logger, interval time.Duration, bell *Bell, work func(ctx context.Context), skipped func(), panicked func(cause any)) {
	l := &loop{logger: logger, interval: interval, work: work, skipped: skipped, panicked: panicked, next: time.Now()}
	if bell == nil {
		l.next = l.next.Add(rand.N(interval/spread + 1)) //nolint:gosec // not a secret
	}
	due := time.NewTimer(time.Until(l.next))
	defer due.Stop()
	rung := bell.heard()
	for {
		select {
		case <-ctx.Done():
			await(l.ended)
			return
		case <-rung:
			rung = bell.heard()
			l.ring(ctx)
		case <-due.C:
			l.fallDue(ctx)
		case c := <-l.ended:
			l.end(ctx, c)
		}
		due.Reset(time.Until(l.next))
	}
}

// loop is the state of a Loop.
type loop struct {
	logger   *slog.Logger
	interval time.Duration
	work     func(ctx context.Context)
	skipped  func()
	panicked func(cause any)

	next  time.Time     // when work falls due
	ended chan *crash   // nil while work does not run
	again bool          // a bell rang since it runs
	pause time.Duration // after the last panic, if nothing has succeeded since
}

func (l *loop) ring(ctx context.Context) {
	if l.again = l.ended != nil; !l.again {
		l.ended = start(ctx, l.work)
	}
}

func (l *loop) fallDue(ctx context.Context) {
	if l.ended != nil {
		l.skipped()
	} else {
		l.ended = start(ctx, l.work)
	}
	// What fell due while this program was stopped did not fall due while work ran.
	for now := time.Now(); !l.next.After(now); {
		l.next = l.next.Add(l.interval)
	}
}

// end takes the end of work, which may have been a crash.
func (l *loop) end(ctx context.Context, c *crash) {
	l.ended = nil
	if c != nil {
		l.logger.Error("collector panicked", slog.Any("panic", c.value), slog.String("stack", c.stack))
		l.panicked(c.value)
		l.pause = min(max(firstPause, 2*l.pause), longestPause)
		l.next = time.Now().Add(l.pause)
		return
	}
	l.pause = 0
	if l.again { // what has just ended may have looked before the bell
		l.ended, l.again = start(ctx, l.work), false
	}
}

// crash is a panic that was caught.
type crash struct {
	value any
	stack string
}

// start lets work run. The channel tells when it has ended.
func start(ctx context.Context, work func(ctx context.Context)) chan *crash {
	ended := make(chan *crash, 1)
	go func() {
		var c *crash
		defer func() {
			if value := recover(); value != nil {
				c = &crash{value, string(debug.Stack())}
			}
			ended <- c
		}()
		work(ctx)
	}()
	return ended
}

// await waits for work, for a while.
func await(ended chan *crash) {
	if ended == nil {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}
