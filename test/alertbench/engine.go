package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"time"

	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
)

// engine is Prometheus's rule engine over canaries, in virtual time.
type engine struct {
	store  *store
	groups []*rules.Group
	next   []time.Time // of each group, when it is evaluated next
}

// newEngine loads the rules. Each group is evaluated at its own interval from a random time on, as by Prometheus, which spreads them by their
// names. What fires is told for each evaluation after which it does.
func newEngine(set *ruleSet, start time.Time, random *rand.Rand, fires func(alert string, number int, at int64)) (*engine, error) {
	s := newStore(15*time.Minute, func(alert labels.Labels, at int64) {
		if number, err := strconv.Atoi(alert.Get("target")); err == nil {
			fires(alert.Get(labels.AlertName), number, at)
		}
	})
	return newEngineOver(s, s, set, start, random)
}

// database is where the engine reads and writes.
type database interface {
	storage.Queryable
	storage.AppendableV2
}

// newEngineOver has it read and write elsewhere than in the store, for tests.
func newEngineOver(data database, s *store, set *ruleSet, start time.Time, random *rand.Rand) (*engine, error) {
	e := &engine{store: s}
	query := promql.NewEngine(promql.EngineOpts{
		Logger: promslog.NewNopLogger(), MaxSamples: 50e6, Timeout: time.Hour, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		Parser: parser.NewParser(parser.Options{}),
	})
	loader := rules.NewManager(&rules.ManagerOptions{
		ExternalURL: &url.URL{}, QueryFunc: rules.EngineQueryFunc(query, data), NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Context: context.Background(), AppendableV2: data, Queryable: data, Logger: promslog.NewNopLogger(), GroupLoader: set, Parser: set.parser,
	})
	groups, errs := loader.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, "rules")
	if len(errs) > 0 {
		return nil, errs[0]
	}
	for _, g := range groups {
		e.groups = append(e.groups, g)
	}
	slices.SortFunc(e.groups, func(a, b *rules.Group) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, g := range e.groups {
		for _, alert := range g.AlertingRules() {
			alert.SetRestored(true) // there is nothing to restore; without this nothing is written
		}
		e.next = append(e.next, start.Add(time.Duration(random.Int64N(g.Interval().Milliseconds()))*time.Millisecond))
	}
	return e, nil
}

// watch adds a canary's series, as the exporter has them.
func (e *engine) watch(number int, c *canary, objective float64) {
	id := strconv.Itoa(number)
	exporter := []string{"job", "aiperf-exporter", "instance", "exporter-" + id, "target", id}
	workload := slices.Concat(exporter, []string{"model", "m", "workload", "chat"})
	slo := slices.Concat(workload, []string{"slo", "chat"})
	export := func(value func(int) float64, name string, of []string, pairs ...string) {
		e.store.add(c, value, slices.Concat([]string{prommodel.MetricNameLabel, name}, of, pairs)...)
	}
	fixed := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	export(fixed(0), "aiperf_load_paused", exporter)
	for _, le := range []struct {
		label string
		value func(int) float64
	}{
		{"0.5", func(i int) float64 { return float64((c.requests(i) - int64(c.bad[i])) / 2) }},
		{"1", func(i int) float64 { return float64(c.requests(i) - int64(c.bad[i])) }},
		{"2.5", func(i int) float64 { return float64(c.requests(i) - int64(c.failed[i])) }},
		{"+Inf", func(i int) float64 { return float64(c.requests(i) - int64(c.failed[i])) }},
	} {
		export(le.value, "aiperf_time_to_first_token_seconds_bucket", workload, "le", le.label)
	}
	export(fixed(objective), "aiperf_slo_objective_ratio", slo)
	export(fixed((30 * 24 * time.Hour).Seconds()), "aiperf_slo_window_seconds", slo)
	export(func(i int) float64 { return float64(c.requests(i)) }, "aiperf_slo_requests_total", slo)
	export(func(i int) float64 { return float64(c.requests(i) - int64(c.bad[i])) }, "aiperf_good_requests_total", slo)
	export(func(i int) float64 { return float64(c.run[i]) }, "aiperf_slo_consecutive_bad_requests", slo)
}

// step evaluates the group whose time is next, and says when that was.
func (e *engine) step(ctx context.Context) (time.Time, error) {
	next := 0
	for i := range e.next {
		if e.next[i].Before(e.next[next]) {
			next = i
		}
	}
	g, now := e.groups[next], e.next[next]
	g.Eval(ctx, now)
	e.next[next] = now.Add(g.Interval())
	for _, rule := range g.Rules() {
		if err := rule.LastError(); err != nil {
			return now, fmt.Errorf("rule %s: %w", rule.Name(), err)
		}
	}
	return now, ctx.Err()
}
