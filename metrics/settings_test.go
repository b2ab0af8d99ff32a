package metrics

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func infoLabelNames(m *dto.Metric) string {
	var names []string
	for _, l := range m.GetLabel() {
		names = append(names, l.GetName())
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

// TestAllTargetsHaveTheSameLabelsInAScrape changes the labels at each series that a scrape shows.
func TestAllTargetsHaveTheSameLabelsInAScrape(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock(), Settings: Settings{InfoLabels: []string{"team"}}})
	for i := range 4 {
		s.Add(TargetInfo{Name: fmt.Sprint(i), Labels: map[string]string{"team": "a", "region": "b", "pod": fmt.Sprint(i)}})
	}
	for round := range 3 {
		before := s.facts
		ch := make(chan prometheus.Metric)
		go func() {
			s.Collect(ch)
			close(ch)
		}()
		seen, series := 0, 0
		for m := range ch {
			if m.Desc() == before.info {
				seen++
				out := &dto.Metric{}
				if err := m.Write(out); err != nil {
					t.Fatal(err)
				}
				if got, want := len(out.GetLabel()), 3+8+len(before.infoLabels); got != want {
					t.Errorf("%d labels, want %d", got, want)
				}
			}
			series++
			s.Apply(Settings{InfoLabels: [][]string{{"team", "region"}, {"pod"}, nil}[(series+round)%3]})
			if series%40 == 0 {
				s.targets["3"].Update(*s.targets["3"].info)
			}
		}
		if seen != 4 {
			t.Errorf("%d targets had the labels of the scrape, want 4", seen)
		}
	}
}

func TestSettingsAreReplacedInOneStep(t *testing.T) {
	t.Parallel()
	budget := func(used float64) func() ([]float64, bool) {
		return func() ([]float64, bool) { return []float64{used}, used == 1 }
	}
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock(), Settings: Settings{
		ConfigHash: "first", Budget: testBudget()[:1], Budgets: budget(1),
	}})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	s.Add(TargetInfo{Name: "t", Labels: map[string]string{"url": "no", "team": "x"}})
	see := func() map[string]float64 {
		families := gather(t, registry)
		out := map[string]float64{}
		for _, name := range []string{"aiperf_exporter_budget_used", "aiperf_exporter_budget_limit", "aiperf_exporter_budget_state_writable"} {
			out[name] = sum(families, name)
		}
		out["hash="+childOf(t, families, "aiperf_exporter_config_info").GetLabel()[0].GetValue()] = 1
		out[infoLabelNames(childOf(t, families, targetInfo))] = 1
		out["secrets"] = sum(families, "aiperf_exporter_secret_read_errors_total")
		return out
	}
	const always = "connection_reuse endpoint_type http_version load load_mode model served_model streaming target "
	want := map[string]float64{
		"aiperf_exporter_budget_used": 1, "aiperf_exporter_budget_limit": 100, "aiperf_exporter_budget_state_writable": 1, "hash=first": 1, "secrets": 0,
		"[" + always + "url workload]": 1,
	}
	if diff := cmp.Diff(want, see()); diff != "" {
		t.Errorf("at the start (-want +got):\n%s", diff)
	}
	s.Apply(Settings{
		ConfigHash: "second", Budget: testBudget()[1:], Budgets: budget(2), InfoLabels: []string{"team", "url", "team"},
		SecretReadErrors: func() map[string]int64 { return map[string]int64{"key": 3} },
	})
	want = map[string]float64{
		"aiperf_exporter_budget_used": 2, "aiperf_exporter_budget_limit": 2, "aiperf_exporter_budget_state_writable": 0, "hash=second": 1, "secrets": 3,
		"[" + always[:len(always)-len("target ")] + "target team url workload]": 1,
	}
	if diff := cmp.Diff(want, see()); diff != "" {
		t.Errorf("after the change (-want +got):\n%s", diff)
	}
}

func TestBucketBoundariesAreThoseOfTheStart(t *testing.T) {
	t.Parallel()
	odd := limited("odd", 123*time.Millisecond, 0)
	for name, c := range map[string]struct {
		kind HistogramKind
		slos []SLO
		want bool
	}{
		"the SLOs of the start":               {HistogramsBoth, []SLO{odd}, true},
		"no SLOs":                             {HistogramsBoth, nil, true},
		"a limit that is a boundary anyway":   {HistogramsBoth, []SLO{limited("new", 250*time.Millisecond, 0)}, true},
		"a limit that is none":                {HistogramsBoth, []SLO{odd, limited("new", 251*time.Millisecond, 0)}, false},
		"a boundary of another measure":       {HistogramsClassic, []SLO{limited("new", time.Second, 123*time.Millisecond)}, false},
		"a limit where there are no classics": {HistogramsNative, []SLO{limited("new", 251*time.Millisecond, 0)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := DefaultConfig()
			config.Histograms = c.kind
			s := NewStore(Options{Config: config, Clock: NewSystemClock(), Settings: Settings{SLOs: []SLO{odd}}})
			if got := s.HasBoundaries(c.slos); got != c.want {
				t.Errorf("has them: %t, want %t", got, c.want)
			}
			s.Apply(Settings{SLOs: c.slos})
			if got := s.HasBoundaries(c.slos); got != c.want {
				t.Errorf("has them after the change: %t, want %t", got, c.want)
			}
		})
	}
}

func TestReloadsAreCounted(t *testing.T) {
	t.Parallel()
	s, _, registry := newTestStore(t)
	at := time.Unix(1_700_000_000, 0)
	expect := func(successful, success, failure, restart float64) {
		t.Helper()
		families := gather(t, registry)
		got := []float64{
			value(t, families, "aiperf_exporter_config_last_reload_successful"),
			value(t, families, "aiperf_exporter_config_reloads_total", "result", "success"),
			value(t, families, "aiperf_exporter_config_reloads_total", "result", "failure"),
			value(t, families, "aiperf_exporter_config_restart_required"),
		}
		if diff := cmp.Diff([]float64{successful, success, failure, restart}, got); diff != "" {
			t.Errorf("last, successes, failures, restart required (-want +got):\n%s", diff)
		}
	}
	stamp := func() float64 {
		return value(t, gather(t, registry), "aiperf_exporter_config_last_reload_success_timestamp_seconds")
	}
	expect(1, 0, 0, 0)
	if start := unixSeconds(s.start); stamp() != start {
		t.Errorf("loaded at %v, want the start %v", stamp(), start)
	}
	s.Reloaded(at, true)
	s.Reloaded(at.Add(time.Hour), false)
	s.RestartRequired(true)
	expect(0, 1, 1, 1)
	if got, want := stamp(), unixSeconds(at); got != want {
		t.Errorf("last success at %v, want %v", got, want)
	}
	s.Reloaded(at.Add(2*time.Hour), true)
	s.RestartRequired(false)
	expect(1, 2, 1, 0)
	if got, want := stamp(), unixSeconds(at.Add(2*time.Hour)); got != want {
		t.Errorf("last success at %v, want %v", got, want)
	}
}
