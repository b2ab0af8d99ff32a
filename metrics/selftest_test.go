package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var selfTestSeries = []string{"aiperf_selftest_error_seconds", "aiperf_selftest_error_bar_seconds", "aiperf_selftest_requests_total"}

func TestThereAreNoSeriesOfASelfTestThatIsOff(t *testing.T) {
	t.Parallel()
	_, _, registry := newTestStore(t)
	families := gather(t, registry)
	for _, name := range selfTestSeries {
		if families[name] != nil {
			t.Errorf("%s exists", name)
		}
	}
}

func TestSelfTestShowsItsErrors(t *testing.T) {
	t.Parallel()
	store, _, registry := newTestStore(t)
	selfTest := store.SelfTest(10 * time.Millisecond)
	outcomes := func() map[string]float64 {
		out := map[string]float64{}
		for _, outcome := range Outcomes {
			out[string(outcome)] = value(t, gather(t, registry), "aiperf_selftest_requests_total", "outcome", string(outcome))
		}
		return out
	}
	if diff := cmp.Diff(map[string]float64{"success": 0, "error": 0, "cancelled": 0}, outcomes()); diff != "" {
		t.Errorf("at the start (-want +got):\n%s", diff)
	}
	families := gather(t, registry)
	if n := childOf(t, families, "aiperf_selftest_error_seconds").GetHistogram().GetSampleCount(); n != 0 {
		t.Errorf("%d errors at the start, want 0", n)
	}
	if families["aiperf_selftest_error_bar_seconds"] != nil {
		t.Error("there is an error bar before anything was measured")
	}

	now := store.options.Clock.Now()
	selfTest.Finished(now, Success, []int64{1 * ms, 2 * ms, 3 * ms})
	selfTest.Finished(now, Cancelled, []int64{4 * ms})
	families = gather(t, registry)
	errors := childOf(t, families, "aiperf_selftest_error_seconds").GetHistogram()
	if errors.GetSampleCount() != 3 || errors.GetSampleSum() != .006 {
		t.Errorf("%d errors of %v s, want the 3 of the success, .006 s", errors.GetSampleCount(), errors.GetSampleSum())
	}
	if got := value(t, families, "aiperf_selftest_error_bar_seconds"); got != .002 {
		t.Errorf("error bar %v s, want 0.002", got)
	}
	if diff := cmp.Diff(map[string]float64{"success": 1, "error": 0, "cancelled": 1}, outcomes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSelfTestRaisesSuspicion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		outcome Outcome
		errors  []int64
		want    float64
	}{
		{"error bar at the limit", Success, []int64{10 * ms, 10 * ms}, 0},
		{"error bar above the limit", Success, []int64{10*ms + 1, 10*ms + 1}, 1},
		{"success without a measurement", Success, nil, 0},
		{"failure, whatever was measured", Failure, []int64{1}, 1},
		{"cancelled, whatever was measured", Cancelled, []int64{100 * ms, 100 * ms}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store, _, registry := newTestStore(t)
			store.SelfTest(10*time.Millisecond).Finished(store.options.Clock.Now(), test.outcome, test.errors)
			if got := value(t, gather(t, registry), "aiperf_exporter_suspect", "cause", "selftest"); got != test.want {
				t.Errorf("suspect %v, want %v", got, test.want)
			}
		})
	}
}
