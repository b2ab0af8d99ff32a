package api

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

const (
	maxListeners = 16
	// backlog is how many events may wait for a listener; one that is further behind is dropped.
	backlog = 8
	// period is how often the fleet is sent, if it has changed; a silence of heartbeat is broken by a comment, so that proxies keep the
	// connection and a reader that is gone is noticed.
	period, heartbeat = time.Second, 15 * time.Second
)

// events sends what changes to whoever listens. One goroutine, that of run, makes the events; each listener's request has one that writes them.
type events struct {
	daemon   view.Daemon
	logger   *slog.Logger
	panicked func(cause any)
	wake     chan struct{} // nudges run; holds at most one

	mu        sync.Mutex
	listeners map[*listener]struct{}
	notes     []string // kinds to be told, each once
	over      bool
}

// listener is one reader. The goroutine that makes the events closes its channel when it is dropped or everything is over.
type listener struct{ events chan []byte }

func newEvents(daemon view.Daemon, logger *slog.Logger, panicked func(cause any)) *events {
	return &events{daemon: daemon, logger: logger, panicked: panicked, wake: make(chan struct{}, 1), listeners: map[*listener]struct{}{}}
}

// Run makes events until ctx ends, then ends the answers of all who listen.
func (a *API) Run(ctx context.Context) { a.events.run(ctx) }

// Notify tells listeners that something has happened, at once, or with the next second if the same has happened in this one. kind is the name
// of the event: reload, failure. It does not wait.
func (a *API) Notify(kind string) { a.events.notify(kind) }

func (e *events) notify(kind string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.listeners) == 0 || slices.Contains(e.notes, kind) {
		return
	}
	e.notes = append(e.notes, kind)
	e.nudge()
}

func (e *events) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run wakes up once a second only while somebody listens.
func (e *events) run(ctx context.Context) {
	defer e.end()
	var last []byte           // the fleet as it was sent
	told := map[string]bool{} // kinds that were sent in this second
	tick := time.NewTimer(period)
	defer tick.Stop()
	tick.Stop()
	ticking := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
			e.tell(told)
		case <-tick.C:
			ticking = false
			clear(told)
			e.tell(told)
			last = e.sendFleet(last)
		}
		switch listening := e.listening(); {
		case listening && !ticking:
			tick.Reset(period)
			ticking = true
		case !listening:
			last = nil
		}
	}
}

func (e *events) listening() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.listeners) > 0
}

// tell sends the notes whose kind was not sent in this second.
func (e *events) tell(told map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var later []string
	for _, kind := range e.notes {
		if told[kind] {
			later = append(later, kind)
			continue
		}
		told[kind] = true
		e.send(event(kind, []byte("{}")))
	}
	e.notes = later
}

// sendFleet sends the fleet unless it is as it was, and gives what it is now.
func (e *events) sendFleet(last []byte) []byte {
	now := e.fleet()
	if now == nil || bytes.Equal(now, last) {
		return last
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send(now)
	return now
}

// send hands an event to every listener; one that does not keep up is dropped. The lock is held.
func (e *events) send(ev []byte) {
	for l := range e.listeners {
		select {
		case l.events <- ev:
		default:
			close(l.events)
			delete(e.listeners, l)
		}
	}
}

// end lets everybody go, and takes nobody any more.
func (e *events) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for l := range e.listeners {
		close(l.events)
		delete(e.listeners, l)
	}
}

// fleet is the event that shows all targets; nil = it could not be made. What servers said is in it: a fault that it uncovers must not end the
// daemon.
func (e *events) fleet() (ev []byte) {
	defer func() {
		if cause := recover(); cause != nil {
			e.logger.Error("panic", slog.String("component", "events"), slog.Any("err", cause), slog.String("stack", string(debug.Stack())))
			if e.panicked != nil {
				e.panicked(cause)
			}
			ev = nil
		}
	}()
	targets := e.daemon.Targets()
	rows := make([]row, len(targets))
	for i := range targets {
		rows[i] = rowOf(&targets[i])
	}
	return event("targets", encode(rows))
}

// event is one in the form of text/event-stream. data is one line.
func event(kind string, data []byte) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, bytes.TrimSpace(data))
}

// row is a target as the event targets shows it.
type row struct {
	Name         string      `json:"name"`
	Health       view.Health `json:"health"`
	Since        *time.Time  `json:"since,omitempty"`
	Reason       string      `json:"reason"`
	State        string      `json:"state"`
	AskedRate    *float64    `json:"asked_rate_hz"`
	AchievedRate float64     `json:"achieved_rate_hz"`
	InFlight     int         `json:"in_flight"`
	Window       view.Window `json:"window"`
}

func rowOf(t *view.Target) row {
	return row{
		Name: t.Name, Health: t.Health, Since: t.Since, Reason: t.Reason, State: t.State,
		AskedRate: t.AskedRate, AchievedRate: t.AchievedRate, InFlight: t.InFlight, Window: t.Window,
	}
}

// join adds a listener; the error says that there are too many, or that everything is over.
func (e *events) join() (*listener, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.over:
		return nil, &refusal{http.StatusServiceUnavailable, "the exporter is stopping"}
	case len(e.listeners) >= maxListeners:
		return nil, &refusal{http.StatusServiceUnavailable, fmt.Sprintf("no more than %d may listen", maxListeners)}
	}
	l := &listener{events: make(chan []byte, backlog)}
	e.listeners[l] = struct{}{}
	e.nudge()
	return l, nil
}

func (e *events) leave(l *listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.listeners, l)
}

// serve answers with events until the reader or everything ends.
func (e *events) serve(w http.ResponseWriter, r *http.Request) error {
	l, err := e.join()
	if err != nil {
		return err
	}
	defer e.leave(l)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back until there are enough
	if r.Method != http.MethodHead {
		e.follow(w, r, l)
	}
	return nil
}

func (e *events) follow(w http.ResponseWriter, r *http.Request, l *listener) {
	out := newDeadline(w)
	send := func(text []byte) bool {
		out.extend()
		_, err := w.Write(text)
		return err == nil && out.Flush() == nil
	}
	// The fleet as it is now. A reader whose connection breaks tries again after two seconds.
	if first := e.fleet(); !send([]byte("retry: 2000\n\n")) || !send(first) {
		return
	}
	quiet := time.NewTicker(heartbeat)
	defer quiet.Stop()
	for {
		next := []byte(": still here\n\n")
		select {
		case <-r.Context().Done():
			return
		case <-quiet.C:
		case ev, ok := <-l.events:
			if !ok {
				return
			}
			next = ev
			quiet.Reset(heartbeat)
		}
		if !send(next) {
			return
		}
	}
}
