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
		l := scrape.NewLog("server", metrics.NewSystemClock(), "b", "a")
		l.Succeeded("a", 30*time.Millisecond, 352)
		l.Failed("b", 5*time.Second, scrape.Timeout)
		l.Failed("b", time.Minute, scrape.Timeout)
		l.FailedPartly("a", scrape.Internal, 2)
		l.Skipped("b")
		l.Duplicates("a", 3)
		l.Panicked("a")
		l.Succeeded("new", 0, 0)
		got := exposed(t, l.Families(), "")
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
	l := scrape.NewLog("server", metrics.NewSystemClock(), "a")
	l.Succeeded("a", time.Second, 5)
	l.Failed("a", time.Second, scrape.Connect)
	if got := exposed(t, l.Families(), "aiperf_scrape_samples"); got != "" {
		t.Errorf("got %q", got)
	}
	if got := exposed(t, l.Families(), "aiperf_scrape_last_success"); got == "" {
		t.Error("the time of the last success is gone")
	}
}

func TestATargetThatIsForgottenHasNoSeries(t *testing.T) {
	t.Parallel()
	l := scrape.NewLog("dcgm", metrics.NewSystemClock(), "a", "b")
	l.Forget("a")
	got := exposed(t, l.Families(), "aiperf_scrape_skipped_total")
	if diff := cmp.Diff("aiperf_scrape_skipped_total{collector=\"dcgm\",target=\"b\"} 0\n", got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestFamiliesAreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	l := scrape.NewLog("amd", metrics.NewSystemClock(), "")
	l.Succeeded("", time.Second, 1)
	problems, err := promlint.NewWithMetricFamilies(l.Families()).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	var names []string
	for _, f := range l.Families() {
		names = append(names, f.GetName())
	}
	if len(names) != len(scrape.Table()) {
		t.Errorf("families %q, and %d in the table", names, len(scrape.Table()))
	}
}

func TestALogIsUsedByMany(t *testing.T) {
	t.Parallel()
	l := scrape.NewLog("server", metrics.NewSystemClock(), "a")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				l.Succeeded("a", time.Millisecond, 1)
				l.Failed("a", time.Millisecond, scrape.DNS)
				l.Families()
			}
		})
	}
	all.Wait()
	if got := exposed(t, l.Families(), "aiperf_scrape_duration_seconds_count"); got != "aiperf_scrape_duration_seconds_count{collector=\"server\"} 1600\n" {
		t.Errorf("got %q", got)
	}
}
