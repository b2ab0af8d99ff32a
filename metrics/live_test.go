package metrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestATargetIsAskedAtEachScrape(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock()})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	live := Live{RateHz: 2, BudgetUsed: []float64{3, 0.5}, Sessions: 4, EndedSessions: map[SessionEnd]int64{SessionFailed: 7}, Passes: 1, SkippedRows: 9}
	s.Add(TargetInfo{
		Name: "t", Features: Features{Budget: testBudget(), Sessions: true, Dataset: true, Replay: true},
		Live: func() Live { return live },
	})
	expect := func(want map[string]float64) {
		t.Helper()
		families := gather(t, registry)
		for name, v := range want {
			if got := value(t, families, name); got != v {
				t.Errorf("%s = %v, want %v", name, got, v)
			}
		}
	}
	expect(map[string]float64{
		"aiperf_load_target_rate": 2, "aiperf_load_paused": 0, "aiperf_backoff_active": 0, "aiperf_budget_exhausted": 0,
		"aiperf_sessions_active": 4, "aiperf_replay_passes_total": 1, "aiperf_dataset_rows_skipped_total": 9,
	})
	families := gather(t, registry)
	for _, test := range []struct {
		name, kind, period string
		want               float64
	}{
		{"aiperf_budget_used", "requests", "day", 3},
		{"aiperf_budget_used", "usd", "day", 0.5},
		{"aiperf_budget_limit", "requests", "day", 100},
		{"aiperf_budget_limit", "usd", "day", 2},
	} {
		if got := value(t, families, test.name, "kind", test.kind, "period", test.period); got != test.want {
			t.Errorf("%s of %s = %v, want %v", test.name, test.kind, got, test.want)
		}
	}
	if got := value(t, families, "aiperf_sessions_total", "end", "failed"); got != 7 {
		t.Errorf("%v failed sessions, want 7", got)
	}
	live.Paused, live.BackoffActive, live.BudgetExhausted = true, true, true
	expect(map[string]float64{"aiperf_load_target_rate": 0, "aiperf_load_paused": 1, "aiperf_backoff_active": 1, "aiperf_budget_exhausted": 1})
	if got := value(t, gather(t, registry), "aiperf_exporter_targets", "state", "paused"); got != 1 {
		t.Errorf("%v paused targets, want 1", got)
	}
	live.Paused = false
	expect(map[string]float64{"aiperf_load_target_rate": 2, "aiperf_load_paused": 0})
}

func TestRateLimitsAppearWhenAServerTellsThem(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t)
	if families := gather(t, registry); families[limitQuota] != nil || families[limitRemaining] != nil {
		t.Error("limits are shown before a server has told any")
	}
	told := func(v float64) Value { return Value{v, true} }
	for range 2 {
		target.Sent().Finish(&Record{Outcome: Success, Limits: []RateLimit{
			{Resource: "requests", Limit: told(500), Remaining: told(499)},
			{Resource: "tokens", Remaining: told(1000), Reset: told(6)},
			{Resource: "a word of the server", Limit: told(1)},
		}})
	}
	families := gather(t, registry)
	for _, test := range []struct {
		name, resource string
		want           float64
	}{{limitQuota, "requests", 500}, {limitRemaining, "requests", 499}, {limitRemaining, "tokens", 1000}, {limitReset, "tokens", 6}} {
		if got := value(t, families, test.name, "resource", test.resource); got != test.want {
			t.Errorf("%s of %s = %v, want %v", test.name, test.resource, got, test.want)
		}
	}
	if n := len(families[limitQuota].GetMetric()); n != 1 {
		t.Errorf("%d limits, want 1", n)
	}
}

func TestLimitsMayAppearDuringAScrape(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock()})
	target := s.Add(TargetInfo{Name: "t", Features: Features{
		Streaming: true, Sessions: true, Dataset: true, Replay: true, Budget: testBudget(), Fingerprint: true, // few series that are not shown
	}})
	scrape := snapshot{facts: s.facts, clock: s.options.Clock}
	scrape.take(target)
	for _, resource := range LimitedResources {
		told := Value{1, true}
		target.Sent().Finish(&Record{Outcome: Success, Limits: []RateLimit{{resource, told, told, told}}})
	}
	shown := make(chan prometheus.Metric, 10_000)
	scrape.send(shown)
	close(shown)
	for m := range shown {
		if strings.Contains(m.Desc().String(), limitQuota) {
			t.Error("a limit is shown that was not told when the scrape began")
		}
	}
}

func TestAnswersAreCountedByWhatTheyWere(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock()})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	target := s.Add(TargetInfo{Name: "t", Features: Features{Product: ProductVectors, Checks: []string{"contains", "regex"}, Fingerprint: true}})
	target.Sent().Finish(&Record{Product: ProductVectors, Outcome: Success, Items: 3, Drift: DriftSame, DriftMatch: Value{1, true}, ServedModel: "m", Fingerprint: "fp"})
	target.Sent().Finish(&Record{Product: ProductVectors, Outcome: Failure, Class: ErrContentCheck, Items: 3, FailedChecks: []string{"regex"}, Drift: DriftChanged, DriftMatch: Value{.25, true}, DriftDistance: Value{.5, true}})
	families := gather(t, registry)
	for name, want := range map[string]float64{
		"aiperf_embedding_vectors_total": 3, "aiperf_output_fingerprint_match_ratio": .25, "aiperf_output_fingerprint_distance_nats": .5,
		"aiperf_target_served_model_hash": modelHash("m", "fp"),
	} {
		if got := value(t, families, name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	if modelHash("m", "fp") == modelHash("mf", "p") || modelHash("m", "fp") >= 1<<52 {
		t.Error("the hash of a model is none")
	}
	for check, want := range map[string]float64{"contains": 0, "regex": 1} {
		if got := value(t, families, "aiperf_answer_check_failures_total", "check", check); got != want {
			t.Errorf("check %s: %v failures, want %v", check, got, want)
		}
	}
	for result, want := range map[string]float64{"same": 1, "changed": 1, "unknown": 0} {
		if got := value(t, families, "aiperf_output_fingerprint_total", "result", result); got != want {
			t.Errorf("%s: %v, want %v", result, got, want)
		}
	}
}
