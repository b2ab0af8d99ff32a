package transport

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// pass lets time go by in a bubble.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// watched is a watchdog and what it did.
type watched struct {
	*watchdog
	clock *metrics.SystemClock
	ctx   context.Context
}

func watch(t *testing.T, limits Timeouts, stream bool) *watched {
	t.Helper()
	clock := metrics.NewSystemClock()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return &watched{newWatchdog(clock, limits, stream, cancel), clock, ctx}
}

func (w *watched) bytes() { w.gotBytes(w.clock.Now()) }

// ends waits for the cancellation, at most an hour, and tells its class and when it came.
func (w *watched) ends() (class metrics.ErrorClass, after time.Duration) {
	select {
	case <-w.ctx.Done():
	case <-time.NewTimer(time.Hour).C:
		return "", 0
	}
	var expired *timeoutError
	if !errors.As(context.Cause(w.ctx), &expired) {
		return metrics.ErrorClass(context.Cause(w.ctx).Error()), time.Duration(w.clock.Now())
	}
	return expired.class, time.Duration(w.clock.Now())
}

func TestWatchdogNamesTheLimitThatIsReachedFirst(t *testing.T) {
	t.Parallel()
	const s = time.Second
	all := Timeouts{Connect: 2 * s, FirstToken: 10 * s, Idle: 3 * s, Total: 30 * s}
	connect := func(w *watched) { w.gotConnection() }
	body := func(w *watched) { w.bytes() }
	token := func(w *watched) { w.bytes(); w.gotToken() }
	giveUp := func(after time.Duration) func(*watched) {
		return func(w *watched) { w.gotConnection(); w.abandonAt(w.clock.Now() + int64(after)) }
	}
	type step struct {
		after time.Duration // since the step before
		do    func(*watched)
	}
	for _, tt := range []struct {
		name   string
		limits Timeouts
		stream bool
		steps  []step
		want   metrics.ErrorClass
		at     time.Duration
	}{
		{"no connection", all, true, nil, metrics.ErrTimeoutConnect, 2 * s},
		{"no connection, that limit alone", Timeouts{Connect: 2 * s}, true, nil, metrics.ErrTimeoutConnect, 2 * s},
		{"a connection and nothing else", all, true, []step{{s, connect}}, metrics.ErrTimeoutFirstToken, 10 * s},
		{"a connection and nothing else, that limit alone", Timeouts{FirstToken: 10 * s}, true, []step{{s, connect}}, metrics.ErrTimeoutFirstToken, 10 * s},
		{"no stream has no first token", all, false, []step{{s, connect}}, metrics.ErrTimeoutTotal, 30 * s},
		{"bytes that are no token do not move the first token", all, true, []step{{s, connect}, {2 * s, body}, {2 * s, body}, {2 * s, body}, {2 * s, body}}, metrics.ErrTimeoutFirstToken, 10 * s},
		{"silence after the first bytes", all, true, []step{{s, connect}, {s, body}}, metrics.ErrTimeoutIdle, 5 * s},
		{"silence after a token", all, true, []step{{s, connect}, {7 * s, token}}, metrics.ErrTimeoutIdle, 11 * s},
		{"silence, that limit alone", Timeouts{Idle: 3 * s}, true, []step{{s, connect}, {7 * s, token}}, metrics.ErrTimeoutIdle, 11 * s},
		{"silence after bytes again and again", all, true, []step{{s, connect}, {s, token}, {2 * s, body}, {2 * s, body}, {2 * s, body}}, metrics.ErrTimeoutIdle, 11 * s},
		{"the silence before the body is not idle", Timeouts{Idle: 3 * s}, true, []step{{s, connect}}, "", 0},
		{"an answer that goes on and on", Timeouts{Connect: s, Idle: 20 * s, Total: 30 * s}, true, []step{{0, connect}, {s, token}, {19 * s, body}}, metrics.ErrTimeoutTotal, 30 * s},
		{"total alone", Timeouts{Total: 30 * s}, true, nil, metrics.ErrTimeoutTotal, 30 * s},
		{"no limit at all", Timeouts{}, true, []step{{0, connect}, {s, body}, {s, token}}, "", 0},
		{"given up before any limit", all, true, []step{{s, giveUp(5 * s)}}, metrics.ErrorClass(errGivenUp.Error()), 6 * s},
		{"given up, without any limit", Timeouts{}, true, []step{{s, giveUp(5 * s)}}, metrics.ErrorClass(errGivenUp.Error()), 6 * s},
		{"a limit before it would have been given up", all, true, []step{{s, giveUp(20 * s)}}, metrics.ErrTimeoutFirstToken, 10 * s},
		{"of two at one instant the more special", Timeouts{Connect: 2 * s, Total: 2 * s}, true, nil, metrics.ErrTimeoutConnect, 2 * s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, tt.limits, tt.stream)
				defer w.stop()
				for _, step := range tt.steps {
					pass(step.after)
					step.do(w)
				}
				if got, at := w.ends(); got != tt.want || at != tt.at {
					t.Errorf("ended with %q after %v, want %q after %v", got, at, tt.want, tt.at)
				}
			})
		})
	}
}

func TestBytesThatArrivedWhileTheProcessStoodStillAreNoSilence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		bytes bool // they are taken in the last look
		want  metrics.ErrorClass
	}{
		{"bytes were there", true, ""},
		{"nothing was there", false, metrics.ErrTimeoutIdle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, Timeouts{Idle: 30 * time.Second}, true)
				defer w.stop()
				w.bytes()
				w.mu.Lock()
				w.lastByte -= int64(31 * time.Second) // as if the timer had fired a second late
				w.mu.Unlock()
				w.fire()
				if w.ctx.Err() != nil {
					t.Fatal("cancelled without a last look")
				}
				if tt.bytes {
					w.bytes()
				}
				pass(maxLastLook + time.Millisecond)
				var got metrics.ErrorClass
				if expired, ok := errors.AsType[*timeoutError](context.Cause(w.ctx)); ok {
					got = expired.class
				}
				if got != tt.want {
					t.Errorf("ended with %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestAStoppedWatchdogIsSilentAndLeavesNoTimer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		limits Timeouts
	}{
		{"with a timer from the start", Timeouts{Connect: time.Second, Total: time.Minute}},
		{"without a limit before the body", Timeouts{Idle: time.Second}},
		{"without any limit", Timeouts{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, tt.limits, true)
				w.gotConnection()
				pass(time.Second / 2)
				w.bytes()
				w.stop()
				w.bytes() // a late call must not wake it
				w.gotToken()
				if w.timer != nil && w.timer.Stop() {
					t.Error("the timer is still running")
				}
				if got, _ := w.ends(); got != "" {
					t.Errorf("cancelled with %q", got)
				}
			})
		})
	}
}

func TestAChunkCostsTheWatchdogNoAllocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, Timeouts{Idle: time.Second, Total: time.Hour}, true)
		defer w.stop()
		w.gotConnection()
		w.bytes()
		if got := testing.AllocsPerRun(100, func() { w.bytes(); w.gotToken() }); got != 0 {
			t.Errorf("%v allocations for each chunk, want 0", got)
		}
	})
}
