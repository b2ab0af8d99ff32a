package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

func TestWindowSumsUpTheLastFiveMinutes(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10}, interactive)
	r.play("555d")
	r.clock.now += 300 * second
	r.play("....s5dxxbcw") // eleven seconds, of which the first ends 301 s after the last failure
	want := view.Window{
		Seconds: 300, Requests: 7, Failures: 2,
		TTFT:    view.Quantiles{Samples: 5, P50: new(0.2)},
		ITL:     view.Quantiles{Samples: 5, P50: new(0.08)},
		Latency: view.Quantiles{Samples: 5, P50: new(1.0)},
		Goodput: new(4.0 / 7), Errors: map[string]int{"http_5xx": 1, "dns": 1}, Dropped: map[string]int{"in_flight": 2, "budget": 1},
	}
	if diff := cmp.Diff(want, r.row("running").Window); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWindowTellsHowFarItReaches(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10})
	r.play("....")
	if got := r.row("running").Window; got.Seconds != 4 || got.Requests != 4 {
		t.Errorf("a young target: %v s with %d", got.Seconds, got.Requests)
	}
	for range 2 * maxSamples {
		r.clock.now += second / 10
		r.fast()
	}
	got := r.row("running").Window
	if got.Requests != maxSamples || math.Abs(got.Seconds-float64(maxSamples-1)/10) > 1e-9 || got.Goodput != nil {
		t.Errorf("a busy target: %v s with %d", got.Seconds, got.Requests)
	}
}

func TestQuantilesAreToldWhereThereAreEnoughSamples(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]view.Quantiles{
		0:   {},
		1:   {Samples: 1, P50: new(1.0)},
		2:   {Samples: 2, P50: new(1.0)},
		19:  {Samples: 19, P50: new(10.0)},
		20:  {Samples: 20, P50: new(10.0), P95: new(19.0)},
		100: {Samples: 100, P50: new(50.0), P95: new(95.0), P99: new(99.0)},
	} {
		var values []micros
		for i := n; i > 0; i-- {
			values = append(values, micros(i)*1e6)
		}
		if diff := cmp.Diff(want, quantiles(values)); diff != "" {
			t.Errorf("%d values (-want +got):\n%s", n, diff)
		}
	}
}

func TestDurationsThatDoNotFitAreTheLongest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		v    metrics.Value
		want micros
	}{
		{metrics.Value{}, none},
		{metrics.Value{V: math.NaN(), Defined: true}, none},
		{metrics.Value{V: 0, Defined: true}, 0},
		{metrics.Value{V: -1, Defined: true}, 0},
		{metrics.Value{V: 0.2, Defined: true}, 200_000},
		{metrics.Value{V: 1e5, Defined: true}, none - 1},
		{metrics.Value{V: math.Inf(1), Defined: true}, none - 1},
	} {
		if got := microsOf(test.v); got != test.want {
			t.Errorf("%v: got %d, want %d", test.v, got, test.want)
		}
	}
}

func TestPointsAreThoseOfTheLastHour(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10}, interactive)
	r.clock.now = 1019 * second // the point in which the target began ends at 1020 s
	r.play(".s5dxb......")      // the first ends it
	r.clock.now = 1080 * second
	want := []view.Point{
		{At: epoch.Add(1020 * time.Second)},
		{
			At: epoch.Add(1050 * time.Second), Requests: 10, Failures: 2, Dropped: 2, Judged: 10, Good: 7,
			TTFT50: new(0.2), TTFT95: new(1.2), Latency: new(1.0), Rate: new(88.0 / 9),
		},
		{At: epoch.Add(1080 * time.Second)},
	}
	if diff := cmp.Diff(want, r.row("running").Points); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.clock.now += 3570 * second
	got := r.row("running").Points
	if len(got) != maxPoints || got[0].Requests != 0 || !got[0].At.Equal(epoch.Add(1080*time.Second)) || !got[len(got)-1].At.Equal(epoch.Add(4650*time.Second)) {
		t.Errorf("an hour later: %d points from %+v to %v", len(got), got[0], got[len(got)-1].At)
	}
	r.clock.now += 100_000 * second
	got = r.row("running").Points
	if len(got) != maxPoints || got[len(got)-1].At.Add(30*time.Second).Before(r.clock.Wall(r.clock.now)) {
		t.Errorf("after a long silence: %d points until %v, now is %v", len(got), got[len(got)-1].At, r.clock.Wall(r.clock.now))
	}
}

func TestThinningKeepsTheShapeOfManyValues(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var s thinned
	for range 2 { // the second time after take
		var all []micros
		for range 100_000 {
			d := micros(random.ExpFloat64() * 1e6)
			s.add(d)
			all = append(all, d)
		}
		s.add(none)
		slices.Sort(all)
		kept := s.take()
		if len(kept) > maxThinned || len(kept) < maxThinned/2 {
			t.Fatalf("%d values are kept", len(kept))
		}
		// The share of all values below the quantile of the kept ones: five standard deviations for 256 of them.
		at, _ := slices.BinarySearch(all, toMicros(int64(*quantile(kept, 0.5)*1e9)))
		if share := float64(at) / float64(len(all)); math.Abs(share-0.5) > 0.16 {
			t.Errorf("the median of the kept values is above %v of all", share)
		}
	}
}

func TestRateIsThatOfTheLastMinute(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10})
	if got := r.row("running").AchievedRate; got != 0 {
		t.Errorf("at first %v", got)
	}
	for range 300 {
		r.clock.now += second / 2
		r.finish("", 0, time.Second/4)
	}
	if got := r.row("running").AchievedRate; math.Abs(got-2) > 0.05 {
		t.Errorf("two a second: %v", got)
	}
	r.clock.now += 35 * second
	if got := r.row("running").AchievedRate; got < 0.8 || got > 1.1 {
		t.Errorf("half a minute later: %v", got)
	}
	r.clock.now += 35 * second
	if got := r.row("running").AchievedRate; got != 0 {
		t.Errorf("a minute later: %v", got)
	}
}

// Instants of goroutines come in any order.
func TestTimeDoesNotGoBack(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10})
	r.play("...")
	r.clock.now -= 2 * second
	r.finish(metrics.ErrDNS, 0, time.Second)
	r.clock.now += 2 * second
	if w := r.row("running").Window; w.Requests != 4 || w.Failures != 1 {
		t.Errorf("%+v", w)
	}
}

// benchmarkRecord is one of 500 content events.
func benchmarkRecord(outcome metrics.Outcome) (*metrics.Record, *metrics.Measures, []metrics.Verdict) {
	r := &metrics.Record{
		RequestID: "0123456789abcdef", Outcome: outcome, Streaming: true, Time: metrics.Timeline{Sched: 1, Issue: 2, Start: 3, Sent: 1e6, End: 6e9},
		Usage: metrics.Usage{Output: metrics.Tokens(500)}, OutputSource: metrics.SourceUsage,
	}
	if outcome == metrics.Failure {
		r.Class, r.Detail = metrics.ErrHTTP5xx, "the server said no"
	}
	for i := range int64(500) {
		r.Content = append(r.Content, 2e8+i*1e7)
	}
	m := metrics.Measure(r)
	return r, &m, []metrics.Verdict{interactive.Evaluate(r, &m)}
}

func BenchmarkFinished(b *testing.B) {
	for _, outcome := range []metrics.Outcome{metrics.Success, metrics.Failure} {
		b.Run(string(outcome), func(b *testing.B) {
			h := New(Config{Records: 100}, Deps{Clock: metrics.NewSystemClock()})
			h.SetTargets([]Target{{Name: "a", SLOs: []metrics.SLO{interactive}}})
			r, m, verdicts := benchmarkRecord(outcome)
			at := r.Time.End
			for b.ReportAllocs(); b.Loop(); {
				at += 1e6 // a thousand a second: the window is full
				r.Time.End = at
				h.Finished("a", r, m, verdicts)
			}
		})
	}
}

// The window is full, so that a look at it costs as much as it may.
func BenchmarkDropped(b *testing.B) {
	clock := &handClock{now: 1000 * second}
	h := New(Config{Records: 100}, Deps{Clock: clock})
	h.SetTargets([]Target{{Name: "a", SLOs: []metrics.SLO{interactive}}})
	r, m, verdicts := benchmarkRecord(metrics.Success)
	for range maxSamples {
		clock.now += 1e6
		r.Time.End = clock.now
		h.Finished("a", r, m, verdicts)
	}
	for b.ReportAllocs(); b.Loop(); {
		clock.now += 1e5 // ten thousand a second
		h.Dropped("a", metrics.DropInFlight, 1)
	}
}

func BenchmarkFill(b *testing.B) {
	h := New(Config{Records: 100}, Deps{Clock: metrics.NewSystemClock()})
	h.SetTargets([]Target{{Name: "a", SLOs: []metrics.SLO{interactive}}})
	r, m, verdicts := benchmarkRecord(metrics.Success)
	for i := range int64(3600) {
		r.Time.End = i * 1e9
		h.Finished("a", r, m, verdicts)
	}
	for b.ReportAllocs(); b.Loop(); {
		h.Fill(&view.Target{Name: "a", State: "running"})
	}
}

func TestAFinishedRequestAllocatesNothing(t *testing.T) {
	h := New(Config{Records: 100}, Deps{Clock: metrics.NewSystemClock()})
	h.SetTargets([]Target{{Name: "a", SLOs: []metrics.SLO{interactive}}})
	r, m, verdicts := benchmarkRecord(metrics.Success)
	finish := func() { h.Finished("a", r, m, verdicts) }
	for range maxSamples + maxThinned {
		finish()
	}
	if n := testing.AllocsPerRun(1000, finish); n > 0 {
		t.Errorf("%v allocations for a request", n)
	}
}
