// Package progress shows how a run with an end is getting on: a block of lines that is drawn again and again where there is a terminal, a line
// now and then where there is none.
//
// It must never hold up who measures: what is counted is counted under a lock that is never held while something is written. Its memory does not
// grow with the number of requests.
package progress

import (
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Plan is what a run is to do.
type Plan struct {
	Targets  []string
	Requests int64         // that each target sends; 0 = only Duration ends it
	Duration time.Duration // 0 = only Requests ends it
}

// Progress counts what becomes of the arrivals of a run. It is safe for concurrent use.
type Progress struct {
	plan    Plan
	targets []*tally // as in the plan
	byName  map[string]*tally
}

// tally counts those of a target.
type tally struct {
	name string

	mu                    sync.Mutex // guards what follows
	ok, failed, cancelled int64
	dropped               int64
	class                 metrics.ErrorClass // of the last failure
	firstTokens           sketch
	recent                recent
}

// New makes a Progress of which nothing is done yet.
func New(plan Plan) *Progress {
	p := &Progress{plan: plan, byName: make(map[string]*tally, len(plan.Targets))}
	for _, name := range plan.Targets {
		t := &tally{name: name}
		p.targets = append(p.targets, t)
		p.byName[name] = t
	}
	return p
}

// Finished implements generator.Observer.
func (p *Progress) Finished(target string, r *metrics.Record, m *metrics.Measures, _ []metrics.Verdict) {
	t := p.byName[target]
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r.Outcome {
	case metrics.Failure:
		t.failed++
		t.class = r.Class
	case metrics.Cancelled:
		t.cancelled++
	case metrics.Success:
		t.ok++
		if m.TTFT.Defined && !r.Warmup {
			t.firstTokens.add(m.TTFT.V)
		}
	}
}

// Dropped implements generator.Observer.
func (p *Progress) Dropped(target string, _ metrics.DropReason, n int64) {
	t := p.byName[target]
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropped += n
}

// row is what is shown of a target, or of several together.
type row struct {
	name                           string
	ok, failed, cancelled, dropped int64
	class                          metrics.ErrorClass
	firstTokens                    sketch
	inFlight                       int
	rateHz                         float64 // of ended requests, lately

	requests int64         // that are to be sent, 0 = as many as there is time for
	elapsed  time.Duration // since the traffic began
	duration time.Duration // 0 = as long as the requests take

	left  time.Duration // how long it goes on, as far as can be told by now
	known bool          // whether it can

	slowest float64 // p95 of the time to the first token, where rows are ordered by it
}

// rows takes what is known at a time since the traffic began. inFlight are the running requests by target.
func (p *Progress) rows(elapsed time.Duration, inFlight map[string]int) []row {
	out := make([]row, len(p.targets))
	for i, t := range p.targets {
		out[i] = t.row(elapsed)
		out[i].inFlight = inFlight[t.name]
		out[i].requests, out[i].duration = p.plan.Requests, p.plan.Duration
		out[i].estimate()
	}
	return out
}

func (t *tally) row(elapsed time.Duration) row {
	t.mu.Lock()
	defer t.mu.Unlock()
	return row{
		name: t.name, ok: t.ok, failed: t.failed, cancelled: t.cancelled, dropped: t.dropped, class: t.class, firstTokens: t.firstTokens,
		rateHz: t.recent.rate(elapsed, t.ok+t.failed+t.cancelled), elapsed: elapsed,
	}
}

// sum is all rows in one, which goes on as long as the longest.
func sum(name string, rows []row) row {
	out := row{name: name, known: true}
	for i := range rows {
		r := &rows[i]
		out.ok, out.failed, out.cancelled, out.dropped = out.ok+r.ok, out.failed+r.failed, out.cancelled+r.cancelled, out.dropped+r.dropped
		out.inFlight, out.rateHz, out.requests = out.inFlight+r.inFlight, out.rateHz+r.rateHz, out.requests+r.requests
		out.elapsed, out.duration = r.elapsed, r.duration
		out.left, out.known = max(out.left, r.left), out.known && r.known
		out.firstTokens.merge(&r.firstTokens)
		if r.failed > 0 {
			out.class = r.class
		}
	}
	return out
}

// done is how many requests have ended.
func (r *row) done() int64 { return r.ok + r.failed + r.cancelled }

// share is how much of the run is over, from 0 to 1.
func (r *row) share() float64 {
	share := 0.0
	if r.requests > 0 {
		share = float64(r.done()) / float64(r.requests)
	}
	if r.duration > 0 {
		share = max(share, r.elapsed.Seconds()/r.duration.Seconds())
	}
	return min(share, 1)
}

// estimate finds out how long it goes on.
func (r *row) estimate() {
	if r.duration > 0 {
		r.left, r.known = max(r.duration-r.elapsed, 0), true
	}
	rest := time.Duration(0)
	switch missing := r.requests - r.done(); {
	case r.requests == 0, missing > 0 && r.rateHz == 0:
		return
	case missing > 0:
		rest = time.Duration(float64(missing) / r.rateHz * float64(time.Second))
	}
	if !r.known || rest < r.left {
		r.left, r.known = rest, true
	}
}
