package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// values are spread over the orders of magnitude, with some on boundaries of either form, some twice, and zero.
func values(n int, least, most float64, bounds []float64) []float64 {
	random := rand.New(rand.NewPCG(3, 4))
	out := []float64{0, nativeZero, 1, 1, .5, 2, .25}
	out = append(out, bounds...)
	for range n {
		out = append(out, least*math.Pow(most/least, random.Float64()))
	}
	return out
}

func TestAHistogramShowsWhatTheLibrarysWould(t *testing.T) {
	t.Parallel()
	bounds := []float64{.001, .0025, .005, .01, .025, .05, .1, 1, 10, 60}
	for _, c := range []struct {
		name   string
		kind   HistogramKind
		values []float64
	}{
		{"classic and native", HistogramsBoth, values(2000, 1e-4, 30, bounds)},
		{"classic", HistogramsClassic, values(2000, 1e-4, 30, bounds)},
		{"native", HistogramsNative, values(2000, 1e-4, 30, bounds)},
		{"tokens", HistogramsBoth, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 128, 129, 1000, 131072, 1e9}},
		{"few that are far apart", HistogramsBoth, []float64{.002, 3, 100}},
		{"one", HistogramsBoth, []float64{.3}},
		{"none", HistogramsBoth, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opts := prometheus.HistogramOpts{Name: "x", Help: "X."}
			if c.kind != HistogramsNative {
				opts.Buckets = bounds
			}
			if c.kind != HistogramsClassic {
				opts.NativeHistogramBucketFactor, opts.NativeHistogramZeroThreshold = 1.1, nativeZero
			}
			library := prometheus.NewHistogram(opts)
			ours := newHistogram(&layout{desc: library.Desc(), bounds: bounds, kind: c.kind}, nil, nil)
			for _, v := range c.values {
				library.Observe(v)
				ours.observe(v)
			}
			var want dto.Metric
			if err := library.Write(&want); err != nil {
				t.Fatal(err)
			}
			ours.created = want.GetHistogram().GetCreatedTimestamp()
			got := dto.Metric{Histogram: ours.show(NewSystemClock())}
			if diff := cmp.Diff(&want, &got, protocmp.Transform()); diff != "" {
				t.Errorf("(-library +ours):\n%s", diff)
			}
		})
	}
}

func TestAHistogramThatOutgrowsItsBucketsBecomesCoarserAndForgetsNothing(t *testing.T) {
	t.Parallel()
	for doublings, wantSchema := range map[int]int32{10: 3, 30: 2, 70: 1, 140: 0, 300: -1} {
		t.Run(fmt.Sprintf("%d doublings", doublings), func(t *testing.T) {
			t.Parallel()
			bounds := []float64{1, 1e3}
			h := newHistogram(&layout{bounds: bounds, kind: HistogramsBoth}, nil, timestamppb.Now())
			spread := values(20_000, 1, math.Pow(2, float64(doublings)), bounds)
			for _, v := range spread {
				h.observe(v)
			}
			got := h.show(NewSystemClock())
			count, buckets := got.GetZeroCount(), nativeBuckets(got)
			for _, n := range buckets {
				count += uint64(n)
			}
			if count != uint64(len(spread)) || got.GetSampleCount() != count {
				t.Errorf("%d values in native buckets and %d in all, want %d", count, got.GetSampleCount(), len(spread))
			}
			if len(buckets) > maxNativeBuckets || got.GetSchema() != wantSchema {
				t.Errorf("%d buckets of schema %d, want at most %d of schema %d", len(buckets), got.GetSchema(), maxNativeBuckets, wantSchema)
			}
		})
	}
}

func TestHistogramsMerge(t *testing.T) {
	t.Parallel()
	bounds := []float64{.01, .1, 1}
	l := &layout{bounds: bounds, kind: HistogramsBoth}
	narrow, wide := values(300, .01, 1, bounds), values(3000, 1e-5, 1e15, bounds)
	for name, parts := range map[string][2][]float64{
		"both narrow":          {narrow, values(50, .001, .1, nil)},
		"a narrow into a wide": {wide, narrow},
		"a wide into a narrow": {narrow, wide},
		"one into nothing":     {nil, narrow},
		"nothing into one":     {narrow, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole, first, second := newHistogram(l, nil, nil), newHistogram(l, nil, nil), newHistogram(l, nil, nil)
			second.observe(1e300)
			second.reset()
			for _, v := range slices.Concat(parts[0], parts[1]) {
				whole.observe(v)
			}
			for _, v := range parts[0] {
				first.observe(v)
			}
			for _, v := range parts[1] {
				second.observe(v)
			}
			first.merge(&second)
			clock := NewSystemClock()
			about := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b)) })
			if diff := cmp.Diff(whole.show(clock), first.show(clock), protocmp.Transform(), about); diff != "" {
				t.Errorf("(-observed +merged):\n%s", diff)
			}
		})
	}
}

func TestANativeHistogramShowsItsNewestExemplars(t *testing.T) {
	t.Parallel()
	bounds := make([]float64, 30)
	for i := range bounds {
		bounds[i] = float64(i)
	}
	h := newHistogram(&layout{bounds: bounds, kind: HistogramsNative, exemplars: true}, nil, nil)
	for i := range bounds {
		at := h.observe(float64(i))
		h.exemplars[at] = exemplar{value: float64(i), at: int64(100 - i), requestID: fmt.Sprint(i)}
	}
	var got []float64
	for _, e := range h.show(NewSystemClock()).GetExemplars() {
		got = append(got, e.GetValue())
	}
	if diff := cmp.Diff([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExemplarsAreTheLastOfTheirBuckets(t *testing.T) {
	t.Parallel()
	for _, form := range []HistogramKind{HistogramsClassic, HistogramsNative, HistogramsBoth} {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			config := DefaultConfig()
			config.Histograms = form
			clock := NewSystemClock()
			s := NewStore(Options{Config: config, Clock: clock})
			target := s.Add(TargetInfo{Name: "t", Features: Features{Streaming: true}})
			ends := map[string]time.Time{}
			for i, ttft := range []time.Duration{15 * time.Millisecond, 16 * time.Millisecond, 500 * time.Millisecond, time.Hour} {
				start := int64(time.Hour)
				first := start + int64(ttft)
				r := &Record{RequestID: fmt.Sprint("request-", i), Streaming: true, Outcome: Success, Content: []int64{first}}
				r.Time = Timeline{Sched: start, Issue: start, Start: start, End: first + int64(i)}
				target.Sent().Finish(r)
				ends[r.RequestID] = clock.Wall(r.Time.End)
			}
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(s)
			h := childOf(t, gather(t, registry), "aiperf_time_to_first_token_seconds").GetHistogram()
			classic, native := []string{}, []string{}
			for _, b := range h.GetBucket() {
				classic = append(classic, ids(t, ends, b.GetExemplar())...)
			}
			for _, e := range h.GetExemplars() {
				native = append(native, ids(t, ends, e)...)
			}
			want := []string{"request-1", "request-2", "request-3"}
			if form != HistogramsNative {
				if diff := cmp.Diff(want, classic); diff != "" {
					t.Errorf("exemplars of classic buckets (-want +got):\n%s", diff)
				}
			}
			if form != HistogramsClassic {
				if diff := cmp.Diff(want, native); diff != "" {
					t.Errorf("native exemplars (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// ids is the request of an exemplar, whose instant must be the end of it.
func ids(t *testing.T, ends map[string]time.Time, e *dto.Exemplar) []string {
	t.Helper()
	if e == nil {
		return nil
	}
	id := e.GetLabel()[0].GetValue()
	if got := e.GetTimestamp().AsTime(); !got.Equal(ends[id]) {
		t.Errorf("the exemplar of %s is of %v, want %v", id, got, ends[id])
	}
	return []string{id}
}
