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
// to 60 s as long as work panics again.
//
// work has a goroutine of its own, so that falling due is noticed while it hangs, as a call into a driver can, which nothing calls back. When ctx
// ends Loop waits for work, but no longer than a second: what hangs then is left behind.
func Loop(ctx context.Context, logger *slog.Logger, interval time.Duration, work func(ctx context.Context), skipped, panicked func()) {
	next := time.Now().Add(rand.N(interval/spread + 1)) //nolint:gosec // not a secret
	due := time.NewTimer(time.Until(next))
	defer due.Stop()
	var ended chan *crash // nil while work does not run
	var pause time.Duration
	for {
		select {
		case <-ctx.Done():
			await(ended)
			return
		case <-due.C:
			if ended != nil {
				skipped()
			} else {
				ended = start(ctx, work)
			}
			// What fell due while this program was stopped did not fall due while work ran.
			for now := time.Now(); !next.After(now); {
				next = next.Add(interval)
			}
		case c := <-ended:
			ended = nil
			if c == nil {
				pause = 0
				continue
			}
			logger.Error("collector panicked", "panic", c.value, "stack", c.stack)
			panicked()
			pause = min(max(firstPause, 2*pause), longestPause)
			next = time.Now().Add(pause)
		}
		due.Reset(time.Until(next))
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
