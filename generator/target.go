package generator

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Target is the life of one target: arrival → admit → build → send → decode → record. What it asks, whom and how is its generation, which a
// change of the configuration replaces; limits, back-off, pause and series live on.
type Target struct {
	name     string
	deps     Deps
	series   *metrics.Target
	failures *failureLog
	share    *load.Share // of the limits of all targets
	gate     *load.Gate
	totals   totals

	config    atomic.Pointer[TargetConfig]   // the newest
	account   atomic.Pointer[budget.Account] // nil = the target has no budget of its own
	current   atomic.Pointer[generation]     // by which arrivals are admitted now
	newest    *generation                    // that has been made, guarded as changes are
	pausedAt  atomic.Int64                   // since when there are no arrivals; 0 = there are
	revisions atomic.Int64                   // configurations so far
	leaving   atomic.Bool                    // the configuration does not have it any more
	wake      chan struct{}                  // nudges the loop; holds at most one
	state     atomic.Pointer[since]

	buffers sync.Pool // *[]byte, request bodies
	stamps  sync.Pool // *[]int64, instants of content events
	tapes   sync.Pool // *metrics.Tape, blank

	mu      sync.Mutex
	looping bool        // a loop takes the revisions
	pending []*revision // that it has not taken yet

	// The generator's lock guards these.
	alive      bool // it has a goroutine
	buried     bool // its goroutine has nothing more to do
	superseded bool // its name has belonged to another target since
}

// since is what a target does, and since when.
type since struct {
	state metrics.TargetState
	at    int64
}

// NewTarget builds a target and starts its series at zero. Nothing is sent yet.
func NewTarget(config TargetConfig, deps Deps) (*Target, error) {
	if deps.Limiter == nil {
		deps.Limiter = load.NewLimiter(0, 0)
	}
	if deps.Tokenizers == nil {
		deps.Tokenizers = &tokenizer.Shelf{}
	}
	t, err := prepareTarget(&config, deps)
	if err != nil {
		return nil, err
	}
	t.begin()
	return t, nil
}

// prepareTarget builds a target of which nobody knows yet. It either begins or is discarded.
func prepareTarget(config *TargetConfig, deps Deps) (*Target, error) {
	g, err := newGeneration(config, &deps, nil, false)
	if err != nil {
		return nil, err
	}
	t := &Target{
		name: config.Name, deps: deps, gate: load.NewGate(&config.Load), newest: g, wake: make(chan struct{}, 1),
		failures: newFailureLog(deps.Logger.With(slog.String("target", config.Name)), deps.Clock),
	}
	t.deps.Tokenizers = nil // are needed no more
	t.config.Store(config)
	t.current.Store(g)
	t.buffers.New = func() any { return new([]byte) }
	t.stamps.New = func() any { return new([]int64) }
	return t, nil
}

// begin makes the target known: it takes its part in what targets share, and its series begin.
func (t *Target) begin() {
	c := t.config.Load()
	t.revisions.Store(1)
	t.pause(c.pausedByFile())
	if t.share = t.deps.Share; t.share == nil {
		t.share = t.deps.Limiter.Join()
	}
	t.totals.enter(t.newest.content)
	t.fund(&c.Budget)
	t.state.Store(&since{metrics.StateStarting, t.deps.Clock.Now()})
	t.series = t.deps.Store.Add(t.info(c))
}

// info is what the series say about the target.
func (t *Target) info(c *TargetConfig) metrics.TargetInfo {
	info := c.info()
	info.Live = t.live
	return info
}

// fund gives the target the account of its budget, with its limits. What is used of it stays used.
func (t *Target) fund(c *budget.Config) {
	switch {
	case t.deps.Ledger == nil:
	case c.IsZero():
		t.account.Store(nil)
	default:
		t.account.Store(t.deps.Ledger.Account(t.name, c))
	}
}

// Close removes the target's series and its idle connections. Not while it runs.
func (t *Target) Close() {
	t.newest.release()
	if t.deps.Share == nil {
		t.share.Leave()
	}
	t.deps.Store.Remove(t.series)
}

// Pause stops or resumes the arrivals. Requests that run go on.
func (t *Target) Pause(paused bool) {
	t.pause(paused)
	t.nudge()
}

func (t *Target) pause(paused bool) {
	if !paused {
		t.pausedAt.Store(0)
	} else {
		t.pausedAt.CompareAndSwap(0, max(1, t.deps.Clock.Now()))
	}
}

// paused tells whether there are no arrivals.
func (t *Target) paused() bool { return t.pausedAt.Load() != 0 }

// pausedByHand tells whether somebody has stopped the arrivals whom the configuration does not stop.
func (t *Target) pausedByHand() bool { return t.paused() && !t.config.Load().pausedByFile() }

// nudge has the loop look again.
func (t *Target) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// setState says what the target is doing.
func (t *Target) setState(state metrics.TargetState) {
	t.state.Store(&since{state, t.deps.Clock.Now()})
	t.series.SetState(state)
}

// present gives the generation by which arrivals are admitted, with one user more; false: the target is closed.
func (t *Target) present() (*generation, bool) {
	for {
		g := t.current.Load()
		if g.acquire() {
			return g, true
		}
		if t.current.Load() == g {
			return nil, false
		}
	}
}

// Once sends one request now, outside the schedule, and waits for its end.
func (t *Target) Once(ctx context.Context) {
	if g, ok := t.present(); ok {
		defer g.release()
		t.once(ctx, g, nil)
	}
}

// once sends one request of a generation now. It asks what h has decided; nil = nothing is.
func (t *Target) once(ctx context.Context, g *generation, decided func(*hold)) {
	now := t.deps.Clock.Now()
	h, refused := t.admit(g, load.Arrival{Sched: now, Ready: now}, now)
	if refused != "" {
		t.series.Dropped(refused, 1)
		t.observeDrop(refused, 1)
		return
	}
	defer func() { t.share.Release(t.deps.Clock.Now()) }()
	h.prefilled = func() {}
	if decided != nil {
		decided(h)
	}
	t.request(ctx, t.series.Sent(), h, now, false)
}

// caught counts a panic that was caught and tells of it.
func (t *Target) caught(in metrics.Component, cause any) {
	t.deps.Store.Panicked(in)
	t.deps.Logger.Error("panic", slog.String("component", string(in)), slog.String("target", t.name), slog.Any("err", cause),
		slog.String("stack", string(debug.Stack())))
}

// observeDrop tells the observer of arrivals that were counted as dropped.
func (t *Target) observeDrop(reason metrics.DropReason, n int64) {
	if t.deps.Observer != nil {
		t.deps.Observer.Dropped(t.name, reason, n)
	}
}

// Run sends requests as the load wants them until ctx ends, until the load has no more arrivals, or until as many have been sent as limit
// says, 0 = no limit. Then it lets the running ones end for at most grace and cancels the rest. It returns when the last has ended.
func (t *Target) Run(ctx context.Context, grace time.Duration, limit int64) {
	t.run(ctx, &pace{grace: grace, limit: limit})
}

var errStopped = errors.New("stopped")

// sleep waits, unless ctx ends or the target is to leave before.
func (t *Target) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !t.leaving.Load() {
		select {
		case <-ctx.Done():
			return false
		case <-t.wake:
		case <-timer.C:
			return true
		}
	}
	return false
}
