package history

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// target is what is remembered of one.
type target struct {
	held atomic.Int64 // bytes of its records, for who makes room

	mu        sync.Mutex
	forgotten bool
	slos      []metrics.SLO
	begun     int64 // when it was first heard of
	at        int64 // the newest instant that was noted
	records   records
	samples   samples
	points    points
	sent      sent

	finding     finding // of the newest requests, whatever the state
	judged      int64   // when that was found
	unjudged    bool    // there were drops since
	since       int64   // of its health
	idleSince   int64   // 0 = it is not
	lastSuccess int64   // 0 = there was none
	last        *entry  // copies: records may let go of theirs
	lastFailure *entry
}

func newTarget(slos []metrics.SLO, now int64) *target {
	return &target{
		slos: slos, begun: now, at: now, since: now, finding: finding{health: view.Unknown}, points: newPoints(now, len(slos)),
	}
}

// publish tells how much its records take. The lock is held.
func (t *target) publish() { t.held.Store(t.records.bytes) }

// advance moves the time on; instants of different goroutines may come out of order. The lock is held.
func (t *target) advance(to int64) {
	t.at = max(t.at, to)
	t.points.advance(t.at)
}

// finished takes a request of which so many are kept, and tells by how much the bytes have grown.
func (t *target) finished(r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict, kept int, said bodies) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.forgotten {
		return 0
	}
	e := t.records.fresh()
	verdicts = t.inOrder(verdicts)
	e.take(r, m, verdicts, t.slos)
	t.remember(e)
	e.prompt, e.answer = said.prompt, said.answer
	grown := t.records.add(e, kept)
	t.note(r, m, verdicts)
	t.publish()
	return grown
}

// inOrder gives verdicts in the order of the objectives that the target has now: a request may have begun with others. One that it was not judged by
// counts as good. The lock is held.
func (t *target) inOrder(verdicts []metrics.Verdict) []metrics.Verdict {
	same := func(v metrics.Verdict, slo metrics.SLO) bool { return v.SLO == slo.Name }
	if len(verdicts) == 0 || slices.EqualFunc(verdicts, t.slos, same) {
		return verdicts
	}
	out := make([]metrics.Verdict, len(t.slos))
	for i := range t.slos {
		out[i] = metrics.Verdict{SLO: t.slos[i].Name, Good: true}
		if at := slices.IndexFunc(verdicts, func(v metrics.Verdict) bool { return same(v, t.slos[i]) }); at >= 0 {
			out[i] = verdicts[at]
		}
	}
	return out
}

// note adds a request to the figures. The lock is held.
func (t *target) note(r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) {
	t.settle()
	t.advance(r.Time.End)
	t.sent.add(t.at)
	// A warm-up is no measurement, and that we have cancelled a request says nothing about the server.
	if r.Warmup || r.Outcome == metrics.Cancelled {
		return
	}
	s := sampleOf(r, m, verdicts, len(t.slos))
	s.at = t.at
	t.samples.add(s)
	t.points.now.request(&s, r, m)
	t.judge()
}

// remember keeps the last request and the last failure apart from all others: neither may leave with the records that make room. The lock is
// held.
func (t *target) remember(e *entry) {
	keep(&t.last, e)
	switch {
	case e.failed():
		keep(&t.lastFailure, e)
	case e.outcome == metrics.Success && !e.warmup:
		t.lastSuccess = e.time.End
	}
}

// keep copies an entry without what makes it large.
func keep(to **entry, from *entry) {
	if *to == nil {
		*to = &entry{}
	}
	e := *to
	missed := e.missed[:0]
	*e = *from
	e.missed, e.ticks, e.prompt, e.answer = missed, nil, "", ""
	e.missed = append(e.missed, from.missed...)
}

func (t *target) dropped(reason metrics.DropReason, n, now int64) {
	at := slices.Index(metrics.DropReasons, reason)
	if at < 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now-t.judged >= judgePause {
		t.settle()
	}
	t.advance(now)
	t.points.now.drop(at, n, t.slos)
	if t.unjudged = true; t.at-t.judged >= judgePause {
		t.judge()
	}
}

// judgePause is the least time between two looks at how the target does that only drops are the reason for: where nothing can be sent they come by the
// thousand, and each says the same. It is how far off the beginning of an illness may be that only they show.
const judgePause = int64(time.Second)

// settle looks at how the target does if there were drops since the last look: at the instant of the last one, before anything else is noted. The lock
// is held.
func (t *target) settle() {
	if t.unjudged {
		t.judge()
	}
}

// judge looks at how the target does. A health that changes has begun with what made it so. The lock is held.
func (t *target) judge() {
	found := t.find(t.at)
	t.judged, t.unjudged = t.at, false
	if found.health != t.finding.health {
		t.since = t.at
		if found.since != 0 {
			t.since = found.since
		}
	}
	t.finding = found
}

// setSLOs changes the objectives. What is known by a name that stays is kept.
func (t *target) setSLOs(slos []metrics.SLO) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := make([]int, len(slos)) // index of each before; -1 = it is new
	for i := range slos {
		was[i] = slices.IndexFunc(t.slos, func(old metrics.SLO) bool { return old.Name == slos[i].Name })
	}
	t.samples.reorder(was)
	t.points.reorder(was)
	t.slos = slos
}

// fill completes a row. The lock is held.
func (t *target) fill(row *view.Target, clock Clock) {
	t.settle()
	t.advance(clock.Now())
	t.judge()
	t.fillHealth(row, clock)
	if t.last != nil {
		row.LastRecord = t.last.shown(row.Name, clock)
	}
	if t.lastFailure != nil {
		row.LastFailure = t.lastFailure.shown(row.Name, clock)
	}
	if t.lastSuccess != 0 {
		row.LastSuccess = new(wall(clock, t.lastSuccess))
	}
	row.AchievedRate = t.sent.rate(t.begun, t.at)
	row.Window = t.window(t.at)
	row.SLOs = t.objectives()
	row.Points = t.points.closed(clock)
}

func (e *entry) shown(target string, clock Clock) *view.Record { return new(e.view(target, clock)) }

// fillHealth says how the target does. What is switched off cannot be ill; what rests because its requests fail is.
func (t *target) fillHealth(row *view.Target, clock Clock) {
	if idle := idleReason(row.State); idle != "" && (row.State != string(metrics.StateBackoff) || t.finding.health != view.Failing) {
		row.Health, row.Reason = view.Idle, idle
		if row.Since == nil { // who made the row does not know
			t.rest()
			row.Since = new(wall(clock, t.idleSince))
		}
		return
	}
	t.idleSince = 0
	row.Health, row.Reason, row.Since = t.finding.health, t.explain(), new(wall(clock, t.since))
	if row.State == string(metrics.StateFailed) {
		row.Health, row.Reason = view.Failing, "a fault of the exporter stopped it; it starts again by itself"
	}
}

// rest notes that the target is idle. It began with the last request, as far as one is known.
func (t *target) rest() {
	if t.idleSince != 0 {
		return
	}
	t.idleSince = t.at
	if newest := t.samples.newest(); newest != nil {
		t.idleSince = newest.at
	}
}

// idleReason says why nothing is sent in a state; "" = something is.
func idleReason(state string) string {
	switch state {
	case string(metrics.StatePaused):
		return "paused"
	case string(metrics.StateBackoff):
		return "waits after failures before it sends again"
	case string(metrics.StateBudget):
		return "the budget is spent"
	case string(metrics.StateDraining):
		return "removed; its last requests end"
	}
	return ""
}

// sent counts requests over the last minute.
type sent struct {
	cells [sentCells]int
	cell  int64 // number of the newest cell since the epoch
}

const (
	sentCells  = 13 // of which the newest is not complete
	cellLength = int64(5 * time.Second)
)

func (s *sent) add(at int64) {
	s.advance(at)
	s.cells[s.cell%sentCells]++
}

func (s *sent) advance(at int64) {
	now := at / cellLength
	for range min(max(now-s.cell, 0), sentCells) {
		s.cell++
		s.cells[s.cell%sentCells] = 0
	}
	s.cell = max(s.cell, now)
}

// rate is per second, over the complete cells since begun.
func (s *sent) rate(begun, at int64) float64 {
	s.advance(at)
	requests := 0
	for i := range s.cells {
		requests += s.cells[i]
	}
	oldest := max((s.cell-sentCells+1)*cellLength, begun)
	return float64(requests) / max(metrics.Seconds(at-oldest), metrics.Seconds(cellLength))
}
