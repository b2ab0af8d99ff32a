package transport

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// timeoutError is the cause with which a watchdog cancels an exchange.
type timeoutError struct {
	class metrics.ErrorClass
	limit time.Duration
}

func (e *timeoutError) Error() string { return fmt.Sprintf("%s after %v", e.class, e.limit) }

// watchdog holds the four timeouts of one exchange with one timer. The timer sleeps until the earliest deadline that it knows; when it
// fires and the deadline has moved, it sleeps again. So a chunk costs one store, not a timer.
type watchdog struct {
	limits Timeouts
	cancel context.CancelCauseFunc
	timer  *time.Timer

	mu        sync.Mutex
	start     time.Time
	lastByte  time.Time // zero until the body has begun
	connected bool
	token     bool
	stopped   bool
}

// newWatchdog starts to watch. Without a stream there is no first token before the end, and its limit does not apply.
func newWatchdog(limits Timeouts, stream bool, cancel context.CancelCauseFunc) *watchdog {
	w := &watchdog{limits: limits, cancel: cancel, start: time.Now(), token: !stream}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(time.Hour, w.fire)
	w.arm()
	return w
}

// deadline is the earliest limit that holds now.
func (w *watchdog) deadline() (time.Time, *timeoutError) {
	var earliest time.Time
	var expired *timeoutError
	consider := func(from time.Time, limit time.Duration, class metrics.ErrorClass) {
		if limit <= 0 {
			return
		}
		if at := from.Add(limit); earliest.IsZero() || at.Before(earliest) {
			earliest, expired = at, &timeoutError{class, limit}
		}
	}
	if !w.connected {
		consider(w.start, w.limits.Connect, metrics.ErrTimeoutConnect)
	}
	if !w.token {
		consider(w.start, w.limits.FirstToken, metrics.ErrTimeoutFirstToken)
	}
	if !w.lastByte.IsZero() {
		consider(w.lastByte, w.limits.Idle, metrics.ErrTimeoutIdle)
	}
	consider(w.start, w.limits.Total, metrics.ErrTimeoutTotal)
	return earliest, expired
}

// arm sets the timer to the earliest deadline; with none it stays far away.
func (w *watchdog) arm() {
	if at, expired := w.deadline(); expired != nil {
		w.timer.Reset(time.Until(at))
	}
}

func (w *watchdog) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	at, expired := w.deadline()
	if expired == nil {
		return
	}
	if time.Now().Before(at) {
		w.arm()
		return
	}
	w.cancel(expired)
}

func (w *watchdog) gotConnection() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connected = true
}

func (w *watchdog) gotToken() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.token = true
}

// gotBytes moves the idle deadline. Only the first call can bring a deadline nearer, so only it touches the timer.
func (w *watchdog) gotBytes() {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.lastByte.IsZero()
	w.lastByte = time.Now()
	if first && w.limits.Idle > 0 && !w.stopped {
		w.arm()
	}
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}
