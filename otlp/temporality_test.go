package otlp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// receiver adds up differences.
type receiver struct {
	counts map[string]uint64
	sums   map[string]float64
	ends   map[string]time.Time // of the last window of a series
}

func newReceiver() *receiver {
	return &receiver{counts: map[string]uint64{}, sums: map[string]float64{}, ends: map[string]time.Time{}}
}

// take adds what arrived, and finds windows that overlap.
func (r *receiver) take(t *testing.T, scopes []metricdata.ScopeMetrics) {
	t.Helper()
	eachPoint(scopes, func(key string, start, at time.Time, count uint64, sum float64) {
		if start.Before(r.ends[key]) {
			t.Errorf("%s: a window begins at %v, before the end of the one before, %v", key, start, r.ends[key])
		}
		r.ends[key] = at
		r.counts[key] += count
		r.sums[key] += sum
	})
}

// eachPoint visits counters and histograms, and the buckets of histograms as series of their own.
func eachPoint(scopes []metricdata.ScopeMetrics, visit func(key string, start, at time.Time, count uint64, sum float64)) {
	name := func(m metricdata.Metrics, set attribute.Set) string {
		return m.Name + "{" + set.Encoded(attribute.DefaultEncoder()) + "}"
	}
	for _, s := range scopes {
		for _, m := range s.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					visit(name(m, p.Attributes), p.StartTime, p.Time, 0, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					visit(name(m, p.Attributes), p.StartTime, p.Time, p.Count, p.Sum)
					for i, n := range p.BucketCounts {
						visit(fmt.Sprintf("%s#%d", name(m, p.Attributes), i), p.StartTime, p.Time, n, 0)
					}
				}
			case metricdata.ExponentialHistogram[float64]:
				for _, p := range data.DataPoints {
					key := name(m, p.Attributes)
					visit(key, p.StartTime, p.Time, p.Count, p.Sum)
					visit(key+"#zero", p.StartTime, p.Time, p.ZeroCount, 0)
					for i, n := range merged(p.PositiveBucket, int(p.Scale+2)).Counts { // a resolution that all have in common
						visit(fmt.Sprintf("%s#%d", key, int(p.PositiveBucket.Offset>>(p.Scale+2))+i), p.StartTime, p.Time, n, 0)
					}
				}
			}
		}
	}
}

func TestDifferencesThatArriveAddUpToWhatAScrapeShows(t *testing.T) {
	t.Parallel()
	for _, form := range []HistogramForm{Exponential, Explicit} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s, seed %d", form, seed), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(seed, 2))
				o := observe(t, metrics.HistogramsBoth, 2)
				now := began.Add(time.Hour)
				p := testProducer(form, metrics.Table()...)
				p.gatherer, p.start, p.now = o.registry, time.Time{}, func() time.Time { return now }
				d, got := newDeltas(Delta, time.Time{}), newReceiver()
				last := newReceiver()
				for round := range 25 {
					now = time.Now().Add(time.Duration(round) * time.Hour)
					for range random.IntN(20) {
						o.finish(o.targets[random.IntN(2)], random)
					}
					scopes, err := p.scopes()
					if err != nil {
						t.Fatal(err)
					}
					if round == 24 {
						last.take(t, scopes)
					}
					for _, request := range split(d.turn(scopes), 100, 64<<10) {
						if round < 24 && random.IntN(3) == 0 {
							continue // it does not arrive
						}
						got.take(t, request)
						d.arrived(request)
					}
				}
				compareReceivers(t, got, last)
			})
		}
	}
}

func compareReceivers(t *testing.T, got, want *receiver) {
	t.Helper()
	if len(want.counts) < 100 {
		t.Fatalf("only %d series", len(want.counts))
	}
	for key, n := range got.counts {
		if n == 0 {
			delete(got.counts, key)
		}
	}
	for key, n := range want.counts {
		if n == 0 {
			delete(want.counts, key)
		}
	}
	if diff := cmp.Diff(want.counts, got.counts); diff != "" {
		t.Errorf("counts, want -, got +:\n%s", diff)
	}
	for key, sum := range want.sums {
		if math.Abs(got.sums[key]-sum) > 1e-9*math.Abs(sum) {
			t.Errorf("%s: got the sum %v, want %v", key, got.sums[key], sum)
		}
	}
}

// counter is a scope with one counter; nil values are series that are not there.
func counter(at time.Time, values map[string]float64, starts map[string]time.Time) []metricdata.ScopeMetrics {
	sum := metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	for target, v := range values {
		sum.DataPoints = append(sum.DataPoints, sumPoint{Attributes: set("target", target), StartTime: starts[target], Time: at, Value: v})
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: "s"}, Metrics: []metricdata.Metrics{{Name: "c", Unit: "1", Data: sum}}}}
}

func TestWhatDoesNotArriveIsSentWithTheNext(t *testing.T) {
	t.Parallel()
	minute := func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
	type window struct {
		value    float64
		from, to int // minutes
	}
	for _, c := range []struct {
		name  string
		steps []struct {
			value   float64 // -1: the series is not there
			start   int     // minute
			arrives bool
		}
		want []map[string]window
	}{
		{
			name: "each window begins where the last that arrived ended",
			steps: []struct {
				value   float64
				start   int
				arrives bool
			}{{5, 0, true}, {7, 0, false}, {7, 0, false}, {11, 0, true}, {11, 0, true}},
			want: []map[string]window{{"a": {5, 0, 1}}, {"a": {2, 1, 2}}, {"a": {2, 1, 3}}, {"a": {6, 1, 4}}, {"a": {0, 4, 5}}},
		},
		{
			name: "a restart loses nothing that was seen",
			steps: []struct {
				value   float64
				start   int
				arrives bool
			}{{5, 0, true}, {9, 0, false}, {2, 2, false}, {3, 2, true}, {4, 2, true}},
			want: []map[string]window{{"a": {5, 0, 1}}, {"a": {4, 1, 2}}, {"a": {6, 1, 3}}, {"a": {7, 1, 4}}, {"a": {1, 4, 5}}},
		},
		{
			name: "a restart without a start shows by the value, and one of which nothing was missing begins its own window",
			steps: []struct {
				value   float64
				start   int
				arrives bool
			}{{5, 0, true}, {3, 0, true}, {8, 2, true}},
			want: []map[string]window{{"a": {5, 0, 1}}, {"a": {3, 1, 2}}, {"a": {8, 2, 3}}},
		},
		{
			name: "a series that is gone is sent until it has arrived, and then no more",
			steps: []struct {
				value   float64
				start   int
				arrives bool
			}{{5, 0, true}, {9, 0, false}, {-1, 0, false}, {-1, 0, true}, {-1, 0, true}, {1, 5, true}},
			want: []map[string]window{{"a": {5, 0, 1}}, {"a": {4, 1, 2}}, {"a": {4, 1, 2}}, {"a": {4, 1, 2}}, {}, {"a": {1, 5, 6}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDeltas(Delta, began)
			for i, step := range c.steps {
				values := map[string]float64{}
				if step.value >= 0 {
					values["a"] = step.value
				}
				out := d.turn(counter(minute(i+1), values, map[string]time.Time{"a": minute(step.start)}))
				got := map[string]window{}
				for _, m := range out[0].Metrics {
					if data := m.Data.(metricdata.Sum[float64]); data.Temporality != metricdata.DeltaTemporality || !data.IsMonotonic {
						t.Errorf("step %d: got %+v, want a monotonic delta", i, data)
					}
					for _, p := range m.Data.(metricdata.Sum[float64]).DataPoints {
						value, _ := p.Attributes.Value("target")
						got[value.AsString()] = window{p.Value, int(p.StartTime.Sub(began).Minutes()), int(p.Time.Sub(began).Minutes())}
					}
				}
				if diff := cmp.Diff(c.want[i], got, cmp.AllowUnexported(window{})); diff != "" {
					t.Errorf("step %d, want -, got +:\n%s", i, diff)
				}
				if step.arrives {
					d.arrived(out)
				}
			}
		})
	}
}

func TestNothingIsKeptOfMetricsThatAreGone(t *testing.T) {
	t.Parallel()
	d := newDeltas(Delta, began)
	for range 3 {
		d.arrived(d.turn(counter(reading, map[string]float64{"a": 1, "b": 2}, nil)))
	}
	for range remembered + 1 {
		d.arrived(d.turn(nil))
	}
	if n := len(d.metrics) + len(d.order); n != 0 {
		t.Errorf("got %d entries, want none", n)
	}
}

func TestWhatNeverArrivesOfSeriesThatAreGoneIsForgottenAfterAll(t *testing.T) {
	t.Parallel()
	d := newDeltas(Delta, began)
	d.turn(counter(reading, map[string]float64{"a": 1, "b": 2}, map[string]time.Time{"a": began, "b": began}))
	for range owed {
		d.turn(nil)
	}
	if n := len(d.order); n != 1 {
		t.Errorf("got %d metrics after a day, want the one that is still owed", n)
	}
	d.turn(nil)
	if n := len(d.metrics) + len(d.order); n != 0 {
		t.Errorf("got %d entries, want none", n)
	}
}

func TestWhatWasCountedBeforeThisProcessIsNotNew(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]time.Time{"nobody knows since when": {}, "since before this process": began.Add(-time.Hour)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, got := newDeltas(Delta, began), newReceiver()
			look := func(minutes int, values map[string]float64) {
				out := d.turn(counter(began.Add(time.Duration(minutes)*time.Minute), values, map[string]time.Time{"a": start}))
				got.take(t, out)
				d.arrived(out)
			}
			look(1, map[string]float64{"a": 1e9})
			look(2, map[string]float64{"a": 1e9 + 5})
			for minute := 3; minute < 9; minute++ {
				look(minute, nil) // the server does not answer
			}
			look(9, map[string]float64{"a": 1e9 + 12})
			look(10, map[string]float64{"a": 3}) // it was restarted
			if diff := cmp.Diff(map[string]float64{"c{target=a}": 5 + 7 + 3}, got.sums); diff != "" {
				t.Errorf("what arrived, want -, got +:\n%s", diff)
			}
		})
	}
}

func TestLowMemoryLeavesCountersCumulative(t *testing.T) {
	t.Parallel()
	given := []metricdata.Metrics{
		counter(reading, map[string]float64{"a": 1}, nil)[0].Metrics[0],
		{Name: "h", Data: metricdata.Histogram[float64]{
			Temporality: metricdata.CumulativeTemporality, DataPoints: []histogramPoint{{Count: 1, Sum: 3, BucketCounts: []uint64{1}}},
		}},
		{Name: "g", Data: metricdata.Gauge[float64]{}},
		{Name: "s", Data: metricdata.Summary{}},
		{Name: "u", Data: metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality}},
	}
	for temporality, want := range map[Temporality][]metricdata.Temporality{
		Delta:     {metricdata.DeltaTemporality, metricdata.DeltaTemporality, 0, 0, metricdata.CumulativeTemporality},
		LowMemory: {metricdata.CumulativeTemporality, metricdata.DeltaTemporality, 0, 0, metricdata.CumulativeTemporality},
	} {
		out := newDeltas(temporality, began).turn([]metricdata.ScopeMetrics{{Metrics: given}})
		var got []metricdata.Temporality
		for _, m := range out[0].Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[float64]:
				got = append(got, data.Temporality)
			case metricdata.Histogram[float64]:
				got = append(got, data.Temporality)
			default:
				got = append(got, 0)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", temporality, diff)
		}
	}
	if newDeltas(Cumulative, began) != nil {
		t.Error("cumulative: want no stage at all")
	}
}

func TestExponentialDifferencesHoldWhenTheResolutionFalls(t *testing.T) {
	t.Parallel()
	buckets := func(offset int32, counts ...uint64) metricdata.ExponentialBucket {
		return metricdata.ExponentialBucket{Offset: offset, Counts: counts}
	}
	how := exponentialPoints{}
	before := exponentialPoint{Count: 10, Sum: 5, Scale: 3, ZeroCount: 1, ZeroThreshold: 1e-6, PositiveBucket: buckets(-3, 2, 0, 3, 4)}
	for _, c := range []struct {
		name      string
		now       exponentialPoint
		restarted bool
		want      exponentialPoint
	}{
		{
			name: "the same resolution and more buckets",
			now:  exponentialPoint{Count: 13, Sum: 7, Scale: 3, ZeroCount: 2, ZeroThreshold: 1e-6, PositiveBucket: buckets(-4, 1, 2, 0, 3, 4, 1)},
			want: exponentialPoint{Count: 3, Sum: 2, Scale: 3, ZeroCount: 1, ZeroThreshold: 1e-6, PositiveBucket: buckets(-4, 1, 0, 0, 0, 0, 1)},
		},
		{
			name: "half the resolution", // -3 | -2, -1 | 0 become -2 | -1 | 0
			now:  exponentialPoint{Count: 11, Sum: 6, Scale: 2, ZeroCount: 1, ZeroThreshold: 1e-6, PositiveBucket: buckets(-2, 2, 3, 5)},
			want: exponentialPoint{Count: 1, Sum: 1, Scale: 2, ZeroThreshold: 1e-6, PositiveBucket: buckets(-2, 0, 0, 1)},
		},
		{
			name: "a wider bucket of zero", // the upper bound of -3 is 2^(-2/8)
			now:  exponentialPoint{Count: 11, Sum: 6, Scale: 3, ZeroCount: 4, ZeroThreshold: math.Exp2(-.25), PositiveBucket: buckets(-1, 3, 4)},
			want: exponentialPoint{Count: 1, Sum: 1, Scale: 3, ZeroCount: 1, ZeroThreshold: math.Exp2(-.25), PositiveBucket: buckets(-3, 0, 0, 0, 0)},
		},
		{
			name: "a bucket that has fallen", restarted: true,
			now: exponentialPoint{Count: 11, Scale: 3, ZeroCount: 1, ZeroThreshold: 1e-6, PositiveBucket: buckets(-3, 1, 0, 3, 6)},
		},
		{
			name: "a higher resolution", restarted: true,
			now: exponentialPoint{Count: 37, Scale: 4, ZeroCount: 1, ZeroThreshold: 1e-6, PositiveBucket: buckets(-3, 9, 9, 9, 9)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := how.restarted(&before, &c.now); got != c.restarted {
				t.Fatalf("restarted: got %v, want %v", got, c.restarted)
			}
			if c.restarted {
				return
			}
			got := how.minus(&c.now, &before)
			if diff := cmp.Diff(c.want, got, samePoints); diff != "" {
				t.Errorf("difference, want -, got +:\n%s", diff)
			}
			whole := how.plus(&got, &before)
			if diff := cmp.Diff(c.now.Count, whole.Count); diff != "" {
				t.Errorf("sum, want -, got +:\n%s", diff)
			}
			if how.restarted(&whole, &c.now) || how.restarted(&c.now, &whole) {
				t.Errorf("the sum of both is not the later one: %+v", whole)
			}
		})
	}
}

func TestExemplarsAreThoseOfTheWindow(t *testing.T) {
	t.Parallel()
	point := func(at time.Time) []metricdata.ScopeMetrics {
		return []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{Name: "h", Data: metricdata.Histogram[float64]{
			Temporality: metricdata.CumulativeTemporality, DataPoints: []histogramPoint{{
				StartTime: began, Time: at, Count: 2, BucketCounts: []uint64{2},
				Exemplars: []metricdata.Exemplar[float64]{{Value: 1, Time: began.Add(time.Second)}, {Value: 2, Time: began.Add(90 * time.Second)}},
			}},
		}}}}}
	}
	d := newDeltas(Delta, began)
	for i, want := range [][]float64{{1, 2}, {2}, {}} {
		out := d.turn(point(began.Add(time.Duration(i+1) * time.Minute)))
		got := []float64{}
		for _, e := range out[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints[0].Exemplars {
			got = append(got, e.Value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("export %d: want -, got +:\n%s", i, diff)
		}
		d.arrived(out)
	}
}

func TestMemoryStaysFlatWhileNothingArrives(t *testing.T) { //nolint:paralleltest // it measures the heap of the process
	o := observe(t, metrics.HistogramsBoth, 10)
	random := rand.New(rand.NewPCG(1, 3))
	for range 500 { // so that histograms have the buckets that they will ever have
		o.finish(o.targets[random.IntN(10)], random)
	}
	p := testProducer(Exponential, metrics.Table()...)
	p.gatherer, p.now = o.registry, time.Now
	d := newDeltas(Delta, began)
	var early uint64
	for round := range 100 {
		o.finish(o.targets[random.IntN(10)], random)
		scopes, err := p.scopes()
		if err != nil {
			t.Fatal(err)
		}
		if d.turn(scopes); round == 5 {
			early = heap()
		}
	}
	if late := heap(); late > early+early/5 {
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
	runtime.KeepAlive(d)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
