package scrape_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// exposed is the text of families, without comments and without what the pattern does not begin.
func exposed(t *testing.T, families []*dto.MetricFamily, prefix string) string {
	t.Helper()
	var out strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	var kept []string
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, prefix) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock stands still
		l := scrape.NewLog("server", metrics.NewSystemClock())
		a, b, fresh := l.Target("a"), l.Target("b"), l.Target("new")
		a.Succeeded(30*time.Millisecond, 352)
		b.Failed(5*time.Second, scrape.Timeout)
		b.Failed(time.Minute, scrape.Timeout)
		a.FailedPartly(scrape.Internal, 2)
		b.Skipped()
		a.Duplicates(3)
		a.Panicked()
		fresh.Succeeded(0, 0)
		got := exposed(t, l.Families([]*scrape.TargetLog{a, b, fresh}), "")
		for _, want := range []string{
			`aiperf_scrape_duration_seconds_bucket{collector="server",le="0.001"} 1`, `aiperf_scrape_duration_seconds_bucket{collector="server",le="0.05"} 2`,
			`aiperf_scrape_duration_seconds_bucket{collector="server",le="5"} 3`, `aiperf_scrape_duration_seconds_bucket{collector="server",le="10"} 3`,
			`aiperf_scrape_duration_seconds_bucket{collector="server",le="+Inf"} 4`, `aiperf_scrape_duration_seconds_sum{collector="server"} 65.03`,
			`aiperf_scrape_samples{collector="server",target="a"} 352`, `aiperf_scrape_samples{collector="server",target="new"} 0`,
			`aiperf_scrape_errors_total{collector="server",reason="timeout",target="b"} 2`, `aiperf_scrape_errors_total{collector="server",reason="timeout",target="a"} 0`,
			`aiperf_scrape_errors_total{collector="server",reason="internal",target="a"} 2`,
			`aiperf_scrape_last_success_timestamp_seconds{collector="server",target="a"} 9.466848e+08`,
			`aiperf_scrape_skipped_total{collector="server",target="a"} 0`, `aiperf_scrape_skipped_total{collector="server",target="b"} 1`,
			`aiperf_scrape_duplicate_series_total{collector="server",target="a"} 3`, `aiperf_scrape_panics_total{collector="server",target="a"} 1`,
		} {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("no %s in\n%s", want, got)
			}
		}
		for _, not := range []string{`aiperf_scrape_samples{collector="server",target="b"}`, `aiperf_scrape_last_success_timestamp_seconds{collector="server",target="b"}`} {
			if strings.Contains(got, not) {
				t.Errorf("%s is there, though it is not known", not)
			}
		}
		if n := strings.Count(got, "aiperf_scrape_errors_total{"); n != 3*len(scrape.Reasons) {
			t.Errorf("%d counters of errors, want one for each of three targets and %d reasons", n, len(scrape.Reasons))
		}
	})
}

func TestTheSamplesOfALookThatFailedAreNotShown(t *testing.T) {
	t.Parallel()
	l := scrape.NewLog("server", metrics.NewSystemClock())
	a := l.Target("a")
	a.Succeeded(time.Second, 5)
	a.Failed(2*time.Second, scrape.Connect)
	families := l.Families([]*scrape.TargetLog{a})
	if got := exposed(t, families, "aiperf_scrape_samples"); got != "" {
		t.Errorf("got %q", got)
	}
	if got := exposed(t, families, "aiperf_scrape_last_success"); got == "" {
		t.Error("the time of the last success is gone")
	}
	if got := a.Last(); got.Success.IsZero() || got.Took != 2*time.Second || got.Samples != 0 {
		t.Errorf("last looks: %+v, want a success and a failure that took two seconds", got)
	}
}

func TestWhereThereIsNothingAnyMoreOnlyCountersStay(t *testing.T) {
	t.Parallel()
	l := scrape.NewLog("server", metrics.NewSystemClock())
	a := l.Target("a")
	a.Succeeded(time.Second, 5)
	a.Failed(time.Second, scrape.NotFound)
	a.Vacant()
	families := l.Families([]*scrape.TargetLog{a})
	if got := exposed(t, families, "aiperf_scrape_last_success"); got != "" {
		t.Errorf("got %q", got)
	}
	const counter = `aiperf_scrape_errors_total{collector="server",reason="not_found",target="a"} 1`
	if got := exposed(t, families, counter); got == "" {
		t.Errorf("no %s", counter)
	}
}

func TestATargetThatIsNotHeldHasNoSeriesWhateverStillHappensToIt(t *testing.T) {
	t.Parallel()
	l := scrape.NewLog("dcgm", metrics.NewSystemClock())
	a, b := l.Target("a"), l.Target("b")
	a.Skipped()
	got := exposed(t, l.Families([]*scrape.TargetLog{b}), "aiperf_scrape_skipped_total")
	if diff := cmp.Diff("aiperf_scrape_skipped_total{collector=\"dcgm\",target=\"b\"} 0\n", got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestFamiliesAreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	l := scrape.NewLog("amd", metrics.NewSystemClock())
	only := l.Target("")
	only.Succeeded(time.Second, 1)
	families := l.Families([]*scrape.TargetLog{only})
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	if len(names) != len(scrape.Table()) {
		t.Errorf("families %q, and %d in the table", names, len(scrape.Table()))
	}
}

func TestALogIsUsedByMany(t *testing.T) {
	t.Parallel()
	l := scrape.NewLog("server", metrics.NewSystemClock())
	a := l.Target("a")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				a.Succeeded(time.Millisecond, 1)
				a.Failed(time.Millisecond, scrape.DNS)
				l.Families([]*scrape.TargetLog{a})
				a.Last()
			}
		})
	}
	all.Wait()
	if got := exposed(t, l.Families(nil), "aiperf_scrape_duration_seconds_count"); got != "aiperf_scrape_duration_seconds_count{collector=\"server\"} 1600\n" {
		t.Errorf("got %q", got)
	}
}
