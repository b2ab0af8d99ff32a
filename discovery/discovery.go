// Package discovery finds targets that come and go, with the packages that Prometheus finds its own with: files, HTTP, DNS, and behind the
// build tag k8s_sd Kubernetes and its InferencePools. It gives labels; what target becomes of them is decided elsewhere.
//
// It must never make a target vanish because the one that tells of it failed: what was known stays.
//
// To add a mechanism: a field in Mechanisms and a line in its method Configs.
package discovery

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sd "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

const (
	// throttle is the least time between two updates while many come in: a rolling restart of a fleet is one change, not hundreds.
	throttle = time.Second
	// endWait is how long Run waits for mechanisms to end: a lookup in DNS knows no context.
	endWait = 2 * time.Second
)

// Deps are what the room is given.
type Deps struct {
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer // gets prometheus_sd_*
	// Redact takes secrets out of errors before they are logged and shown.
	Redact func(string) string
	// Panicked is told what a mechanism panicked with, before it is made anew.
	Panicked func(any)
}

// Discovery keeps the sets of discovered targets. Safe for concurrent use.
type Discovery struct {
	deps    Deps
	metrics *sd.SDMetrics
	manager *sd.Manager
	cancel  context.CancelFunc // of the manager
	changed chan struct{}
	wake    chan struct{}  // the next expiry may be another one
	begun   chan struct{}  // closed when there is the first set
	running sync.WaitGroup // mechanisms
	lastID  atomic.Uint64

	applying sync.Mutex // one change at a time; locked before mu
	started  bool       // the manager runs; under applying

	mu    sync.Mutex
	order []string        // of sets, as in the configuration
	sets  map[string]*set // by name
	tally tally
}

// New registers prometheus_sd_* and starts nothing.
func New(deps Deps) (*Discovery, error) {
	metrics, err := sd.CreateAndRegisterSDMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	if err := registerKubernetes(deps.Registerer); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	manager := sd.NewManager(ctx, deps.Logger, deps.Registerer, metrics, sd.Name("targets"), sd.Updatert(throttle))
	if manager == nil { // it has logged why
		cancel()
		return nil, errors.New("prometheus_sd_* are registered already")
	}
	followKubernetesLog(deps.Logger)
	return &Discovery{
		deps: deps, metrics: metrics, manager: manager, cancel: cancel, sets: map[string]*set{},
		changed: make(chan struct{}, 1), wake: make(chan struct{}, 1), begun: make(chan struct{}),
	}, nil
}

// Run discovers until ctx ends, and returns when nothing of it runs any more.
func (d *Discovery) Run(ctx context.Context) {
	defer d.cancel()
	select {
	case <-d.begun: // without a set there is nothing to wake up for
	case <-ctx.Done():
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = d.manager.Run() // only ever says that its context ended
	}()
	d.start()
	d.follow(ctx)
	d.stop()
	for range d.manager.SyncCh() { // until its writer has ended; it waits for a reader
	}
	<-ended
	d.awaitEnd()
}

// start hands what was applied before to the manager.
func (d *Discovery) start() {
	d.applying.Lock()
	defer d.applying.Unlock()
	d.started = true
	d.handOver()
}

// stop ends the manager; what is applied from now on is only noted.
func (d *Discovery) stop() {
	d.applying.Lock()
	defer d.applying.Unlock()
	d.started = false
	d.cancel()
}

// follow takes what is found, and lets what vanished go when its grace is over.
func (d *Discovery) follow(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if wait, ok := d.untilExpiry(); ok {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case found := <-d.manager.SyncCh():
			d.contained(d.deps.Logger, func() { d.found(found) })
		case <-d.wake:
		case <-timer.C:
			d.expire()
		}
	}
}

// awaitEnd waits for the mechanisms.
func (d *Discovery) awaitEnd() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.running.Wait()
	}()
	timer := time.NewTimer(endWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		d.deps.Logger.Warn("discovery ends before its last lookups have")
	}
}

// contained runs f on labels of others, and tells whether it came back by itself.
func (d *Discovery) contained(logger *slog.Logger, f func()) (orderly bool) {
	defer func() {
		if v := recover(); v != nil {
			logger.Error("discovery panicked", slog.Any("err", v), slog.String("stack", string(debug.Stack())))
			d.deps.Panicked(v)
		}
	}()
	f()
	return true
}

// found takes the groups of all sets.
func (d *Discovery) found(groups map[string][]*targetgroup.Group) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, changed := d.deps.Now(), false
	for name, of := range groups {
		if s := d.sets[name]; s != nil {
			changed = s.sync(of, now) || changed
		}
	}
	d.signal(changed)
}

func (d *Discovery) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, changed := d.deps.Now(), false
	for _, s := range d.sets {
		changed = s.expire(now) || changed
	}
	d.signal(changed)
}

// untilExpiry is the time until the grace of the next target is over; ok is false if none is missing.
func (d *Discovery) untilExpiry() (wait time.Duration, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var next time.Time
	for _, s := range d.sets {
		if at, missing := s.nextExpiry(); missing && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return max(next.Sub(d.deps.Now()), 0), ok
}

func (d *Discovery) signal(changed bool) {
	if changed {
		poke(d.changed)
	}
}

// poke leaves a mark in a channel of one, if there is none yet.
func poke(marks chan<- struct{}) {
	select {
	case marks <- struct{}{}:
	default:
	}
}

// Changed gets a value when Found has other targets than when it got the last one. Several changes may be one value.
func (d *Discovery) Changed() <-chan struct{} { return d.changed }

// Found gives all sets in the order of the configuration. Nobody may change what is in them.
func (d *Discovery) Found() []Set {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Set, 0, len(d.order))
	for _, name := range d.order {
		out = append(out, d.sets[name].show())
	}
	return out
}
