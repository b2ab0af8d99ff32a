package metrics

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// fly carries a record through a flight, as the generator does.
func fly(target *Target, r *Record, inputTokens int64) {
	flight := target.Sent()
	if !r.Warmup {
		flight.Start(r.Time.Start, inputTokens)
	}
	for i, at := range r.Content {
		told := Count{}
		if i == 0 {
			told = r.FirstTokens
		}
		flight.Content(at, told)
	}
	flight.Finish(r)
}

// moved shifts a record so that it starts at an instant.
func moved(r *Record, start int64) *Record {
	by := start - r.Time.Start
	for _, at := range []*int64{&r.Time.Sched, &r.Time.Issue, &r.Time.Start, &r.Time.Header, &r.Time.FirstEvent, &r.Time.FirstOutput, &r.Time.End} {
		if *at != 0 {
			*at += by
		}
	}
	for i := range r.Content {
		r.Content[i] += by
	}
	return r
}

// newSweepStore has a target whose time runs from now on, for records that lie ahead of the clock.
func newSweepStore(t *testing.T, kind HistogramKind) (*Store, *Target, *prometheus.Registry) {
	t.Helper()
	config := DefaultConfig()
	config.Histograms = kind
	s := NewStore(Options{Config: config, Clock: NewSystemClock(), Settings: Settings{ConfigHash: "0123456789ab"}})
	registry := prometheus.NewPedanticRegistry()
	prometheus.WrapRegistererWith(prometheus.Labels{"region": "north"}, registry).MustRegister(s)
	return s, s.Add(TargetInfo{Name: "t", Model: "m", Workload: "w", Features: Features{Streaming: true}, Accounting: Estimated}), registry
}

func TestARequestShowsInTheSeriesOfItsPhases(t *testing.T) {
	t.Parallel()
	s, target, registry := newSweepStore(t, HistogramsBoth)
	fly(target, moved(goldenTimelines()["plain"].record(), s.options.Clock.Now()+second), 100)
	target.mu.Lock()
	target.sweep.collect(target.sweep.begun + 10*second)
	target.mu.Unlock()
	f := gather(t, registry)
	for _, want := range []struct {
		name, phase string
		value       float64
	}{
		{"aiperf_phase_tokens_total", "prefill", 100},
		{"aiperf_phase_tokens_total", "decode", 3},
		{"aiperf_phase_tokens_total", "total", 103},
		{"aiperf_phase_active_seconds_total", "prefill", .25},
		{"aiperf_phase_active_seconds_total", "decode", .15},
		{"aiperf_phase_active_seconds_total", "total", .403},
		{"aiperf_phase_request_seconds_total", "total", .403},
	} {
		near(t, want.name+" of "+want.phase, value(t, f, want.name, "phase", want.phase), want.value)
	}
	near(t, "settled", value(t, f, "aiperf_sweep_settled_seconds_total"), 10)
	near(t, "token seconds", value(t, f, "aiperf_tokens_in_flight_token_seconds_total"), 100*.403+.05+2*.05+3*.05+4*.003)
	near(t, "estimated", value(t, f, "aiperf_sweep_decode_tokens_total", "accounting", "estimated"), 3)
	active := childOf(t, f, "aiperf_phase_throughput_tokens_per_second", "phase", "prefill", "state", "active").GetHistogram()
	checkBuckets(t, active, map[float64]uint64{300: 0, 500: 250_000})
	if active.GetSampleSum() != 100e6 || active.GetCreatedTimestamp() == nil {
		t.Errorf("active prefill: %v", active)
	}
	users := childOf(t, f, "aiperf_phase_throughput_tokens_per_second_per_user", "phase", "decode", "state", "active").GetHistogram()
	near(t, "speed of a user", users.GetSampleSum()/float64(users.GetSampleCount()), 20)
	concurrent := childOf(t, f, "aiperf_phase_concurrency_requests", "phase", "total").GetHistogram()
	checkBuckets(t, concurrent, map[float64]uint64{0: 9_597_000, 1: 10_000_000})
}

func TestEveryFormOfHistogramCanBeWrittenInEveryFormat(t *testing.T) {
	t.Parallel()
	formats := []expfmt.Format{
		expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeOpenMetrics), expfmt.NewFormat(expfmt.TypeProtoDelim),
	}
	for _, kind := range []HistogramKind{HistogramsBoth, HistogramsClassic, HistogramsNative} {
		s, target, registry := newSweepStore(t, kind)
		fly(target, moved(goldenTimelines()["plain"].record(), s.options.Clock.Now()+second), 100)
		target.mu.Lock()
		target.sweep.collect(target.sweep.begun + 10*second)
		target.mu.Unlock()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range formats {
			var out bytes.Buffer
			encoder := expfmt.NewEncoder(&out, format)
			for _, f := range families {
				if err := encoder.Encode(f); err != nil {
					t.Fatalf("%s, %s: %v", kind, format, err)
				}
			}
			const count = `aiperf_phase_throughput_tokens_per_second_count{model="m",phase="prefill",region="north",state="active",target="t",workload="w"} 250000`
			if format.FormatType() != expfmt.TypeProtoDelim && !strings.Contains(out.String(), count) {
				t.Errorf("%s, %s: no %s", kind, format, count)
			}
		}
	}
}

func TestWarmUpAndUnsentRequestsHaveNoPartInTheThroughput(t *testing.T) {
	t.Parallel()
	_, target, registry := newSweepStore(t, HistogramsBoth)
	warm := goldenTimelines()["plain"].record()
	warm.Warmup = true
	fly(target, warm, 100)
	never := target.Sent()
	never.Finish(goldenTimelines()["empty"].record())
	f := gather(t, registry)
	for _, name := range []string{"aiperf_phase_tokens_total", "aiperf_phase_active_seconds_total", "aiperf_phase_request_seconds_total", "aiperf_sweep_late_tokens_total"} {
		if got := sum(f, name); got != 0 {
			t.Errorf("%s = %v, want 0", name, got)
		}
	}
}

// TestARequestWithoutAStreamIsNoPrefillOfATargetWithStreams, however long it takes: one with a stream has been in prefill for sure after maxLag.
func TestARequestWithoutAStreamIsNoPrefillOfATargetWithStreams(t *testing.T) {
	t.Parallel()
	for whole, want := range map[bool]float64{true: 0, false: 29} {
		s, target, registry := newSweepStore(t, HistogramsBoth)
		flight := target.Sent()
		if whole {
			flight.Whole()
		}
		target.mu.Lock()
		begun := target.sweep.begun
		target.mu.Unlock()
		flight.Start(max(begun, s.options.Clock.Now())+second, 100)
		target.mu.Lock()
		target.sweep.collect(begun + 60*second)
		target.mu.Unlock()
		got := value(t, gather(t, registry), "aiperf_phase_request_seconds_total", "phase", "prefill")
		if got < want-1 || got > want+1 {
			t.Errorf("whole %v: %v s in prefill, want about %v", whole, got, want)
		}
	}
}

func TestEachScrapeSeesOneStateOfTheSweep(t *testing.T) {
	t.Parallel()
	s, target, registry := newSweepStore(t, HistogramsBoth)
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
				r := &Record{Streaming: true, Outcome: Success, InputSource: SourceUsage, OutputSource: SourceUsage, Usage: tokens(100, 40)}
				r.Time.Sched = s.options.Clock.Now()
				r.Time.Issue, r.Time.Start = r.Time.Sched, r.Time.Sched
				flight.Start(r.Time.Start, 90)
				for range 20 {
					r.Content = append(r.Content, s.options.Clock.Now())
					flight.Content(r.Content[len(r.Content)-1], Count{})
				}
				r.Time.End = s.options.Clock.Now()
				flight.Finish(r)
			}
		})
	}
	before := map[string]float64{}
	for range 100 {
		f := gather(t, registry)
		settled := value(t, f, "aiperf_sweep_settled_seconds_total")
		for _, phase := range SweepPhases {
			weight := uint64(0)
			for _, state := range sweepStates {
				weight += childOf(t, f, "aiperf_phase_throughput_tokens_per_second", "phase", phase, "state", state).GetHistogram().GetSampleCount()
			}
			if missing := settled*1e6 - float64(weight); missing < -1 || missing > 600 {
				t.Fatalf("%s: weights are %d µs, settled %v s", phase, weight, settled)
			}
			active := childOf(t, f, "aiperf_phase_throughput_tokens_per_second", "phase", phase, "state", "active").GetHistogram().GetSampleCount()
			if seconds := value(t, f, "aiperf_phase_active_seconds_total", "phase", phase); math.Abs(seconds*1e6-float64(active)) > 600 {
				t.Fatalf("%s: active for %v s, weights are %d µs", phase, seconds, active)
			}
		}
		parts := value(t, f, "aiperf_phase_tokens_total", "phase", "prefill") + value(t, f, "aiperf_phase_tokens_total", "phase", "decode")
		if total := value(t, f, "aiperf_phase_tokens_total", "phase", "total"); total != parts {
			t.Fatalf("total = %v, prefill and decode together %v", total, parts)
		}
		for name, family := range f {
			if !strings.HasPrefix(name, "aiperf_phase_") && !strings.HasPrefix(name, "aiperf_sweep_") || family.GetType() != dto.MetricType_COUNTER {
				continue
			}
			for _, m := range family.GetMetric() {
				key := fmt.Sprint(name, m.GetLabel())
				if m.GetCounter().GetValue() < before[key] {
					t.Fatalf("%s has gone back", key)
				}
				before[key] = m.GetCounter().GetValue()
			}
		}
	}
	close(stop)
	work.Wait()
}

func TestAccountingIsOneOfTwo(t *testing.T) {
	t.Parallel()
	for _, a := range []Accounting{Estimated, EvenSpread} {
		if errs := a.Validate("x"); len(errs) != 0 {
			t.Errorf("%s: %v", a, errs)
		}
	}
	for _, a := range []Accounting{"usage_chunk", ""} {
		var got []string
		for _, err := range a.Validate("targets[0].accounting") {
			got = append(got, err.Error())
		}
		want := []string{`targets[0].accounting: must be one of estimated, even_spread, got "` + string(a) + `"`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
