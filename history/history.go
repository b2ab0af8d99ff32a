// Package history remembers what became of the requests of each target, for people who look after it happened: the last records and
// failures, figures of the last five minutes, a point for each half minute of the last hour, and what follows from them: the health of a
// target, since when and why. It holds a bounded amount of memory however long it watches, and nothing that /metrics is made of: what is
// measured is counted there, by every request.
//
// It must stay cheap: it is told of a request on that request's goroutine. Each target has a lock of its own.
package history

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// Config says how much is remembered.
type Config struct {
	// Records of each target that are kept; its last 20 failures are kept beside them. All targets together keep at most 16 MiB, oldest out.
	Records int
	// KeepBodies keeps what was asked and answered as well, 16 KiB of each.
	KeepBodies bool
}

// Clock gives instants in nanoseconds since the process epoch and their wall-clock time, as *metrics.SystemClock does.
type Clock interface {
	Now() int64
	Wall(at int64) time.Time
}

// Deps are what a History needs from the process.
type Deps struct {
	Clock Clock
	// Redact removes secrets from bodies before they are kept; nil = there are none. Details of failures come without.
	Redact func(string) string
}

// Target is what has to be known of one to tell how it does.
type Target struct {
	Name string
	SLOs []metrics.SLO // in the order of the verdicts
}

// maxBytes bounds the records of all targets together.
const maxBytes = 16 << 20

// History implements generator.Observer. Safe for concurrent use.
type History struct {
	deps   Deps
	limit  int64 // of bytes; maxBytes
	config atomic.Pointer[Config]
	bytes  atomic.Int64 // held by records

	// targets is replaced, never changed, under setting.
	targets atomic.Pointer[map[string]*target]
	setting sync.Mutex
	// evicting lets one goroutine at a time make room. It is taken before the lock of a target, never after.
	evicting sync.Mutex
}

// New makes a History of no targets.
func New(config Config, deps Deps) *History {
	h := &History{deps: deps, limit: maxBytes}
	h.config.Store(&config)
	h.targets.Store(&map[string]*target{})
	return h
}

// Reconfigure changes what is kept from now on. Bodies that were kept are gone at once when they are not to be kept any more.
func (h *History) Reconfigure(config Config) {
	h.config.Store(&config)
	for _, t := range *h.targets.Load() {
		t.mu.Lock()
		h.bytes.Add(t.records.trim(config.Records))
		if !config.KeepBodies {
			h.bytes.Add(t.records.dropBodies())
		}
		t.publish()
		t.mu.Unlock()
	}
}

// SetTargets says which targets there are, before they run. One that is known keeps its past; one that is not named stays until Forget,
// because its last requests are still running.
func (h *History) SetTargets(targets []Target) {
	h.setting.Lock()
	defer h.setting.Unlock()
	all := maps.Clone(*h.targets.Load())
	for i := range targets {
		if known, ok := all[targets[i].Name]; ok {
			known.setSLOs(targets[i].SLOs)
			continue
		}
		all[targets[i].Name] = newTarget(targets[i].SLOs, h.deps.Clock.Now())
	}
	h.targets.Store(&all)
}

// Forget drops everything that is known of a target.
func (h *History) Forget(name string) {
	h.setting.Lock()
	defer h.setting.Unlock()
	gone, ok := h.target(name)
	if !ok {
		return
	}
	left := maps.Clone(*h.targets.Load())
	delete(left, name)
	h.targets.Store(&left)
	gone.mu.Lock()
	defer gone.mu.Unlock()
	gone.forgotten = true
	h.bytes.Add(-gone.records.bytes)
	gone.records = records{}
	gone.publish()
}

func (h *History) target(name string) (*target, bool) {
	t, ok := (*h.targets.Load())[name]
	return t, ok
}

// Finished implements generator.Observer. Targets that nobody has named are none of its business.
func (h *History) Finished(name string, r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) {
	t, ok := h.target(name)
	if !ok {
		return
	}
	config := h.config.Load()
	var said bodies
	if config.KeepBodies && r.Tape != nil {
		said = bodies{
			prompt: h.asked(r.Tape.RequestBody, int64(len(r.Tape.RequestBody)) < r.RequestBytes),
			answer: h.body(r.Tape.Body, r.Tape.Truncated),
		}
	}
	if h.bytes.Add(t.finished(r, m, verdicts, config.Records, said)) > h.limit {
		h.makeRoom()
	}
}

// Dropped implements generator.Observer.
func (h *History) Dropped(name string, reason metrics.DropReason, n int64) {
	if t, ok := h.target(name); ok {
		t.dropped(reason, n, h.deps.Clock.Now())
	}
}

// makeRoom lets go of the oldest records of whoever holds most, until all are within the limit: one target with large answers does not cost
// another its last failures.
func (h *History) makeRoom() {
	h.evicting.Lock()
	defer h.evicting.Unlock()
	for h.bytes.Load() > h.limit {
		var largest *target
		for _, t := range *h.targets.Load() {
			if largest == nil || t.held.Load() > largest.held.Load() {
				largest = t
			}
		}
		if largest == nil {
			return
		}
		largest.mu.Lock()
		freed := largest.records.evict()
		largest.publish()
		largest.mu.Unlock()
		if h.bytes.Add(-freed); freed == 0 {
			return
		}
	}
}

// Records are the kept ones of a target, newest first: the last ones, and behind them failures that are older.
func (h *History) Records(name string) []view.Record {
	t, ok := h.target(name)
	if !ok {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]view.Record, 0, t.records.len())
	for e := range t.records.newestFirst() {
		out = append(out, e.view(name, h.deps.Clock))
	}
	return out
}

// Fill completes a row of the fleet, which has its name and state, and since when that is so where it is known, with what is remembered of the target: health, last records, window,
// objectives, points and the achieved rate.
func (h *History) Fill(row *view.Target) {
	t, ok := h.target(row.Name)
	if !ok {
		row.Health, row.Reason = view.Unknown, "nothing is known of it yet"
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fill(row, h.deps.Clock)
}
