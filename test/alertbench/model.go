package main

import (
	"cmp"
	"math"
	"time"

	"github.com/prometheus/prometheus/rules"
)

// model is what the rules compute, written in Go: it takes a hundredth of the time that the rule engine takes, so it can go through more
// months and incidents, and through rules that were tried. Where both run, they fire at the same evaluations; a test and the benchmark itself compare them.
type model struct {
	rules    modelRules
	schedule []modelGroup
}

// modelGroup is a group of rules as the engine evaluates it.
type modelGroup struct {
	first    int64 // milliseconds
	every    int64
	windows  []int // whose requests it counts
	run      bool  // it records the evidence of the run
	alerting []modelAlert
}

// modelAlert is an alert: when its condition holds, and how the engine makes it fire.
type modelAlert struct {
	name      string
	wait      int64 // milliseconds
	keep      int64
	condition func(*state) bool
}

// windows over which requests are counted, shortest first.
var windows = [...]struct {
	name   string
	length int64 // milliseconds
}{{"5m", 300e3}, {"30m", 1800e3}, {"1h", 3600e3}, {"2h", 7200e3}, {"6h", 21600e3}, {"1d", 86400e3}, {"3d", 259200e3}}

const (
	w5m = iota
	w30m
	w1h
	w2h
	w6h
	w1d
	w3d
)

// counted is what rules record of a window.
type counted struct {
	requests, bad float64
	burn          float64 // not a number without requests, as all comparisons with a series that is not there fail
	breach        float64 // nats
	outage        float64
}

// state is what is recorded of a canary.
type state struct {
	budget  float64
	now     int64
	canary  *canary
	windows [len(windows)]counted
	run     float64 // bad requests in a row
	runNats float64
}

// read counts the requests of a window as the rules do.
func (s *state) read(w int) {
	c := s.canary
	from, to := c.since(s.now-windows[w].length), c.upTo(s.now)
	r := &s.windows[w]
	if to-from < 1 {
		*r = counted{requests: math.NaN(), burn: math.NaN()}
		return
	}
	all := func(i int) float64 { return float64(c.requests(i)) }
	good := func(i int) float64 { return float64(c.requests(i) - int64(c.bad[i])) }
	r.requests = s.increase(all(from), all(to), from, to, windows[w].length)
	r.bad = max(r.requests-s.increase(good(from), good(to), from, to, windows[w].length), 0)
	if r.requests <= 0 {
		*r = counted{burn: math.NaN(), breach: math.NaN(), outage: math.NaN()}
		return
	}
	r.burn = r.bad / r.requests / s.budget
	r.breach, r.outage = 0, evidence(r.requests, r.bad, max(s.budget, 0.5))
	if r.bad >= 2.5 {
		r.breach = evidence(r.requests, r.bad, s.budget)
	}
}

// since is the first scrape after a time, upTo the last one until it.
func (c *canary) since(t int64) int { return max(0, int((t-c.start)/c.every)+1) }
func (c *canary) upTo(t int64) int  { return min(len(c.bad)-1, int((t-c.start)/c.every)) }

// increase is PromQL's: what was counted between the first and the last scrape of the window, lengthened to the whole of it.
func (s *state) increase(first, last float64, from, to int, window int64) float64 {
	c, counted := s.canary, last-first
	every := float64(c.every) / 1000
	sampled := float64(c.at(to)-c.at(from)) / 1000
	before, after := float64(c.at(from)-(s.now-window))/1000, float64(s.now-c.at(to))/1000
	if before >= every*1.1 {
		before = every / 2
	}
	if counted > 0 {
		before = min(before, sampled*(first/counted)) // a counter was never below 0
	}
	if after >= every*1.1 {
		after = every / 2
	}
	return counted * ((sampled + before + after) / sampled)
}

// evidence is how far bad requests of n are from a share of p, in nats.
func evidence(n, bad, p float64) float64 {
	if !(bad > n*p) {
		return 0
	}
	bad, good := max(bad, 1e-9), max(n-bad, 1e-9)
	return bad*math.Log(bad/(n*p)) + good*math.Log(good/(n*(1-p)))
}

// follow evaluates the rules over a canary from the first evaluation on until a time or until done says so.
func (m *model) follow(c *canary, objective float64, until int64, fires func(alert string, at int64), done func(now int64) bool) {
	s := &state{budget: 1 - objective, canary: c}
	for i := range s.windows {
		s.windows[i].burn = math.NaN()
	}
	next := make([]int64, len(m.schedule))
	alerts := make([][]firing, len(m.schedule))
	for i := range m.schedule {
		next[i] = m.schedule[i].first
		alerts[i] = make([]firing, len(m.schedule[i].alerting))
	}
	for {
		i := 0
		for j := range next {
			if next[j] < next[i] {
				i = j
			}
		}
		g := &m.schedule[i]
		s.now = next[i]
		next[i] += g.every
		for _, w := range g.windows {
			s.read(w)
		}
		if g.run {
			s.run = float64(c.run[c.upTo(s.now)])
			s.runNats = s.run * -math.Log(s.budget)
		}
		for j := range g.alerting {
			a := &g.alerting[j]
			if alerts[i][j].evaluate(a, s.now, a.condition(s)) {
				fires(a.name, s.now)
			}
		}
		if s.now >= until || done(s.now) {
			return
		}
	}
}

// firing is how far an alert has come.
type firing struct {
	active  bool
	fires   bool
	since   int64 // when its condition began to hold
	stopped int64 // when it ceased to while it fired; 0: it holds
}

// evaluate is what Prometheus does with the result of an alert's condition. It tells whether the alert fires.
func (f *firing) evaluate(a *modelAlert, now int64, holds bool) bool {
	switch {
	case holds && !f.active:
		*f = firing{active: true, since: now}
	case holds:
		f.stopped = 0
	case f.fires:
		f.stopped = cmp.Or(f.stopped, now)
		if now-f.stopped >= a.keep {
			*f = firing{}
		}
	default:
		*f = firing{}
	}
	f.fires = f.active && (f.fires || now-f.since >= a.wait)
	return f.fires
}

// newModel follows the groups of an engine: their intervals and times, and the waits of their alerts.
func newModel(e *engine, r modelRules) *model {
	m := &model{rules: r}
	for i, g := range e.groups {
		one := modelGroup{first: e.next[i].UnixMilli(), every: g.Interval().Milliseconds()}
		for _, rule := range g.Rules() {
			for w := range windows {
				if rule.Name() == "slo:aiperf_slo_requests:increase"+windows[w].name {
					one.windows = append(one.windows, w)
				}
			}
			one.run = one.run || rule.Name() == "slo:aiperf_run_evidence:nats"
			if alert, ok := rule.(*rules.AlertingRule); ok {
				if condition := r.condition(rule.Name()); condition != nil {
					one.alerting = append(one.alerting, modelAlert{
						name: rule.Name(), wait: alert.HoldDuration().Milliseconds(), keep: alert.KeepFiringFor().Milliseconds(), condition: condition,
					})
				}
			}
		}
		if one.run {
			one.every = cmp.Or(r.every.Milliseconds(), one.every)
			for j := range one.alerting {
				if one.alerting[j].name == targetDown && r.wait >= 0 {
					one.alerting[j].wait = r.wait.Milliseconds()
				}
			}
		}
		if one.run || len(one.windows)+len(one.alerting) > 0 {
			m.schedule = append(m.schedule, one)
		}
	}
	return m
}

// modelRules are the parts of the rules that were tried in several ways: how an outage is found.
type modelRules struct {
	runNats  float64       // least evidence of the run
	longer   time.Duration // a run must be longer than the requests of this time
	mostNats float64       // least evidence that most requests of the last 5 minutes are bad
	wait     time.Duration // for how long all of that must hold; below 0: as the rules say
	every    time.Duration // between evaluations; 0: as the rules say
}

// condition is when an alert's expression has a result; nil for alerts that the model leaves to the engine.
func (r modelRules) condition(alert string) func(*state) bool {
	switch alert {
	case "AIPerfTargetDown":
		return r.targetDown
	case "AIPerfSLOBurnPage":
		return burnPage
	case "AIPerfSLOBurnTicket":
		return burnTicket
	case "MultiwindowPage":
		return func(s *state) bool {
			w := &s.windows
			return w[w1h].burn > 14.4 && w[w5m].burn > 14.4 || w[w6h].burn > 6 && w[w30m].burn > 6
		}
	case "MultiwindowTicket":
		return func(s *state) bool {
			w := &s.windows
			return w[w1d].burn > 3 && w[w2h].burn > 3 || w[w3d].burn > 1 && w[w6h].burn > 1
		}
	case "NaiveQuantile":
		return naive
	}
	return nil
}

func (r modelRules) targetDown(s *state) bool {
	w, c := &s.windows, s.canary
	if w[w5m].outage >= r.mostNats || w[w30m].outage >= 4 && w[w5m].burn*s.budget > 0.5 {
		return true
	}
	if s.run < 3 || s.runNats < r.runNats || !(w[w1h].requests > 0) {
		return false
	}
	return r.longer == 0 || s.run > float64(c.requests(c.upTo(s.now))-c.requests(c.upTo(s.now-r.longer.Milliseconds())))
}

func burnPage(s *state) bool {
	w := &s.windows
	fast, slow := 0.02*2592000/3600, 0.05*2592000/21600
	return w[w30m].breach >= 9 && w[w30m].burn >= fast && w[w5m].burn > 1 ||
		w[w1h].breach >= 9 && w[w1h].burn >= fast && w[w5m].burn > 1 ||
		w[w6h].breach >= 9 && w[w6h].burn >= slow && w[w30m].burn > 1
}

func burnTicket(s *state) bool {
	w := &s.windows
	return w[w1h].breach >= 7 && w[w1h].burn >= 4 && w[w30m].burn > 1 ||
		w[w6h].breach >= 7 && w[w6h].burn >= 2 && w[w30m].burn > 1 ||
		w[w1d].breach >= 7 && w[w1d].burn >= 1.5 && w[w2h].burn > 1 ||
		w[w3d].breach >= 7 && w[w6h].burn > 1
}

// naive is whether the quantile of the objective is above the threshold, which is a bound of a bucket: whether the share of slow ones among
// those that have a latency is larger than the budget.
func naive(s *state) bool {
	c := s.canary
	from, to := c.since(s.now-windows[w5m].length), c.upTo(s.now)
	measured := c.requests(to) - c.requests(from) - int64(c.failed[to]-c.failed[from])
	slow := int64(c.bad[to]-c.bad[from]) - int64(c.failed[to]-c.failed[from])
	return to > from && float64(measured-slow) < (1-s.budget)*float64(measured)
}
