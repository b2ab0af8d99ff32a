package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// limited makes an SLO with one limit for the time to first token, and one for the latency unless that is 0.
func limited(name string, ttft, latency time.Duration) SLO {
	c := DefaultSLOConfig()
	c.TimeToFirstToken, c.RequestLatency = ttft, latency
	return c.SLO(name)
}

// richInfo describes a target that has whatever a target of tokens can have.
func richInfo() TargetInfo {
	return TargetInfo{Name: "t", Model: "m", Workload: "w", URL: "http://a.example", Features: allFeatures()[0], Labels: map[string]string{"team": "x"}}
}

func richStore(t *testing.T) (*Store, *Target, *prometheus.Registry) {
	t.Helper()
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock(), Settings: Settings{SLOs: []SLO{testSLO()}, InfoLabels: []string{"team"}}})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	info := richInfo()
	info.Live = func() Live {
		return Live{RateHz: 1, BudgetUsed: []float64{3, 1}, EndedSessions: map[SessionEnd]int64{SessionCompleted: 4}, Passes: 2, SkippedRows: 3}
	}
	return s, s.Add(info), registry
}

// of are the series of a target, by name and labels.
func of(families map[string]*dto.MetricFamily, target string) map[string]*dto.Metric {
	out := map[string]*dto.Metric{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			key, own := name, false
			for _, l := range m.GetLabel() {
				key += " " + l.GetName() + "=" + l.GetValue()
				own = own || l.GetName() == "target" && l.GetValue() == target
			}
			if own {
				out[key] = m
			}
		}
	}
	return out
}

// amount is what a series has counted, and since when; ok is false for a gauge.
func amount(m *dto.Metric) (n float64, since time.Time, ok bool) {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue(), m.GetCounter().GetCreatedTimestamp().AsTime(), true
	case m.Histogram != nil:
		return float64(m.GetHistogram().GetSampleCount()), m.GetHistogram().GetCreatedTimestamp().AsTime(), true
	}
	return 0, time.Time{}, false
}

// busy has every kind of thing happen to a target.
func busy(target *Target) {
	for _, name := range []string{"plain", "reasoning", "coalesced", "empty", "error frame"} {
		r := goldenTimelines()[name].record()
		r.RequestID, r.ServedModel = "id", "served"
		flight := target.Sent()
		flight.Start(r.Time.Start, 10)
		for _, at := range r.Content {
			flight.Content(at, Count{})
		}
		flight.Finish(r)
	}
	target.Sent().Finish(&Record{
		Outcome: Failure, Class: ErrContentCheck, Status: 418, FailedChecks: []string{"regex"}, Drift: DriftChanged,
		Limits: []RateLimit{{"requests", Value{9, true}, Value{8, true}, Value{7, true}}},
	})
	target.Dropped(DropOverlap, 2)
	target.Queued()
	target.UsageRefused()
}

func TestAnUpdateOfNothingChangesNothingButTheGeneration(t *testing.T) {
	t.Parallel()
	s, target, registry := richStore(t)
	busy(target)
	before := of(gather(t, registry), "t")
	info := *target.info
	info.UsageRefused = true
	target.Update(info)
	after := of(gather(t, registry), "t")
	for key, was := range before {
		is, ok := after[key]
		if !ok {
			t.Errorf("%s is gone", key)
			continue
		}
		n, since, counts := amount(was)
		n2, since2, _ := amount(is)
		if counts && (n2 < n || !since2.Equal(since)) {
			t.Errorf("%s was %v since %v and is %v since %v", key, n, since, n2, since2)
		}
		if was.Gauge != nil && key != "aiperf_exporter_target_generation target=t" && key != "aiperf_sweep_watermark_lag_seconds model=m target=t workload=w" &&
			was.GetGauge().GetValue() != is.GetGauge().GetValue() {
			t.Errorf("%s was %v and is %v", key, was.GetGauge().GetValue(), is.GetGauge().GetValue())
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d series were before, %d are after", len(before), len(after))
	}
	if got := value(t, gather(t, registry), "aiperf_exporter_target_generation"); got != 2 {
		t.Errorf("generation %v, want 2", got)
	}
	s.Remove(target)
}

func TestASeriesThatEndsAndBeginsAgainBeginsAtZero(t *testing.T) {
	t.Parallel()
	_, target, registry := richStore(t)
	busy(target)
	first := of(gather(t, registry), "t")
	with := *target.info
	without := with
	without.Features = Features{Product: ProductVectors}
	target.Update(without)
	kept := of(gather(t, registry), "t")
	again := time.Now()
	target.Update(with)
	last := of(gather(t, registry), "t")
	most := float64(time.Since(again).Microseconds())
	ended := 0
	for key, m := range last {
		n, since, counts := amount(m)
		was, wasThere := first[key]
		if _, stayed := kept[key]; stayed || !counts || !wasThere {
			continue
		}
		if _, before, _ := amount(was); since.Before(again.Add(-time.Millisecond)) || !since.After(before) {
			t.Errorf("%s began at %v, before it was made at %v", key, since, again)
		}
		if idle := strings.Contains(key, "state=idle"); n != 0 && !idle || n > most {
			t.Errorf("%s begins at %v", key, n) // idle grows with time alone
		}
		if had, _, _ := amount(was); had > 0 {
			ended++
		}
	}
	if ended < 10 {
		t.Errorf("only %d series had anything to forget", ended)
	}
	for key := range first {
		if _, ok := last[key]; !ok {
			t.Errorf("%s has not come back", key)
		}
	}
}

func TestTheLimitsOfASLOChangeInPlace(t *testing.T) {
	t.Parallel()
	_, target, registry := richStore(t)
	info := *target.info
	info.SLOs = []SLO{limited("a", time.Second, 0), limited("b", time.Second, time.Second)}
	target.Update(info)
	target.Sent().Finish(goldenTimelines()["plain"].record())
	info.SLOs = []SLO{limited("c", time.Second, 0), limited("b", time.Nanosecond, 0)}
	target.Update(info)
	target.Sent().Finish(goldenTimelines()["plain"].record())
	families := gather(t, registry)
	got := map[string]float64{}
	for _, name := range []string{"aiperf_good_requests_total", "aiperf_slo_requests_total", "aiperf_slo_metric_violations_total", "aiperf_slo_threshold"} {
		for _, m := range families[name].GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "slo" {
					got[name+" "+l.GetValue()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
	}
	want := map[string]float64{
		"aiperf_good_requests_total b": 1, "aiperf_slo_requests_total b": 2, "aiperf_slo_metric_violations_total b": 1, "aiperf_slo_threshold b": 1e-9,
		"aiperf_good_requests_total c": 1, "aiperf_slo_requests_total c": 1, "aiperf_slo_metric_violations_total c": 0, "aiperf_slo_threshold c": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatATargetCountsItselfGoesOn(t *testing.T) {
	t.Parallel()
	_, target, registry := richStore(t)
	with, without := *target.info, *target.info
	count := int64(2)
	with.Live = func() Live { return Live{Passes: count} }
	without.Live, without.Replay = with.Live, false
	expect := func(want float64) {
		t.Helper()
		if got := value(t, gather(t, registry), "aiperf_replay_passes_total"); got != want {
			t.Errorf("%v passes, want %v", got, want)
		}
	}
	expect(2)
	target.Update(with)
	expect(2)
	count = 5
	expect(5)
	target.Update(without)
	count = 7
	gather(t, registry)
	target.Update(with)
	expect(0) // those that the series has not seen are none of its own
	count = 8
	expect(1)
}

func TestAnAnswerOfWhatTheTargetWasIsNotShown(t *testing.T) {
	t.Parallel()
	_, target, registry := richStore(t)
	old, renewed := *target.info, *target.info
	renewed.Live = func() Live { return Live{Passes: 3} }
	old.Live = func() Live { return Live{Passes: 2} }
	target.Update(old)
	gather(t, registry)
	old.Live = func() Live {
		target.Update(renewed) // while a scrape waits for the answer
		return Live{Passes: 1}
	}
	target.Update(old)
	if got := value(t, gather(t, registry), "aiperf_replay_passes_total"); got != 2 {
		t.Errorf("%v passes, want the 2 of before", got)
	}
	if got := value(t, gather(t, registry), "aiperf_replay_passes_total"); got != 3 {
		t.Errorf("%v passes, want 3", got)
	}
}

func TestWhatBudgetsHaveUsedMayBeToldBeforeTheUpdateThatMakesThem(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock()})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	used := []float64{4}
	info := TargetInfo{Name: "t", Features: Features{Budget: testBudget()[:1]}, Live: func() Live { return Live{BudgetUsed: used} }}
	target := s.Add(info)
	used = []float64{4, 1}
	if got := sum(gather(t, registry), "aiperf_budget_used"); got != 4 {
		t.Errorf("%v used, want 4", got)
	}
	info.Budget = testBudget()
	target.Update(info)
	if got := sum(gather(t, registry), "aiperf_budget_used"); got != 5 {
		t.Errorf("%v used, want 5", got)
	}
}

func TestAnUpdateTellsWhetherUsageIsAskedFor(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t)
	info := *target.info
	for _, c := range []struct {
		refused bool
		want    float64
	}{{true, 0}, {false, 1}} {
		target.UsageRefused()
		info.UsageRefused = c.refused
		target.Update(info)
		if got := value(t, gather(t, registry), "aiperf_target_usage_supported"); got != c.want {
			t.Errorf("usage supported: %v, want %v", got, c.want)
		}
	}
}

func TestTheLabelsOfATargetCannotBeUpdated(t *testing.T) {
	t.Parallel()
	config := DefaultConfig()
	config.ExtraLabels = []string{"team"}
	s := NewStore(Options{Config: config, Clock: NewSystemClock()})
	target := s.Add(TargetInfo{Name: "t", Model: "m", Labels: map[string]string{"team": "a"}})
	for _, other := range []TargetInfo{
		{Name: "u", Model: "m", Labels: map[string]string{"team": "a"}},
		{Name: "t", Model: "n", Labels: map[string]string{"team": "a"}},
		{Name: "t", Model: "m", Labels: map[string]string{"team": "b"}},
	} {
		if !panics(func() { target.Update(other) }) {
			t.Errorf("the target became %+v", other)
		}
	}
	if panics(func() {
		target.Update(TargetInfo{Name: "t", Model: "m", Labels: map[string]string{"team": "a", "region": "eu"}})
	}) {
		t.Error("another label is a fact of the target like any other")
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
