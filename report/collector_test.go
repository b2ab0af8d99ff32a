package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestTheCollectorKeepsNothingThatTheCallerMayChange(t *testing.T) {
	t.Parallel()
	c := NewCollector([]metrics.SLO{testSLO()})
	r := stream(0, 50, 60, 75)
	m := metrics.Measure(r)
	verdicts := []metrics.Verdict{{Good: true}}
	c.Add(r, &m, verdicts)
	want := figures(c.Report(testMeta()))
	r.Content[1], r.Outcome, m.TTFT.V, verdicts[0].Good = 0, metrics.Failure, 9, false
	if diff := cmp.Diff(want, figures(c.Report(testMeta()))); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

func figures(r *Report) map[string]Stats {
	all := map[string]Stats{}
	for _, m := range append(append([]Metric{}, r.Metrics...), r.Extra...) {
		all[m.Tag] = m.Stats
	}
	return all
}

func TestRequestsMayFinishAtTheSameTimeAsAReportIsMade(t *testing.T) {
	t.Parallel()
	c := NewCollector([]metrics.SLO{testSLO()})
	var group sync.WaitGroup
	for i := range int64(8) {
		group.Go(func() {
			for j := range int64(50) {
				add(c, stream(1000*i+10*j, 50, 60))
				c.AddDrop(metrics.DropInFlight, 1)
			}
		})
		group.Go(func() {
			if err := WriteJSON(io.Discard, c.Report(testMeta())); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	r := c.Report(testMeta())
	if r.Successes != 400 || r.Dropped[metrics.DropInFlight] != 400 || r.SLOs[0].Good != 400 || r.SLOs[0].Total != 800 {
		t.Errorf("got %d successes, %d drops, %d of %d good", r.Successes, r.Dropped[metrics.DropInFlight], r.SLOs[0].Good, r.SLOs[0].Total)
	}
}

func TestTheOrderInWhichRequestsEndDoesNotShow(t *testing.T) {
	t.Parallel()
	forth, back := NewCollector(nil), NewCollector(nil)
	for i := range int64(20) {
		add(forth, stream(i*100, 50+i, 61+2*i, 80+3*i))
		add(back, stream((19-i)*100, 50+19-i, 61+2*(19-i), 80+3*(19-i)))
	}
	if diff := cmp.Diff(figures(forth.Report(testMeta())), figures(back.Report(testMeta()))); diff != "" {
		t.Errorf("-forth +back:\n%s", diff)
	}
}

func TestWhoCountsForAnSLO(t *testing.T) {
	t.Parallel()
	strict, lenient := testSLO(), testSLO()
	lenient.Name, lenient.CountDrops = "lenient", false
	lenient.Thresholds = []metrics.Threshold{{Metric: metrics.SLOTimeToFirstToken, Limit: float64(100 * ms)}}
	c := NewCollector([]metrics.SLO{strict, lenient})
	warm, cancelled := stream(0, 500, 510), stream(100, 50, 60)
	warm.Warmup, cancelled.Outcome = true, metrics.Cancelled
	add(c, warm, cancelled, stream(200, 60, 72), stream(300, 61, 72), stream(400, 101, 112), stream(450, 50, 70),
		failure(500, metrics.ErrTimeoutIdle, 200, ""))
	for _, reason := range metrics.DropReasons {
		c.AddDrop(reason, 1)
	}
	r := c.Report(testMeta())
	ttft, itl := strict.Thresholds[0], strict.Thresholds[1]
	window := r.window()
	want := []SLOResult{
		{
			SLO: strict, Good: 1, Total: 9, Failures: 1, Drops: 4, Goodput: 1 / window,
			Violations: []Violation{{ttft, 2}, {itl, 1}},
		},
		{
			SLO: lenient, Good: 3, Total: 5, Failures: 1, Goodput: 3 / window,
			Violations: []Violation{{lenient.Thresholds[0], 1}},
		},
	}
	if diff := cmp.Diff(want, r.SLOs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// AIPerf knows one set of limits, hence a request is good if it kept all of ours.
	if m, _ := r.Metric("good_request_count"); m.Stats.Avg != 1 {
		t.Errorf("good_request_count is %v, want 1", m.Stats.Avg)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		result SLOResult
		want   bool
	}{
		{"a share equal to the objective meets it", SLOResult{SLO: metrics.SLO{Objective: 0.99}, Good: 99, Total: 100}, true},
		{"a share below the objective misses it", SLOResult{SLO: metrics.SLO{Objective: 0.99}, Good: 989, Total: 1000}, false},
		{"without requests nothing is proven", SLOResult{SLO: metrics.SLO{Objective: 0.5}}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &Report{Successes: 1, SLOs: []SLOResult{test.result}}
			if got := test.result.Met(); got != test.want || r.SLOMissed() == test.want {
				t.Errorf("met is %t, missed is %t", got, r.SLOMissed())
			}
		})
	}
	for _, r := range []*Report{
		{},
		{Successes: 5, Failures: 1},
		{Successes: 5, Cancelled: 2, Abandoned: 1},
		{Successes: 5, Meta: Meta{Interrupted: true}},
		{Successes: 5, Meta: Meta{Load: Load{Requests: 6}}},
	} {
		if !r.Failed() {
			t.Errorf("%d successes, %d failures, %d cancelled, interrupted %v, of %d are no failed run", r.Successes, r.Failures, r.Cancelled, r.Meta.Interrupted, r.Meta.Load.Requests)
		}
	}
	for _, r := range []*Report{{Successes: 5}, {Successes: 5, Cancelled: 2, Abandoned: 2}, {Cancelled: 2, Abandoned: 2}} {
		if r.Failed() {
			t.Errorf("%d successes, %d cancelled of which %d on purpose are a failed run", r.Successes, r.Cancelled, r.Abandoned)
		}
	}
}

func TestARunWithoutRequestsOrTimeIsStillWritten(t *testing.T) {
	t.Parallel()
	instant := NewCollector([]metrics.SLO{testSLO()})
	r := stream(10, 0)
	r.Time.End, r.RequestedTokens = r.Time.Start, 0
	add(instant, r)
	for name, report := range map[string]*Report{
		"no request":           NewCollector([]metrics.SLO{testSLO()}).Report(testMeta()),
		"a request in no time": instant.Report(testMeta()),
	} {
		var buf bytes.Buffer
		if err := WriteJSON(&buf, report); err != nil || !json.Valid(buf.Bytes()) {
			t.Errorf("%s: JSON: %v", name, err)
		}
		for kind, write := range map[string]func(io.Writer) error{
			"CSV": report.WriteCSV, "records": report.WriteRecords, "table": func(w io.Writer) error { return report.WriteTable(w, 0) },
		} {
			buf.Reset()
			if err := write(&buf); err != nil || strings.Contains(buf.String(), "NaN") || strings.Contains(buf.String(), "Inf") {
				t.Errorf("%s: %s: %v\n%s", name, kind, err, buf.String())
			}
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	c := NewCollector([]metrics.SLO{testSLO()})
	content := make([]int64, 200)
	for i := range content {
		content[i] = 50 + 10*int64(i)
	}
	r := stream(0, content...)
	m := metrics.Measure(r)
	verdicts := []metrics.Verdict{{Good: true}}
	b.ReportAllocs()
	for b.Loop() {
		c.Add(r, &m, verdicts)
	}
}

func BenchmarkReport(b *testing.B) {
	c := NewCollector([]metrics.SLO{testSLO()})
	for i := range int64(10_000) {
		add(c, stream(i, 50, 60+i%7, 75+i%5, 90+i%3))
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Report(testMeta())
	}
}

func TestTheStrictestLimitsOfSeveralSLOsAreThoseOfAIPerf(t *testing.T) {
	t.Parallel()
	limits := func(ttft, rate float64) SLOResult {
		return SLOResult{SLO: metrics.SLO{Thresholds: []metrics.Threshold{
			{Metric: metrics.SLOTimeToFirstToken, Limit: ttft * float64(ms)}, {Metric: metrics.SLOPerUserThroughput, Limit: rate},
		}}}
	}
	want := map[metrics.SLOMetric]float64{metrics.SLOTimeToFirstToken: 200, metrics.SLOPerUserThroughput: 30}
	for _, slos := range [][]SLOResult{{limits(200, 20), limits(500, 30)}, {limits(500, 30), limits(200, 20)}} {
		if diff := cmp.Diff(want, strictest(slos)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
