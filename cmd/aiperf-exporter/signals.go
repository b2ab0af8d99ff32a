package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sameSignal is the time in which the same signal once more is taken for the first: `timeout` and terminals send to the process and to its group. A
// busy machine may need some of it between the two, people need longer to press a key again.
const sameSignal = 100 * time.Millisecond

// catchHangups keeps the signal that asks for a reload until somebody looks for it: by default it would end a process that is still starting.
func catchHangups() (caught <-chan os.Signal, stop func()) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGHUP)
	return got, func() { signal.Stop(got) }
}

// supervise does work and waits for it. SIGINT or SIGTERM ends its context, after which it should come to its end; a second one ends the
// wait at once: killed, and nothing that work uses may be touched any more. others are what further signals do.
func supervise(logger *slog.Logger, others map[os.Signal]func(), work func(ctx context.Context)) (killed bool) {
	got := make(chan os.Signal, 4)
	signal.Notify(got, syscall.SIGINT, syscall.SIGTERM)
	for sig := range others {
		signal.Notify(got, sig)
	}
	defer signal.Stop(got)
	return oversee(logger, got, others, work)
}

// oversee is supervise with signals that somebody else catches.
func oversee(logger *slog.Logger, got <-chan os.Signal, others map[os.Signal]func(), work func(ctx context.Context)) (killed bool) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan struct{})
	var first os.Signal
	var stopped time.Time
	go func() {
		defer close(ended)
		work(ctx)
	}()
	for {
		select {
		case <-ended:
			return false
		case sig := <-got:
			other, known := others[sig]
			switch {
			case known:
				other()
			case sig == first && time.Since(stopped) < sameSignal:
			case ctx.Err() != nil:
				logger.Warn("stopped at once", slog.String("signal", sig.String()))
				return true
			default:
				logger.Info("stopping, once more stops at once", slog.String("signal", sig.String()))
				first, stopped = sig, time.Now()
				stop()
			}
		}
	}
}
