package transport

import (
	"context"
	"errors"
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

// errGivenUp is the cause with which a watchdog ends an exchange that is to be given up on purpose.
var errGivenUp = errors.New("given up on purpose")

const (
	// lateTimer is how late a timer may fire before the process must have stood still: stopped, or without a processor.
	lateTimer = 10 * time.Millisecond
	// maxLastLook bounds how long an exchange then has to take what has arrived in the meantime.
	maxLastLook = time.Second
)

// watchdog holds the four timeouts of one exchange, and the instant at which it is given up on purpose, with one timer. The timer sleeps
// until the earliest deadline that it knows; when it fires and the deadline has moved, it sleeps again. So a chunk costs one store, not a
// timer.
type watchdog struct {
	clock  *metrics.SystemClock
	limits Timeouts
	cancel context.CancelCauseFunc
	timer  *time.Timer

	mu        sync.Mutex
	start     int64
	lastByte  int64 // only once the body has begun
	giveUp    int64 // 0 = not yet known, or never
	connected bool
	token     bool
	body      bool
	stopped   bool
	looking   bool // the deadline has passed while the process stood still, and the last look is being taken
}

// newWatchdog starts to watch. Without a stream there is no first token before the end, and its limit does not apply.
func newWatchdog(clock *metrics.SystemClock, limits Timeouts, stream bool, cancel context.CancelCauseFunc) *watchdog {
	w := &watchdog{clock: clock, limits: limits, cancel: cancel, start: clock.Now(), token: !stream}
	w.mu.Lock() // the timer may fire before it is stored
	defer w.mu.Unlock()
	if at, _ := w.deadline(); at > 0 {
		w.timer = time.AfterFunc(time.Duration(at-w.start), w.fire)
	}
	return w
}

// deadline is the earliest limit that holds now, and the instant at which it ends, 0 if there is none.
func (w *watchdog) deadline() (int64, timeoutError) {
	var earliest int64
	var expired timeoutError
	consider := func(from int64, limit time.Duration, class metrics.ErrorClass) {
		if at := from + int64(limit); limit > 0 && (earliest == 0 || at < earliest) {
			earliest, expired = at, timeoutError{class, limit}
		}
	}
	if !w.connected {
		consider(w.start, w.limits.Connect, metrics.ErrTimeoutConnect)
	}
	if !w.token {
		consider(w.start, w.limits.FirstToken, metrics.ErrTimeoutFirstToken)
	}
	if w.body {
		consider(w.lastByte, w.limits.Idle, metrics.ErrTimeoutIdle)
	}
	consider(w.start, w.limits.Total, metrics.ErrTimeoutTotal)
	if w.giveUp > 0 && (earliest == 0 || w.giveUp < earliest) {
		return w.giveUp, timeoutError{}
	}
	return earliest, expired
}

func (w *watchdog) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, expired := w.deadline()
	if at == 0 || w.stopped {
		return
	}
	left := at - w.clock.Now()
	switch {
	case left <= 0 && expired.class == "":
		w.cancel(errGivenUp)
	case left > 0:
		w.looking = false
		w.timer.Reset(time.Duration(left))
	case -left > int64(lateTimer) && !w.looking:
		w.looking = true
		// As long as the process stood still, many exchanges may have much to take.
		w.timer.Reset(min(time.Duration(-left), maxLastLook))
	default:
		w.cancel(&expired)
	}
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
func (w *watchdog) gotBytes(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.body
	w.body, w.lastByte = true, now
	if !first || w.limits.Idle <= 0 || w.stopped {
		return
	}
	w.wind(now)
}

// abandonAt ends the exchange at an instant, on purpose.
func (w *watchdog) abandonAt(at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.giveUp = at
	w.wind(w.clock.Now())
}

// wind has the timer fire at the earliest deadline, of which there is one.
func (w *watchdog) wind(now int64) {
	at, _ := w.deadline()
	left := time.Duration(max(0, at-now))
	if w.timer == nil {
		w.timer = time.AfterFunc(left, w.fire)
		return
	}
	w.timer.Reset(left)
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
