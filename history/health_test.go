package history

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// play lets requests end, one a second: . is good, s slow to its first token, l slow to its end, 5 and d fail, c is cancelled, w is a failure of
// the warm-up, x an arrival that was dropped because others had not ended, b one for which there was no budget.
func (r *rig) play(script string) {
	for _, what := range script {
		r.clock.now += second
		switch what {
		case '.':
			r.fast()
		case 's':
			r.finish("", 1200*time.Millisecond, 2*time.Second)
		case 'l':
			r.finish("", 200*time.Millisecond, 8*time.Second)
		case '5':
			r.finish(metrics.ErrHTTP5xx, 0, time.Second)
		case 'd':
			r.finish(metrics.ErrDNS, 0, time.Second)
		case 'c':
			r.hand(&metrics.Record{Outcome: metrics.Cancelled, Time: metrics.Timeline{Start: r.clock.now - second, End: r.clock.now}})
		case 'w':
			r.hand(&metrics.Record{Outcome: metrics.Failure, Class: metrics.ErrDNS, Warmup: true, Time: metrics.Timeline{Start: r.clock.now - second, End: r.clock.now}})
		case 'x':
			r.Dropped("a", metrics.DropInFlight, 1)
		case 'b':
			r.Dropped("a", metrics.DropBudget, 1)
		}
	}
}

func TestHealthAndWhy(t *testing.T) {
	t.Parallel()
	type verdict struct {
		Health view.Health
		Reason string
		Since  int // seconds after the start
	}
	for name, test := range map[string]struct {
		script string
		state  string
		want   verdict
	}{
		"nothing is known at first":              {"", "running", verdict{view.Unknown, "no request has ended within the last hour", 0}},
		"one good request":                       {".", "running", verdict{view.Healthy, "", 1}},
		"the first request fails":                {"5", "running", verdict{view.Failing, "all of the last 1 request failed: http_5xx", 1}},
		"all fail":                               {"555555", "running", verdict{view.Failing, "all of the last 6 requests failed: http_5xx", 1}},
		"one failure among many":                 {"...................5", "running", verdict{view.Healthy, "", 1}},
		"the newest fail":                        {"....................555", "running", verdict{view.Failing, "the last 3 requests failed, 3 of 23: http_5xx", 21}},
		"the newest fail, in different ways":     {"....................55d", "running", verdict{view.Failing, "the last 3 requests failed, 3 of 23: http_5xx (2) and others", 21}},
		"two of three fail, never in a row":      {"55.55.55.55.", "running", verdict{view.Failing, "8 of 12 requests failed: http_5xx", 1}},
		"it has recovered":                       {"5555555555.....", "running", verdict{view.Degraded, "10 of 15 requests failed: http_5xx", 15}},
		"it has recovered for long enough":       {"5555555555" + strings.Repeat(".", 301), "running", verdict{view.Healthy, "", 100}},
		"a tenth of requests fails":              {strings.Repeat(".......5.", 3), "running", verdict{view.Degraded, "3 of 27 requests failed: http_5xx", 26}},
		"cancelled ones say nothing":             {".ccccc", "running", verdict{view.Healthy, "", 1}},
		"nor does a warm-up":                     {".wwwww", "running", verdict{view.Healthy, "", 1}},
		"a server that is too slow for arrivals": {"....xxxx", "running", verdict{view.Degraded, "4 arrivals were not sent because earlier requests had not ended, 4 were", 6}},
		"nothing but arrivals that are not sent": {"xxx", "running", verdict{view.Degraded, "3 arrivals were not sent because earlier requests had not ended, 0 were", 2}},
		"a budget is not the server's fault":     {"....bbbb", "running", verdict{view.Healthy, "", 1}},
		"it is paused":                           {"...", "paused", verdict{view.Idle, "paused", 3}},
		"it is paused before it began":           {"", "paused", verdict{view.Idle, "paused", 0}},
		"it is paused while it fails":            {"555", "paused", verdict{view.Idle, "paused", 3}},
		"its budget is spent":                    {"...", "budget", verdict{view.Idle, "the budget is spent", 3}},
		"it is removed":                          {"...", "draining", verdict{view.Idle, "removed; its last requests end", 3}},
		"it waits because all fails":             {"555", "backoff", verdict{view.Failing, "all of the last 3 requests failed: http_5xx", 1}},
		"it waits although not all fails":        {"...5", "backoff", verdict{view.Idle, "waits after failures before it sends again", 4}},
		"its goroutine has panicked":             {"...", "failed", verdict{view.Failing, "a fault of the exporter stopped it; it starts again by itself", 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(Config{Records: 10})
			begun := r.clock.now
			r.play(test.script)
			row := r.row(test.state)
			got := verdict{row.Health, row.Reason, int(row.Since.Sub(epoch.Add(time.Duration(begun))).Seconds())}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnObjectiveThatIsMissedIsToldByItsLimit(t *testing.T) {
	t.Parallel()
	perUser := metrics.SLO{Name: "brisk", Objective: 0.95, Thresholds: []metrics.Threshold{{Metric: metrics.SLOPerUserThroughput, Limit: 100}}}
	for name, test := range map[string]struct {
		slos   []metrics.SLO
		script string
		health view.Health
		reason string
	}{
		"one slow request of ten is an accident": {[]metrics.SLO{interactive}, ".........s", view.Healthy, ""},
		"the first token comes late": {
			[]metrics.SLO{interactive},
			"...ssss...", view.Degraded,
			"interactive missed: time_to_first_token p90 is 1.2s, limit 500ms (4 of 10 requests bad, objective 90% good)",
		},
		"the last token comes late": {
			[]metrics.SLO{interactive},
			"...llsll...", view.Degraded,
			"interactive missed: request_latency p90 is 8s, limit 5s (5 of 11 requests bad, objective 90% good)",
		},
		"failures weigh more": {
			[]metrics.SLO{interactive},
			"55..5..s.5d..s...", view.Degraded,
			"interactive missed: 7 of 17 requests bad, objective 90% good; 5 failed, most with http_5xx",
		},
		"a measure of which no values are kept": {
			[]metrics.SLO{perUser},
			"ll..lll", view.Degraded,
			"brisk missed: 7 requests do not keep output_token_throughput_per_user >= 100 tokens/s (7 of 7 requests bad, objective 95% good)",
		},
		"the worse of two": {
			[]metrics.SLO{interactive, perUser},
			"....ss....", view.Degraded,
			"brisk missed: 10 requests do not keep output_token_throughput_per_user >= 100 tokens/s (10 of 10 requests bad, objective 95% good)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(Config{Records: 10}, test.slos...)
			r.play(test.script)
			row := r.row("running")
			if diff := cmp.Diff([]string{string(test.health), test.reason}, []string{string(row.Health), row.Reason}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A target that is asked rarely has few requests in the window; older ones help out, but not for ever.
func TestOldRequestsAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10})
	r.play("555")
	r.clock.now += 50 * 60 * second
	if row := r.row("running"); row.Health != view.Failing || row.Window.Requests != 0 || row.LastFailure == nil {
		t.Errorf("after 50 minutes: %s, %d in the window", row.Health, row.Window.Requests)
	}
	r.clock.now += 11 * 60 * second
	if row := r.row("running"); row.Health != view.Unknown || row.LastFailure == nil {
		t.Errorf("after more than an hour: %s", row.Health)
	}
}

func TestIdlenessBeginsAnew(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10})
	r.play("...")
	first := *r.row("paused").Since
	r.clock.now += 60 * second
	if again := *r.row("paused").Since; !again.Equal(first) {
		t.Errorf("paused since %v, then since %v", first, again)
	}
	if row := r.row("running"); row.Health != view.Healthy {
		t.Errorf("resumed: %s", row.Health)
	}
	r.play(".")
	if again := *r.row("paused").Since; !again.After(first.Add(time.Minute)) {
		t.Errorf("paused again since %v, first since %v", again, first)
	}
}

// The ends of the interval are the shares from which what was seen is just z95 standard deviations away.
func TestWilsonInterval(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 10, 100, 1000, 720_000} {
		for good := 0; good <= n; good += max(1, n/50) {
			low, high := wilson(good, n)
			seen := float64(good) / float64(n)
			for end, share := range map[string]float64{"low": low, "high": high} {
				away := math.Abs(seen-share) - z95*math.Sqrt(share*(1-share)/float64(n))
				if math.Abs(away) > 1e-9 || low > seen+1e-12 || high < seen-1e-12 || low < 0 || high > 1 {
					t.Errorf("%d of %d: from %v to %v, the %s end is off by %v", good, n, low, high, end, away)
				}
			}
		}
	}
	if low, high := wilson(0, 0); low != 0 || high != 1 {
		t.Errorf("without samples: from %v to %v", low, high)
	}
}

func TestWhatSamplesProve(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		good, n   int
		objective float64
		want      view.SLOState
	}{
		{0, 0, 0.9, "unproved"},
		{10, 10, 0.9, "unproved"},
		{10, 10, 0.7, "met"},
		{5, 10, 0.9, "missed"},
		{9, 10, 0.9, "unproved"},
		{995, 1000, 0.99, "unproved"},
		{999, 1000, 0.99, "met"},
		{970, 1000, 0.99, "missed"},
	} {
		if got := proved(test.good, test.n, test.objective); got != test.want {
			t.Errorf("%d of %d for %v: %s, want %s", test.good, test.n, test.objective, got, test.want)
		}
	}
}

func TestObjectivesOfTheLastHour(t *testing.T) {
	t.Parallel()
	strict := metrics.SLO{Name: "strict", Objective: 0.999, Thresholds: []metrics.Threshold{{Metric: metrics.SLOTimeToFirstToken, Limit: 1e7}}}
	r := newRig(Config{Records: 10}, interactive, strict)
	r.play(strings.Repeat(".", 190) + "ssx" + "cwb")
	want := []view.SLO{
		{Name: "interactive", Objective: 0.9, Samples: 193, Good: 190, State: "met", Limits: []string{"time_to_first_token <= 500ms", "request_latency <= 5s"}},
		{Name: "strict", Objective: 0.999, Samples: 192, Good: 0, State: "missed", Limits: []string{"time_to_first_token <= 10ms"}},
	}
	if diff := cmp.Diff(want, r.row("running").SLOs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.clock.now += 58 * 60 * second
	if got := r.row("running").SLOs[0]; got.Samples == 0 || got.Samples >= 193 {
		t.Errorf("after 58 minutes %d samples are left", got.Samples)
	}
	r.clock.now += 5 * 60 * second
	if got := r.row("running").SLOs[0]; got.Samples != 0 || got.State != "unproved" {
		t.Errorf("after more than an hour: %+v", got)
	}
}

func TestObjectivesThatChangePlacesKeepWhatIsKnownOfThem(t *testing.T) {
	t.Parallel()
	strict := metrics.SLO{Name: "strict", Objective: 0.5, Thresholds: []metrics.Threshold{{Metric: metrics.SLOTimeToFirstToken, Limit: 1e7}}}
	r := newRig(Config{Records: 10}, interactive, strict)
	r.play(strings.Repeat(".", 40)) // good for interactive, bad for strict; some in points that are over
	other := metrics.SLO{Name: "other", Objective: 0.5}
	r.slos = []metrics.SLO{strict, other, interactive}
	r.SetTargets([]Target{{Name: "a", SLOs: r.slos}})
	got := map[string]string{}
	row := r.row("running")
	for _, slo := range row.SLOs {
		got[slo.Name] = fmt.Sprintf("%d of %d", slo.Good, slo.Samples)
	}
	if diff := cmp.Diff(map[string]string{"strict": "0 of 40", "other": "0 of 0", "interactive": "40 of 40"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(row.Reason, "strict missed: time_to_first_token") {
		t.Errorf("reason %q", row.Reason)
	}
	r.slos = nil
	r.SetTargets([]Target{{Name: "a"}})
	r.play(".")
	if row := r.row("running"); row.Health != view.Healthy || len(row.SLOs) != 0 || row.Window.Goodput != nil {
		t.Errorf("without objectives: %s, %d of them, goodput %v", row.Health, len(row.SLOs), row.Window.Goodput)
	}
}

func TestAFloodOfDropsIsJudgedOnceASecond(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10}, interactive)
	r.play("..........")
	a, _ := r.target("a")
	judged := map[int64]bool{}
	for range 3000 { // over three seconds
		r.clock.now += int64(time.Millisecond)
		r.Dropped("a", metrics.DropInFlight, 1)
		judged[a.judged] = true
	}
	if len(judged) > 7 { // an instant for the request before, and two for each second
		t.Errorf("it was judged at %d instants", len(judged))
	}
	if got := r.row("running"); got.Health != view.Degraded {
		t.Errorf("health %s: %s", got.Health, got.Reason)
	}
}

func TestWhatAFewDropsHaveBegunIsDatedBackToThem(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*rig){
		"somebody looks":          func(*rig) {},
		"another one is dropped":  func(r *rig) { r.Dropped("a", metrics.DropInFlight, 1) },
		"a request ends in time":  func(r *rig) { r.fast() },
		"a cancelled one is told": func(r *rig) { r.play("c") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(Config{Records: 10}, interactive)
			r.play("..........")
			r.clock.now += 10 * second
			for range 5 {
				r.clock.now += int64(time.Millisecond)
				r.Dropped("a", metrics.DropInFlight, 1)
			}
			last := r.clock.now
			r.clock.now += 120 * second
			next(r)
			got := r.row("running")
			if got.Health != view.Degraded || !got.Since.Equal(r.clock.Wall(last)) {
				t.Errorf("%s since %v, want degraded since %v", got.Health, got.Since, r.clock.Wall(last))
			}
		})
	}
}
