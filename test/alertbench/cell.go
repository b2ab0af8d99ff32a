package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// The alerts that are measured, ours and the others.
const (
	targetDown        = "AIPerfTargetDown"
	burnPageAlert     = "AIPerfSLOBurnPage"
	burnTicketAlert   = "AIPerfSLOBurnTicket"
	naiveAlert        = "NaiveQuantile"
	multiwindowPage   = "MultiwindowPage"
	multiwindowTicket = "MultiwindowTicket"
)

// measured are all of them.
func measured() []string {
	return []string{targetDown, burnPageAlert, burnTicketAlert, naiveAlert, multiwindowPage, multiwindowTicket}
}

// history is how long canaries have run before anything counts: the longest window of the rules.
const history = 72 * time.Hour

// warmUp is how long rules have been evaluated before an incident.
const warmUp = 20 * time.Minute

// hurry is how long the rule engine follows an incident, for which the model has all the time.
const hurry = 8 * time.Hour

// cell is one line of a table: canaries of one kind.
type cell struct {
	objective float64
	rate      rate
	bursty    bool
	kind      kind
}

// rate is how often a canary asks.
type rate struct {
	name  string
	value float64 // requests per second
}

// kind is what goes wrong; the zero value: nothing.
type kind struct {
	name    string
	times   float64
	outage  bool
	patient time.Duration // how long an alert has to see it
}

func (c *cell) String() string {
	name := fmt.Sprintf("%s %s %s", percent(c.objective), c.rate.name, c.kind.name)
	if c.bursty {
		name += " bursty"
	}
	return name
}

// random is the source of chance of one canary of the cell, or of what is common to all.
func (c *cell) random(seed uint64, what string, number int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %d", c, what, number)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// epoch is when all canaries begin.
func epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// canary makes one of the cell's canaries. It says when its incident begins, as a time in milliseconds.
func (c *cell) canary(seed uint64, number int, healthy, scrape time.Duration) (one *canary, incidentAt int64) {
	random := c.random(seed, "canary", number)
	t := traffic{rate: c.rate.value, budget: 1 - c.objective, bursty: c.bursty, length: history + healthy}
	if c.kind.name != "" {
		// At any time between two evaluations, and requests.
		at := history + warmUp + time.Duration(random.Int64N(int64(2*time.Minute)))
		t.incident = incident{at: at, times: c.kind.times, outage: c.kind.outage}
		t.length = at + c.kind.patient + 5*time.Minute
	}
	return t.observe(epoch(), scrape, random), epoch().Add(t.incident.at).UnixMilli()
}

// plan is how much of a cell is gone through.
type plan struct {
	rules    map[float64]*ruleSet // by objective
	seed     uint64
	scrape   time.Duration
	canaries int           // or incidents
	healthy  time.Duration // of each canary, after its history
	hurried  bool          // an incident is left alone after an hour when ours have seen it, and after hurry in any case
}

// result is what came of it.
type result struct {
	cell
	canaries int
	days     float64 // counted, of all canaries together
	ledger   ledger
	began    []int64 // of the incidents
	hurried  bool
	ended    []int64 // when nothing more could be learned of one; 0: never
}

// start is when rules are evaluated for the first time, and end for the last time.
func (c *cell) start() time.Time { return epoch().Add(history) }

func (c *cell) end(p *plan) time.Time {
	if c.kind.name != "" {
		return c.start().Add(warmUp + 2*time.Minute + c.kind.patient)
	}
	return c.start().Add(p.healthy)
}

// engine loads the rules for canaries of one objective, whose groups are evaluated at the same times whoever asks.
func (p *plan) engine(objective float64, fires func(alert string, number int, at int64)) (*engine, error) {
	c := cell{objective: objective}
	return newEngine(p.rules[objective], c.start(), c.random(p.seed, "groups", 0), fires)
}

func (c *cell) result(p *plan) *result {
	return &result{
		cell: *c, hurried: p.hurried, canaries: p.canaries, days: float64(p.canaries) * p.healthy.Hours() / 24, ledger: ledger{},
		began: make([]int64, p.canaries), ended: make([]int64, p.canaries),
	}
}

// watched is a canary that the engine evaluates rules over.
type watched struct {
	canary *canary
	result *result
	number int // among those of its cell
}

// evaluate has the rule engine go through cells of one objective, all of their canaries together, since most of what an evaluation costs does
// not depend on how many there are.
func evaluate(ctx context.Context, cells []cell, p *plan) ([]*result, error) {
	var results []*result
	var all []watched
	e, err := p.engine(cells[0].objective, func(alert string, number int, at int64) {
		w := all[number]
		w.result.ledger.fires(alert, w.number, w.result.canaries, at)
	})
	if err != nil {
		return nil, err
	}
	var end time.Time
	for i := range cells {
		q := p.of(&cells[i])
		c := cells[i]
		if q.hurried {
			c.kind.patient = min(c.kind.patient, hurry)
		}
		r := c.result(q)
		results = append(results, r)
		for number := range q.canaries {
			var one *canary
			one, r.began[number] = c.canary(q.seed, number, q.healthy, q.scrape)
			e.watch(len(all), one, c.objective)
			all = append(all, watched{one, r, number})
		}
		if at := c.end(q); at.After(end) {
			end = at
		}
	}
	left := slices.Clone(all)
	for len(left) > 0 {
		now, err := e.step(ctx)
		if err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(left, func(w watched) bool {
			if !w.result.done(w.number, now.UnixMilli()) {
				return false
			}
			w.result.ended[w.number] = now.UnixMilli()
			e.store.remove(w.canary)
			return true
		})
		if !now.Before(end) {
			break
		}
	}
	return results, nil
}

// imitate has the model go through the cell, at the times at which the engine would.
func (c *cell) imitate(ctx context.Context, p *plan, rules modelRules) (*result, error) {
	r := c.result(p)
	e, err := p.engine(c.objective, nil)
	if err != nil {
		return nil, err
	}
	m := newModel(e, rules)
	for number := range p.canaries {
		one, began := c.canary(p.seed, number, p.healthy, p.scrape)
		r.began[number] = began
		steps := 0
		m.follow(one, c.objective, c.end(p).UnixMilli(), func(alert string, at int64) {
			r.ledger.fires(alert, number, p.canaries, at)
		}, func(now int64) bool {
			steps++
			if r.done(number, now) {
				r.ended[number] = now
			}
			return r.ended[number] != 0 || steps%1024 == 0 && ctx.Err() != nil
		})
	}
	return r, ctx.Err()
}

// done tells whether nothing more can be learned of a canary: its incident was seen by all, or by all that can see it.
func (r *result) done(number int, now int64) bool {
	if r.kind.name == "" || now < r.began[number] {
		return false
	}
	if now > r.began[number]+r.kind.patient.Milliseconds() {
		return true
	}
	if r.hurried && now > r.began[number]+time.Hour.Milliseconds() && r.seen(number, targetDown, burnPageAlert) {
		return true
	}
	if r.kind.outage && now < r.began[number]+30*time.Minute.Milliseconds() {
		// What fails has no latency, so the naive rule sees at most the end of what was before.
		if _, seen := r.ledger.first(number, r.began[number], naiveAlert); !seen {
			return false
		}
	} else if !r.kind.outage && !r.seen(number, naiveAlert) {
		return false
	}
	return r.seen(number, targetDown, burnPageAlert) && r.seen(number, multiwindowPage)
}

func (r *result) seen(number int, alerts ...string) bool {
	_, seen := r.ledger.first(number, r.began[number], alerts...)
	return seen
}

// delays are those of alerts, any of them.
func (r *result) delays(alerts ...string) delays {
	var d delays
	for number, began := range r.began {
		delay, seen := r.ledger.first(number, began, alerts...)
		d.add(delay, seen && delay <= r.kind.patient)
	}
	return d
}

// perMonth is the number of episodes of alerts in 30 days of a canary.
func (r *result) perMonth(alerts ...string) float64 {
	return float64(r.episodes(alerts...)) / r.days * 30
}
