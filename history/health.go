package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

const (
	// minSamples is how many requests are looked at where the window has fewer, as far as they are of the last hour: a target that is asked
	// twice a minute has ten in it.
	minSamples = 10
	// failingRun failures one after the other make a target failing at once, recoveredRun successes not failing any more, whatever the rest
	// of the window says.
	failingRun, recoveredRun = 3, 5
	// minBad requests have to be bad before a target is degraded: one is an accident.
	minBad = 2
	// noticed is the share of failures, or of arrivals that the server prevented, from which on a target is degraded without any objective.
	noticed = 0.1
)

// finding is what the newest requests say about a target.
type finding struct {
	health view.Health
	since  int64 // when that began, as far as the requests tell; 0 = they do not

	n, failures, run int // requests looked at, those that failed, and the newest of them that failed one after the other
	class            int // the most frequent class of failure, index in metrics.ErrorClasses
	ofClass          int
	slo              int // that is missed; -1 = none
	bad              int // requests that missed it
	prevented        int64
}

// count gathers the newest requests.
type count struct {
	finding
	successes int // newest of them, one after the other
	runBegan  int64
	classes   [32]int
	missed    [maxMasked]int
	judged    int
}

func (c *count) add(s *sample, objectives int) {
	if s.failed() {
		c.failures++
		c.classes[s.class]++
		if c.run == c.n {
			c.run++
			c.runBegan = s.at
		}
	} else if c.successes == c.n {
		c.successes++
	}
	c.n++
	if !s.judged {
		return
	}
	c.judged++
	for i := range min(objectives, maxMasked) {
		if s.bad&mask(i) != 0 {
			c.missed[i]++
		}
	}
}

// find tells how the target does at an instant. The lock is held.
func (t *target) find(now int64) finding {
	var c count
	c.slo = -1
	for s := range t.samples.newestFirst() {
		age := now - s.at
		if age > hourLength || (age > windowLength && c.n >= minSamples) {
			break
		}
		c.add(s, len(t.slos))
	}
	for i, n := range t.points.droppedSince(now - windowLength) {
		if metrics.DropReasons[i].CausedByServer() {
			c.prevented += n
		}
	}
	c.class = slices.Index(c.classes[:], slices.Max(c.classes[:]))
	c.ofClass = c.classes[c.class]
	t.decide(&c)
	return c.finding
}

func (t *target) decide(c *count) {
	total := float64(c.n) + float64(c.prevented)
	switch {
	case total == 0:
		c.health = view.Unknown
	case c.n > 0 && c.run >= min(failingRun, c.n):
		c.health, c.since = view.Failing, c.runBegan
	case c.failures*2 > c.n && c.successes < recoveredRun:
		c.health = view.Failing
	case t.missed(c), float64(c.failures) > noticed*float64(c.n) && c.failures >= minBad,
		float64(c.prevented) > noticed*total && c.prevented >= minBad:
		c.health = view.Degraded
	default:
		c.health = view.Healthy
	}
}

// missed tells whether an objective is missed, and notes which by the largest part.
func (t *target) missed(c *count) bool {
	worst := 0.0
	for i := range min(len(t.slos), maxMasked) {
		bad, objective := c.missed[i], t.slos[i].Objective
		if bad < minBad || proved(c.judged-bad, c.judged, objective) != view.Missed {
			continue
		}
		if times := float64(bad) / (float64(c.judged) * (1 - objective)); times > worst {
			worst, c.slo, c.bad = times, i, bad
		}
	}
	return c.slo >= 0
}

// explain is the finding in one line; "" = nothing is wrong.
func (t *target) explain() string {
	f := &t.finding
	class := metrics.ErrorClasses[f.class]
	switch {
	case f.health == view.Unknown:
		return "no request has ended within the last hour"
	case f.health == view.Healthy:
		return ""
	case f.health == view.Failing && f.run == f.n && f.ofClass == f.n:
		return fmt.Sprintf("all of the last %s failed: %s", requests(f.n), class)
	case f.health == view.Failing && f.run >= failingRun:
		return fmt.Sprintf("the last %s failed, %d of %d: %s", requests(f.run), f.failures, f.n, t.classes(f))
	case f.slo >= 0:
		return t.explainObjective(f)
	case f.failures >= minBad && float64(f.failures) > noticed*float64(f.n):
		return fmt.Sprintf("%d of %s failed: %s", f.failures, requests(f.n), t.classes(f))
	}
	return fmt.Sprintf("%d arrivals were not sent because earlier requests had not ended, %d were", f.prevented, f.n)
}

// classes names the most frequent class, and that there are others.
func (t *target) classes(f *finding) string {
	class := string(metrics.ErrorClasses[f.class])
	if f.ofClass == f.failures {
		return class
	}
	return fmt.Sprintf("%s (%d) and others", class, f.ofClass)
}

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// explainObjective says by which measure an objective is missed: value against limit.
func (t *target) explainObjective(f *finding) string {
	slo := &t.slos[f.slo]
	score := fmt.Sprintf("%d of %s bad, objective %s good", f.bad, requests(f.n), percent(slo.Objective))
	limit, over := t.worstLimit(f.slo)
	if limit == nil || over < f.failures {
		return fmt.Sprintf("%s missed: %s; %d failed, most with %s", slo.Name, score, f.failures, metrics.ErrorClasses[f.class])
	}
	if value := t.measured(limit.Metric, slo.Objective); value != nil {
		shown := time.Duration(*value * 1e9).Round(100 * time.Microsecond)
		return fmt.Sprintf("%s missed: %s p%s is %v, limit %v (%s)", slo.Name, limit.Metric, plainNumber(slo.Objective*100), shown, time.Duration(limit.Limit), score)
	}
	return fmt.Sprintf("%s missed: %d requests do not keep %s (%s)", slo.Name, over, limitText(limit), score)
}

// worstLimit is the limit of an objective that most requests of those that miss it do not keep, and how many they are.
func (t *target) worstLimit(slo int) (limit *metrics.Threshold, over int) {
	var violations [8]int
	left := t.finding.n
	for s := range t.samples.newestFirst() {
		if left--; left < 0 {
			break
		}
		for bit := range violations {
			if s.bad&mask(slo) != 0 && s.violated&(1<<bit) != 0 {
				violations[bit]++
			}
		}
	}
	thresholds := t.slos[slo].Thresholds
	for i := range thresholds {
		if bit := slices.Index(limited, thresholds[i].Metric); bit >= 0 && violations[bit] > over {
			limit, over = &thresholds[i], violations[bit]
		}
	}
	return limit, over
}

// measured is a quantile of what the newest requests measured, in seconds; nil = the measure is not kept.
func (t *target) measured(metric metrics.SLOMetric, q float64) *float64 {
	var values []micros
	left := t.finding.n
	for s := range t.samples.newestFirst() {
		if left--; left < 0 {
			break
		}
		value := none
		switch metric {
		case metrics.SLOTimeToFirstToken:
			value = s.ttft
		case metrics.SLOInterTokenLatency:
			value = s.itl
		case metrics.SLORequestLatency:
			value = s.latency
		case metrics.SLOTimeToFirstOutputToken, metrics.SLOTimeToSecondToken, metrics.SLOEffectiveLatency, metrics.SLOPerUserThroughput, metrics.SLOE2EThroughput:
		}
		values = addDefined(values, value)
	}
	slices.SortFunc(values, cmp.Compare)
	return quantile(values, q)
}
