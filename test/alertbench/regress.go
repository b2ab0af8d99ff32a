package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
)

const (
	regressionAlert = "AIPerfTTFTRegression"
	shippedLimit    = ">= 3.7"
)

// The regression that is simulated: the time to first token is log-normal, with a daily cycle, and days and hours that differ.
const (
	spread     = 0.4 // of the logarithm of one request
	cycle      = 0.2 // up and down over the day
	dayNoise   = 0.04
	hourNoise  = 0.03
	middle     = 0.3 // seconds
	step       = 1.2 // by how much it becomes slower
	baseline   = 14*24*time.Hour + 6*time.Hour
	calm       = 10 * 24 * time.Hour // after the baseline, in which an alert is a false one
	slower     = 2 * 24 * time.Hour  // after the step
	evaluation = 5 * time.Minute     // of these rules and of scrapes: the windows are of hours
)

// bounds are the exporter's classic buckets of the time to first token, as far as anything falls into them, in seconds.
func bounds() []float64 {
	return []float64{0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, math.Inf(1)}
}

// latencies counts the requests of a canary in buckets, cumulatively, at each scrape.
func latencies(perSecond float64, random *rand.Rand) [][]float64 {
	scrapes := int((baseline + calm + slower) / evaluation)
	counts := make([][]float64, len(bounds()))
	for i := range counts {
		counts[i] = make([]float64, scrapes)
	}
	var day, hour float64
	carry := random.Float64()
	for i := 1; i < scrapes; i++ {
		at := time.Duration(i) * evaluation
		if at%(24*time.Hour) == 0 || i == 1 {
			day = random.NormFloat64() * dayNoise
		}
		if at%time.Hour == 0 || i == 1 {
			hour = random.NormFloat64() * hourNoise
		}
		mean := math.Log(middle) + day + hour + math.Log1p(cycle*math.Sin(2*math.Pi*at.Hours()/24))
		if at >= baseline+calm {
			mean += math.Log(step)
		}
		carry += perSecond * evaluation.Seconds()
		requests := int(carry)
		carry -= float64(requests)
		for b := range counts {
			counts[b][i] = counts[b][i-1]
		}
		for range requests {
			took := math.Exp(mean + spread*random.NormFloat64())
			first, _ := slices.BinarySearch(bounds(), took)
			for b := first; b < len(counts); b++ {
				counts[b][i]++
			}
		}
	}
	return counts
}

// regressing are the limits tried: standard deviations above the own past, and for how long. The first is that of the rule as it is shipped.
func regressing() []regressionLimit {
	return []regressionLimit{
		{"3.7", "1h", map[string][2]string{"1/min": {"6.5 (7 % missed)", "0.26"}, "0.2/s": {"7.1 (10 % missed)", "0.22"}, "5/s": {"7.7 / 16", "0.13"}}},
		{"4", "1h", nil},
		{"3", "30m", map[string][2]string{"1/min": {"4.9 / 9.8", "1.55"}, "0.2/s": {"5.1 / 10", "0.95"}, "5/s": {"4.7 / 13", "0.60"}}},
	}
}

// regressionLimit is a variant of the rule; before is what was simulated of it: hours and false alarms in 30 days, by rate.
type regressionLimit struct {
	deviations, wait string
	before           map[string][2]string
}

func (v *regressionLimit) alert() string { return regressionAlert + " " + v.deviations }

// vary replaces the shipped rule of a set by its variants.
func vary(set *ruleSet) error {
	found := false
	for i := range set.groups {
		g := &set.groups[i]
		at := slices.IndexFunc(g.Rules, func(r rulefmt.Rule) bool { return r.Alert == regressionAlert })
		if at < 0 {
			continue
		}
		rule := g.Rules[at]
		g.Rules = slices.Delete(g.Rules, at, at+1)
		for n, v := range regressing() {
			wait, err := prommodel.ParseDuration(v.wait)
			if err != nil {
				return err
			}
			varied := rule
			varied.Alert, varied.For = v.alert(), wait
			varied.Expr = strings.Replace(rule.Expr, shippedLimit, ">= "+v.deviations, 1)
			if (varied.Expr == rule.Expr && varied.For == rule.For) != (n == 0) {
				return fmt.Errorf("%s: the first of the limits tried is no longer that of the rule", regressionAlert)
			}
			g.Rules = append(g.Rules, varied)
		}
		found = true
	}
	if !found {
		return fmt.Errorf("%s is in no group", regressionAlert)
	}
	return nil
}

// regressions has the rule engine look for a step of canaries that become slower.
func (o *options) regressions(ctx context.Context, _ map[float64]*ruleSet) (*section, error) {
	s := &section{
		title: "A time to first token that becomes 20 % longer, by the rule engine: hours to the ticket, median / 95th percentile",
		head:  []string{"limit", "rate", "hours", "simulated before", "no slower", "within 8 hours", "false in 30 days", "before"},
	}
	rows := make([][][]string, len(regressing()))
	for _, r := range rates() {
		found, alarms, err := o.regression(ctx, r)
		if err != nil {
			return nil, err
		}
		for i, v := range regressing() {
			rows[i] = append(rows[i], o.regressionRow(&v, r.name, &found[i], alarms[i]))
		}
	}
	s.rows = slices.Concat(rows...)
	s.notes = []string{"No slower: as above; an evaluation and a scrape are ten minutes here.", fmt.Sprintf("%d canaries a row; %.0f days in which nothing changes after those that are the baseline, then the step, followed for %.0f days. Scraped and "+
		"evaluated every 5 minutes. Log-normal (σ %.1f), ±%.0f %% over the day, days differ by %.0f %% and hours by %.0f %%, in the exporter's classic buckets.",
		o.regressing, calm.Hours()/24, slower.Hours()/24, spread, cycle*100, dayNoise*100, hourNoise*100)}
	return s, nil
}

func (o *options) regressionRow(v *regressionLimit, rate string, d *delays, alarms int) []string {
	median, half := d.quantile(0.5)
	high, most := d.quantile(0.95)
	hours := "–"
	if half {
		hours = fmt.Sprintf("%.1f / –", median.Hours())
	}
	if most {
		hours = fmt.Sprintf("%.1f / %.1f", median.Hours(), high.Hours())
	}
	if d.missed > 0 {
		hours += fmt.Sprintf(" (%d of %d missed)", d.missed, o.regressing)
	}
	months := float64(o.regressing) * calm.Hours() / 24 / 30
	soon := 0
	for _, delay := range d.seen {
		if delay < 8*time.Hour {
			soon++
		}
	}
	limit := v.deviations + " standard deviations for " + v.wait
	if v.deviations == regressing()[0].deviations {
		limit = "**" + limit + "**"
	}
	before := [2]string{"–", "–"}
	if of, known := v.before[rate]; known {
		before = of
	}
	verdict := "–"
	var least float64
	if n, err := fmt.Sscan(before[0], &least); err == nil && n == 1 {
		verdict = d.slower(time.Duration(least*float64(time.Hour)), 2*evaluation).String()
	}
	return []string{limit, rate, hours, before[0], verdict, fmt.Sprintf("%.0f %%", 100*float64(soon)/float64(o.regressing)), fmt.Sprintf("%.2f", float64(alarms)/months), before[1]}
}

// regression is how long each variant took to find the step of each canary, and how often it fired before it.
func (o *options) regression(ctx context.Context, r rate) (found []delays, alarms []int, err error) {
	set, err := loadRules(o.rules, 0.99, regressionAlert)
	if err == nil {
		err = vary(set)
	}
	if err != nil {
		return nil, nil, err
	}
	for i := range set.groups {
		set.groups[i].Interval = prommodel.Duration(evaluation)
	}
	c := cell{rate: r, kind: kind{name: "regression"}}
	l := ledger{}
	e, err := newEngine(set, epoch().Add(6*time.Hour), c.random(o.seed, "groups", 0), func(alert string, number int, at int64) {
		l.goesOn(alert, number, o.regressing, at, evaluation+time.Minute)
	})
	if err != nil {
		return nil, nil, err
	}
	e.store.keep = 15 * 24 * time.Hour
	for number := range o.regressing {
		counts := latencies(r.value, c.random(o.seed, "canary", number))
		one := &canary{start: epoch().UnixMilli(), every: evaluation.Milliseconds(), bad: make([]uint32, len(counts[0]))}
		from := []string{"job", "aiperf-exporter", "instance", "exporter", "target", strconv.Itoa(number), "model", "m", "workload", "chat"}
		for b, bound := range bounds() {
			e.store.add(one, func(i int) float64 { return counts[b][i] }, append([]string{
				prommodel.MetricNameLabel, "aiperf_time_to_first_token_seconds_bucket", "le", strconv.FormatFloat(bound, 'g', -1, 64),
			}, from...)...)
		}
		e.store.add(one, func(i int) float64 { return counts[len(counts)-1][i] }, append([]string{
			prommodel.MetricNameLabel, "aiperf_time_to_first_token_seconds_count",
		}, from...)...)
	}
	changed := epoch().Add(baseline + calm)
	for now := epoch(); now.Before(changed.Add(slower)); {
		if now, err = e.step(ctx); err != nil {
			return nil, nil, err
		}
	}
	found, alarms = make([]delays, len(regressing())), make([]int, len(regressing()))
	for i, v := range regressing() {
		for number := range o.regressing {
			delay, seen := l.first(number, changed.UnixMilli(), v.alert())
			found[i].add(delay, seen)
		}
		alarms[i] = l.count(epoch().UnixMilli(), changed.UnixMilli(), v.alert())
	}
	return found, alarms, nil
}
