package metrics

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

func testSLO() SLO {
	c := DefaultSLOConfig()
	c.TimeToFirstToken, c.InterTokenLatency = 250*time.Millisecond, 60*time.Millisecond
	return c.SLO("x")
}

func newTestStore(t *testing.T, slos ...SLO) (*Store, *Target, *prometheus.Registry) {
	t.Helper()
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock(), Settings: Settings{SLOs: slos, ConfigHash: "0123456789ab"}})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	return s, s.Add(TargetInfo{Name: "t", Model: "m", Workload: "w", Features: Features{Streaming: true, SLOs: slos}}), registry
}

// gather returns the families by name; an error of the pedantic registry fails the test.
func gather(t *testing.T, g prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatalf("gather: %v", err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range families {
		out[f.GetName()] = f
	}
	return out
}

// value is the value of the child with these label values, e.g. "outcome", "success".
func value(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	m := childOf(t, families, name, labels...)
	if m.Counter != nil {
		return m.Counter.GetValue()
	}
	return m.Gauge.GetValue()
}

func childOf(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) *dto.Metric {
	t.Helper()
	for _, m := range families[name].GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		ok := true
		for i := 0; i < len(labels); i += 2 {
			ok = ok && have[labels[i]] == labels[i+1]
		}
		if ok {
			return m
		}
	}
	t.Fatalf("no %s with %v", name, labels)
	return nil
}

func sum(families map[string]*dto.MetricFamily, name string) float64 {
	total := 0.0
	for _, m := range families[name].GetMetric() {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return total
}

// allFeatures are those of one target for each thing that can be asked for: together they have every series.
func allFeatures() []Features {
	slos := []SLO{testSLO()}
	return []Features{
		{
			Streaming: true, SLOs: slos, Sessions: true, Dataset: true, Replay: true, Checks: []string{"contains", "regex"}, Fingerprint: true, Budget: testBudget(),
			Cost: CostConfig{PerHour: 4, PerKWh: .3, Currency: "eur"}, Prices: Prices{Input: 3, Output: 15},
		},
		{Product: ProductImages, Streaming: true, SLOs: slos},
		{Product: ProductVectors, SLOs: slos},
		{Product: ProductDocuments, ClosedLoop: true},
		{Product: ProductTranscript},
	}
}

func testBudget() []BudgetLimit {
	return []BudgetLimit{{"requests", "day", 100}, {"usd", "day", 2}}
}

func TestEverySeriesOfTheTableExistsBeforeAnythingHappens(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{
		"aiperf_exporter_secret_read_errors_total": true,                                         // there are no secrets
		"aiperf_selftest_error_bar_seconds":        true,                                         // nothing was measured
		limitQuota:                                 true, limitRemaining: true, limitReset: true, // no server has told
	}
	for _, features := range allFeatures() {
		store := NewStore(Options{
			Config: DefaultConfig(), Clock: NewSystemClock(), Settings: Settings{
				SLOs: features.SLOs, ConfigHash: "0123456789ab",
				Budget: testBudget(), Budgets: func() ([]float64, bool) { return []float64{0, 0}, true },
			},
		})
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(store)
		store.Add(TargetInfo{Name: "t", Model: "m", Workload: "w", Features: features, Live: func() Live { return Live{BudgetUsed: make([]float64, len(features.Budget))} }})
		store.SelfTest(time.Second)
		store.CPUThrottled(0)
		families := gather(t, registry)
		for _, series := range Table() {
			family, ok := families[series.Name]
			if series.Scope == PerTarget && ok != (series.of(&features) && childCount(&series, &features) > 0) {
				t.Errorf("%s of %+v: present %t", series.Name, features, ok)
			}
			if ok {
				seen[series.Name] = true
				beginsAtZero(t, &series, family, &features)
			}
		}
	}
	for _, series := range Table() {
		if !seen[series.Name] {
			t.Errorf("no target has %s", series.Name)
		}
	}
}

// beginsAtZero checks a series of which nothing has been seen yet.
func beginsAtZero(t *testing.T, series *Series, family *dto.MetricFamily, features *Features) {
	t.Helper()
	if got := Kind(strings.ToLower(family.GetType().String())); got != series.Kind {
		t.Errorf("%s is a %s, want %s", series.Name, got, series.Kind)
	}
	if want := childCount(series, features); series.Scope == PerTarget && len(family.GetMetric()) != want {
		t.Errorf("%s has %d children, want %d", series.Name, len(family.GetMetric()), want)
	}
	for _, m := range family.GetMetric() {
		if settles(series) {
			continue // time has gone by
		}
		if c := m.GetCounter(); c != nil && c.GetValue() != 0 {
			t.Errorf("%s begins at %v, want 0", series.Name, c.GetValue())
		}
		if c := m.GetCounter(); c != nil && c.GetCreatedTimestamp() == nil {
			t.Errorf("%s has no created timestamp", series.Name)
		}
		if h := m.GetHistogram(); h != nil && h.GetSampleCount() != 0 {
			t.Errorf("%s begins with %d samples, want 0", series.Name, h.GetSampleCount())
		}
	}
}

// settles tells whether a series grows with time alone.
func settles(s *Series) bool { return s.weighted || s.Name == "aiperf_sweep_settled_seconds_total" }

func TestTheTableFollowsTheNamingRulesOfPrometheus(t *testing.T) {
	t.Parallel()
	_, _, registry := newTestStore(t, testSLO())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	seen := map[string]bool{}
	for _, s := range Table() {
		if seen[s.Name] {
			t.Errorf("%s stands twice in the table", s.Name)
		}
		seen[s.Name] = true
		if !strings.HasSuffix(s.Help, ".") || strings.HasPrefix(s.Help, "Total number") {
			t.Errorf("%s: help is not a sentence that says something: %q", s.Name, s.Help)
		}
		if s.Kind == Histogram && !slices.IsSorted(s.Bounds) {
			t.Errorf("%s: bounds are not ascending", s.Name)
		}
	}
}

func TestHistogramsOfTheGoldenTimelines(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t, testSLO())
	for _, name := range []string{"plain", "bundled", "reasoning", "one token", "coalesced", "empty", "tool call", "no terminator", "error frame"} {
		target.Sent().Finish(goldenTimelines()[name].record())
	}
	families := gather(t, registry)

	ttft := childOf(t, families, "aiperf_time_to_first_token_seconds").GetHistogram()
	checkBuckets(t, ttft, map[float64]uint64{.08: 0, .1: 1, .15: 3, .2: 5, .25: 6})
	if got := ttft.GetSampleCount(); got != 6 {
		t.Errorf("TTFT count = %d, want 6", got)
	}
	if got := ttft.GetSampleSum(); math.Abs(got-.99) > 1e-12 {
		t.Errorf("TTFT sum = %v, want 0.99", got)
	}
	itl := childOf(t, families, "aiperf_inter_token_latency_seconds").GetHistogram()
	checkBuckets(t, itl, map[float64]uint64{.0075: 1, .025: 2, .04: 4, .05: 5, .06: 5})
	if got := itl.GetSampleSum(); math.Abs(got-.15666666666666668) > 1e-9 {
		t.Errorf("ITL sum = %v, want 0.156666667", got)
	}
	if schema := itl.GetSchema(); schema != 3 {
		t.Errorf("native schema = %d, want 3", schema)
	}
	if got := value(t, families, "aiperf_good_requests_total", "slo", "x"); got != 6 {
		t.Errorf("good = %v, want 6", got)
	}
	if got := value(t, families, "aiperf_slo_requests_total", "slo", "x"); got != 9 {
		t.Errorf("slo requests = %v, want 9", got)
	}
	for class, want := range map[ErrorClass]float64{ErrEmpty: 1, ErrTruncated: 1, ErrStream: 1, ErrParse: 0} {
		if got := value(t, families, "aiperf_request_errors_total", "error_class", string(class)); got != want {
			t.Errorf("errors of class %s = %v, want %v", class, got, want)
		}
	}
	failed := childOf(t, families, "aiperf_request_duration_seconds", "outcome", "error").GetHistogram()
	if got, want := failed.GetSampleSum(), .121+.150+.150; math.Abs(got-want) > 1e-9 {
		t.Errorf("duration of failures = %v, want %v", got, want)
	}
	gaps := childOf(t, families, "aiperf_inter_chunk_latency_seconds").GetHistogram()
	if got := gaps.GetSampleCount(); got != 3+2+7+0+4+2 {
		t.Errorf("gaps = %d, want 18: of successes only, those of 0 included", got)
	}
}

func checkBuckets(t *testing.T, h *dto.Histogram, want map[float64]uint64) {
	t.Helper()
	got := map[float64]uint64{}
	for _, b := range h.GetBucket() {
		if _, ok := want[b.GetUpperBound()]; ok {
			got[b.GetUpperBound()] = b.GetCumulativeCount()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
}

func TestAnSLOLimitBecomesABucketBoundary(t *testing.T) {
	t.Parallel()
	c := DefaultSLOConfig()
	c.TimeToFirstToken = 333 * time.Millisecond
	_, _, registry := newTestStore(t, c.SLO("odd"))
	h := childOf(t, gather(t, registry), "aiperf_time_to_first_token_seconds").GetHistogram()
	for _, b := range h.GetBucket() {
		if b.GetUpperBound() == .333 {
			return
		}
	}
	t.Error(`no bucket le="0.333"`)
}

func TestArrivalsAreSentDroppedOrQueuedAtEveryScrape(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t, testSLO())
	stop := make(chan struct{})
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				flight := target.Sent()
				target.Dropped(DropInFlight, 1)
				flight.Content(1, Count{})
				target.Queued()
				target.Queued()
				target.DequeuedDropped(DropQueueTimeout)
				flight.Finish(goldenTimelines()["plain"].record())
				target.DequeuedSent().Finish(goldenTimelines()["empty"].record())
			}
		})
	}
	for range 200 {
		f := gather(t, registry)
		arrivals, sent := sum(f, "aiperf_arrivals_total"), sum(f, "aiperf_arrivals_sent_total")
		dropped, queued := sum(f, "aiperf_arrivals_dropped_total"), value(t, f, "aiperf_inflight_requests", "phase", "queued")
		if arrivals != sent+dropped+queued {
			t.Fatalf("arrivals %v != sent %v + dropped %v + queued %v", arrivals, sent, dropped, queued)
		}
		running := value(t, f, "aiperf_inflight_requests", "phase", "prefill") + value(t, f, "aiperf_inflight_requests", "phase", "decode")
		if done := sum(f, "aiperf_requests_total"); sent != done+running {
			t.Fatalf("sent %v != finished %v + running %v", sent, done, running)
		}
	}
	close(stop)
	work.Wait()
}

func TestDropsThatTheServerCausedCountAgainstTheSLO(t *testing.T) {
	t.Parallel()
	counting, lenient := testSLO(), testSLO()
	lenient.Name, lenient.CountDrops = "lenient", false
	_, target, registry := newTestStore(t, counting, lenient)
	for _, reason := range DropReasons {
		target.Dropped(reason, 1)
	}
	f := gather(t, registry)
	if got := value(t, f, "aiperf_slo_requests_total", "slo", "x"); got != 4 {
		t.Errorf("slo requests = %v, want 4: in_flight, queue_full, queue_timeout, overlap", got)
	}
	if got := value(t, f, "aiperf_slo_requests_total", "slo", "lenient"); got != 0 {
		t.Errorf("slo requests without count_drops = %v, want 0", got)
	}
}

// What ends a run of bad requests is a good one: neither a cancelled request nor a drop that the server did not cause.
func TestARunOfBadRequestsEndsWithAGoodOne(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t, testSLO())
	finish := func(name string) func() {
		return func() { target.Sent().Finish(goldenTimelines()[name].record()) }
	}
	cancelled := func() {
		r := goldenTimelines()["plain"].record()
		r.Outcome = Cancelled
		target.Sent().Finish(r)
	}
	for i, step := range []struct {
		do   func()
		want float64
	}{
		{func() {}, 0},
		{finish("empty"), 1},
		{finish("error frame"), 2},
		{func() { target.Dropped(DropInFlight, 3) }, 5},
		{func() { target.Dropped(DropBudget, 1) }, 5},
		{cancelled, 5},
		{finish("plain"), 0},
		{finish("plain"), 0},
		{finish("no terminator"), 1},
	} {
		step.do()
		if got := value(t, gather(t, registry), "aiperf_slo_consecutive_bad_requests", "slo", "x"); got != step.want {
			t.Errorf("after step %d: %v, want %v", i, got, step.want)
		}
	}
}

func TestWarmUpRequestsTouchNothingButTheirCounter(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t, testSLO())
	r := goldenTimelines()["plain"].record()
	r.Warmup = true
	target.Sent().Finish(r)
	f := gather(t, registry)
	if got := value(t, f, "aiperf_warmup_requests_total", "outcome", "success"); got != 1 {
		t.Errorf("warm-up requests = %v, want 1", got)
	}
	for _, name := range []string{"aiperf_requests_total", "aiperf_slo_requests_total", "aiperf_tokens_total", "aiperf_inflight_requests"} {
		if got := sum(f, name); got != 0 {
			t.Errorf("%s = %v, want 0", name, got)
		}
	}
	if got := childOf(t, f, "aiperf_time_to_first_token_seconds").GetHistogram().GetSampleCount(); got != 0 {
		t.Errorf("TTFT count = %d, want 0", got)
	}
}

func TestCancelledRequestsAreInNoRatio(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t, testSLO())
	r := goldenTimelines()["plain"].record()
	r.Outcome = Cancelled
	target.Sent().Finish(r)
	f := gather(t, registry)
	if got := value(t, f, "aiperf_requests_total", "outcome", "cancelled"); got != 1 {
		t.Errorf("cancelled = %v, want 1", got)
	}
	if got := sum(f, "aiperf_slo_requests_total") + sum(f, "aiperf_request_errors_total"); got != 0 {
		t.Errorf("slo requests and errors = %v, want 0", got)
	}
}

func TestAnImpossibleRecordIsOurErrorAndReachesNoHistogram(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t, testSLO())
	r := goldenTimelines()["plain"].record()
	r.Content[2] = r.Content[0]
	target.Sent().Finish(r)
	f := gather(t, registry)
	if got := value(t, f, "aiperf_invalid_records_total", "reason", "order"); got != 1 {
		t.Errorf("invalid records = %v, want 1", got)
	}
	if got := value(t, f, "aiperf_request_errors_total", "error_class", "client_internal"); got != 1 {
		t.Errorf("client_internal = %v, want 1", got)
	}
	if got := childOf(t, f, "aiperf_request_duration_seconds", "outcome", "error").GetHistogram().GetSampleCount(); got != 0 {
		t.Errorf("duration count = %d, want 0", got)
	}
}

func TestARemovedTargetIsGoneAndComesBackAtZero(t *testing.T) {
	t.Parallel()
	s, target, registry := newTestStore(t, testSLO())
	target.Sent().Finish(goldenTimelines()["plain"].record())
	s.Remove(target)
	for name, family := range gather(t, registry) {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "target" {
					t.Fatalf("%s is still there", name)
				}
			}
		}
	}
	s.Add(TargetInfo{Name: "t", Model: "m", Workload: "w", Features: Features{Streaming: true, SLOs: []SLO{testSLO()}}})
	f := gather(t, registry)
	if got := sum(f, "aiperf_requests_total"); got != 0 {
		t.Errorf("requests = %v, want 0", got)
	}
	if got := value(t, f, "aiperf_exporter_target_generation", "target", "t"); got != 1 {
		t.Errorf("generation = %v, want 1", got)
	}
}

func TestStatusCodesAreBounded(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t)
	for status := 200; status < 400; status++ {
		r := goldenTimelines()["empty"].record()
		r.Status = status
		target.Sent().Finish(r)
	}
	f := gather(t, registry)
	if got := len(f["aiperf_http_responses_total"].GetMetric()); got > maxCodes+1 {
		t.Errorf("%d codes, want at most %d", got, maxCodes+1)
	}
	if got := sum(f, "aiperf_http_responses_total"); got != 200 {
		t.Errorf("responses = %v, want 200: none is lost", got)
	}
}

func TestExemplarsCarryTheRequest(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t)
	target.Sent().Finish(goldenTimelines()["plain"].record())
	h := childOf(t, gather(t, registry), "aiperf_time_to_first_token_seconds").GetHistogram()
	for _, b := range h.GetBucket() {
		if e := b.GetExemplar(); e != nil {
			if got := e.GetLabel()[0]; got.GetName() != "request_id" || got.GetValue() != "plain" {
				t.Errorf("exemplar = %v", got)
			}
			return
		}
	}
	t.Error("no exemplar")
}

func TestTheSeriesEstimateIsNotBelowWhatIsExposed(t *testing.T) {
	t.Parallel()
	features := Features{Streaming: true, SLOs: []SLO{testSLO()}}
	_, _, registry := newTestStore(t, features.SLOs...)
	exposed := 0
	for _, family := range gather(t, registry) {
		for _, m := range family.GetMetric() {
			if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "model" }) {
				continue
			}
			if h := m.GetHistogram(); h != nil {
				exposed += len(h.GetBucket()) + 3
				continue
			}
			exposed++
		}
	}
	config := DefaultConfig()
	if got := config.SeriesOf(&features, features.SLOs); got != exposed {
		t.Errorf("estimate = %d, exposed = %d", got, exposed)
	}
	if exposed > DefaultConfig().MaxSeriesPerTarget {
		t.Errorf("%d series per target, more than the default limit", exposed)
	}
}
