// Package reload decides when a running daemon takes a configuration anew, and remembers how it went: at a signal, at a request, when the files have
// changed, and when targets were discovered. One attempt runs at a time; whatever happens in it, what ran before goes on unless all of the new
// configuration can be put in its place.
//
// It knows neither files nor targets: Deps do the work.
package reload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Trigger is what an attempt was begun by.
type Trigger string

// The triggers.
const (
	Signal    Trigger = "signal"
	Request   Trigger = "request"
	Poll      Trigger = "poll"
	Discovery Trigger = "discovery"
)

// limit is how long looking at the files, reading, compiling and building may take. Nothing that runs waits for it.
const limit = time.Minute

// errLimit tells that it was over.
var errLimit = errors.New("it takes longer than a minute")

// unanswered is the fingerprint of files on a file system that does not answer: no other is empty.
const unanswered = ""

// ErrRunning is what a request gets while an attempt runs.
var ErrRunning = errors.New("a reload is running")

// errEnded is what a request gets from a daemon that stops.
var errEnded = errors.New("the daemon is stopping")

// Summary counts what an attempt did to targets.
type Summary struct{ Added, Changed, Removed, Kept int }

// Empty tells that nothing has changed.
func (s Summary) Empty() bool { return s.Added+s.Changed+s.Removed == 0 }

// Result is how an attempt went.
type Result struct {
	At      time.Time
	Trigger Trigger
	Err     error // nil = it is in effect
	Summary Summary
}

// Deps do the work.
type Deps struct {
	// Reload reads the files and puts them into effect. With an error everything is as it was.
	Reload func(context.Context) (Summary, error)
	// Refresh puts what was discovered since into effect, with the files that are. Refreshed, told whenever there may be something, has to hold one
	// notice while nobody takes it; nil = nothing is discovered.
	Refresh   func(context.Context) (Summary, error)
	Refreshed <-chan struct{}
	// Fingerprint is equal for equal contents of the files, also where they cannot be read. Begin with that of the configuration that runs. It may
	// hang; then it is not asked again until it has come back.
	Fingerprint func() string
	// Ticks are when to look whether the files have changed; nil = never.
	Ticks <-chan time.Time
	Now   func() time.Time
	// Begin hears of every attempt to load the files before anything of it is done; Done follows.
	Begin func()
	// Done hears of every attempt but those of discovery that change nothing.
	Done   func(Result)
	Logger *slog.Logger
}

// Loop makes the attempts. Trigger and Reload may be called by anybody at any time.
type Loop struct {
	deps     Deps
	signal   chan struct{} // holds one: however many signals come during an attempt, there is one more after it
	requests chan request
	running  atomic.Bool
	ended    chan struct{}
	end      sync.Once
	files    Apart       // where they are looked at
	seen     string      // fingerprint of what was attempted last
	again    *time.Timer // when what was discovered is tried again; stopped = it is in effect

	mu   sync.Mutex
	last *Result
}

type request struct{ done chan<- error }

// New makes a loop for a configuration that was loaded with this fingerprint.
func New(deps Deps, loaded string) *Loop {
	return &Loop{
		deps: deps, signal: make(chan struct{}, 1), requests: make(chan request), ended: make(chan struct{}), seen: loaded,
	}
}

// Run makes attempts until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	defer l.end.Do(func() { close(l.ended) })
	l.again = time.NewTimer(limit)
	defer l.again.Stop()
	l.again.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-l.signal:
			_ = l.attempt(ctx, Signal) // told to the log and to Done
		case r := <-l.requests:
			r.done <- l.attempt(ctx, Request)
		case <-l.deps.Ticks:
			if l.changed(ctx) {
				_ = l.attempt(ctx, Poll) // likewise
			}
		case <-l.deps.Refreshed:
			l.refresh(ctx)
		case <-l.again.C:
			l.refresh(ctx)
		}
	}
}

// Trigger asks for an attempt, as a signal does, and does not wait for it.
func (l *Loop) Trigger() {
	select {
	case l.signal <- struct{}{}:
	default: // one will come that has not begun yet
	}
}

// Reload makes an attempt and waits for its end; ErrRunning if there is one already. What was discovered is waited for.
func (l *Loop) Reload(ctx context.Context) error {
	if l.running.Load() {
		return ErrRunning
	}
	done := make(chan error, 1)
	select {
	case l.requests <- request{done}:
	case <-l.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	return <-done // whoever asked for it wants to know, and an attempt has its limit
}

// Last is the last attempt to load the files; nil = there was none.
func (l *Loop) Last() *Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// changed tells whether the files are others than those of the last attempt. That they do not answer any more is a change.
func (l *Loop) changed(ctx context.Context) bool {
	limited, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	now, _ := l.look(limited) // an attempt tells what is wrong
	return now != l.seen && ctx.Err() == nil
}

// look gives the fingerprint of the files.
func (l *Loop) look(ctx context.Context) (string, error) {
	fingerprint, err := Do(ctx, &l.files, func() (string, error) { return l.deps.Fingerprint(), nil })
	if err != nil {
		return unanswered, fmt.Errorf("read the files: %w", err)
	}
	return fingerprint, nil
}

func (l *Loop) attempt(ctx context.Context, trigger Trigger) error {
	l.running.Store(true)
	defer l.running.Store(false)
	l.deps.Begin()
	r := Result{Trigger: trigger}
	limited, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	l.seen, r.Err = l.look(limited) // before they are read: what changes after this is looked at again
	if r.Err == nil {
		r.Summary, r.Err = l.deps.Reload(limited)
	}
	r.At = l.deps.Now()
	if r.Err == nil {
		l.again.Stop() // what was discovered is in effect with it
	}
	l.mu.Lock()
	l.last = &r
	l.mu.Unlock()
	l.tell(&r)
	return r.Err
}

// refresh puts what was discovered into effect. It is no attempt to load the files: those that are in effect have not become worse. Nobody tells of
// what was discovered once more, so that it is tried again where it fails, until it is in effect with or without new files.
func (l *Loop) refresh(ctx context.Context) {
	r := Result{Trigger: Discovery}
	limited, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	r.Summary, r.Err = l.deps.Refresh(limited)
	r.At = l.deps.Now()
	l.again.Stop()
	if r.Err != nil {
		l.again.Reset(limit)
	}
	if r.Err != nil || !r.Summary.Empty() {
		l.tell(&r)
	}
}

func (l *Loop) tell(r *Result) {
	logger := l.deps.Logger.With(slog.String("trigger", string(r.Trigger)))
	if r.Err != nil {
		logger.Error("configuration was not taken, the one before stays in effect", slog.Any("err", r.Err))
	} else {
		logger.Info("configuration taken", slog.Int("added", r.Summary.Added), slog.Int("changed", r.Summary.Changed),
			slog.Int("removed", r.Summary.Removed), slog.Int("kept", r.Summary.Kept))
	}
	l.deps.Done(*r)
}
