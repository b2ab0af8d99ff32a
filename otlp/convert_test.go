package otlp

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The instants of the tests.
var (
	began   = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	created = began.Add(30 * time.Second)
	reading = began.Add(time.Minute)
)

// samePoints compares metric data by what is in it.
var samePoints = cmp.Options{
	cmp.Comparer(func(a, b attribute.Set) bool { return a.Equals(&b) }),
	cmp.Comparer(func(a, b attribute.Value) bool { return a.String() == b.String() && a.Type() == b.Type() }),
	cmp.Comparer(func(a, b metricdata.Extrema[float64]) bool { return a == b }),
	cmpopts.EquateEmpty(),
}

func set(labels ...string) attribute.Set {
	var out []attribute.KeyValue
	for i := 0; i < len(labels); i += 2 {
		out = append(out, attribute.String(labels[i], labels[i+1]))
	}
	return attribute.NewSet(out...)
}

// family reads one in protobuf's text form. Counters and histograms are created at that instant.
func family(t *testing.T, text string) *dto.MetricFamily {
	t.Helper()
	f := &dto.MetricFamily{}
	if err := prototext.Unmarshal([]byte(text), f); err != nil {
		t.Fatal(err)
	}
	for _, m := range f.Metric {
		at := timestamppb.New(created)
		switch {
		case m.Counter != nil:
			m.Counter.CreatedTimestamp = at
		case m.Histogram != nil:
			m.Histogram.CreatedTimestamp = at
		}
	}
	return f
}

func testProducer(form HistogramForm, table ...metrics.Series) *gathering {
	return &gathering{producer: &producer{names: newNamer(table), form: form, start: began}, now: func() time.Time { return reading }}
}

// gathering is a producer with what it speaks of.
type gathering struct {
	*producer

	gatherer prometheus.Gatherer
	now      func() time.Time
}

func (g *gathering) look() (look, error) {
	families, err := g.gatherer.Gather()
	return look{at: g.now(), families: families}, err
}

func (g *gathering) scopes() ([]metricdata.ScopeMetrics, error) {
	l, err := g.look()
	return g.produce(l), err
}

const bothForms = `
name: "aiperf_time_to_first_token_seconds" help: "Time." type: HISTOGRAM
metric {
  label { name: "target" value: "a" }
  histogram {
    sample_count: 7 sample_sum: 2.5
    bucket { cumulative_count: 1 upper_bound: 0.1 }
    bucket { cumulative_count: 4 upper_bound: 0.25 exemplar { label { name: "request_id" value: "r1" } value: 0.2 timestamp { seconds: 1796029210 } } }
    bucket { cumulative_count: 7 upper_bound: inf }
    schema: 3 zero_threshold: 1e-06 zero_count: 1
    positive_span { offset: -28 length: 2 } positive_span { offset: 3 length: 1 }
    positive_delta: 2 positive_delta: -1 positive_delta: 2
    exemplars {
      label { name: "trace_id" value: "0102030405060708090a0b0c0d0e0f10" } label { name: "span_id" value: "a1a2a3a4a5a6a7a8" }
      label { name: "request_id" value: "r1" }
      value: 0.2 timestamp { seconds: 1796029210 }
    }
  }
}`

var (
	ttft         = metrics.Series{Name: "aiperf_time_to_first_token_seconds", Kind: metrics.Histogram, Unit: "seconds"}
	exemplarTime = time.Unix(1796029210, 0).UTC()
	nativePoint  = exponentialPoint{
		Attributes: set("target", "a"), StartTime: created, Time: reading, Count: 7, Sum: 2.5,
		Scale: 3, ZeroThreshold: 1e-6, ZeroCount: 1,
		// Prometheus' buckets -28, -27 and -23, each one less here.
		PositiveBucket: metricdata.ExponentialBucket{Offset: -29, Counts: []uint64{2, 1, 0, 0, 0, 3}},
		Exemplars: []metricdata.Exemplar[float64]{{
			FilteredAttributes: []attribute.KeyValue{attribute.String("request_id", "r1")}, Time: exemplarTime, Value: .2,
			TraceID: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, SpanID: []byte{0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8},
		}},
	}
	classicPoint = histogramPoint{
		Attributes: set("target", "a"), StartTime: created, Time: reading, Count: 7, Sum: 2.5,
		Bounds: []float64{.1, .25}, BucketCounts: []uint64{1, 3, 3},
		Exemplars: []metricdata.Exemplar[float64]{{
			FilteredAttributes: []attribute.KeyValue{attribute.String("request_id", "r1")}, Time: exemplarTime, Value: .2,
		}},
	}
)

func TestFamiliesAreSaidInTheWordsOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	name := func(data metricdata.Aggregation) []metricdata.Metrics {
		return []metricdata.Metrics{{Name: "aiperf.time_to_first_token", Description: "Time.", Unit: "s", Data: data}}
	}
	for _, c := range []struct {
		name  string
		form  HistogramForm
		given string
		want  []metricdata.Metrics
	}{
		{
			name:  "a counter is a monotonic sum since its creation",
			given: `name: "aiperf_tokens_total" help: "H" type: COUNTER metric { label { name: "target" value: "a" } counter { value: 12.5 } }`,
			want: []metricdata.Metrics{{Name: "aiperf.tokens", Description: "H", Unit: "{token}", Data: metricdata.Sum[float64]{
				Temporality: metricdata.CumulativeTemporality, IsMonotonic: true,
				DataPoints: []sumPoint{{Attributes: set("target", "a"), StartTime: created, Time: reading, Value: 12.5}},
			}}},
		},
		{
			name:  "a gauge is a gauge",
			given: `name: "aiperf_target_up" help: "H" type: GAUGE metric { label { name: "target" value: "a" } gauge { value: 1 } }`,
			want: []metricdata.Metrics{{Name: "aiperf.target.up", Description: "H", Data: metricdata.Gauge[float64]{
				DataPoints: []sumPoint{{Attributes: set("target", "a"), Time: reading, Value: 1}},
			}}},
		},
		{
			name:  "a family without a type is a gauge and keeps its foreign name",
			given: `name: "vllm:x" type: UNTYPED metric { untyped { value: -3 } }`,
			want: []metricdata.Metrics{{Name: "vllm:x", Data: metricdata.Gauge[float64]{
				DataPoints: []sumPoint{{Attributes: set(), Time: reading, Value: -3}},
			}}},
		},
		{
			name:  "a summary stays one, since the start of the process where it does not tell",
			given: `name: "go_gc_duration_seconds" type: SUMMARY metric { summary { sample_count: 3 sample_sum: 0.5 quantile { quantile: 0.5 value: 0.1 } } }`,
			want: []metricdata.Metrics{{Name: "go_gc_duration_seconds", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
				Attributes: set(), StartTime: began, Time: reading, Count: 3, Sum: .5,
				QuantileValues: []metricdata.QuantileValue{{Quantile: .5, Value: .1}},
			}}}}},
		},
		{
			name: "a histogram of both forms is exponential where that is wanted", form: Exponential, given: bothForms,
			want: name(metricdata.ExponentialHistogram[float64]{
				Temporality: metricdata.CumulativeTemporality, DataPoints: []exponentialPoint{nativePoint},
			}),
		},
		{
			name: "a histogram of both forms is explicit where that is wanted", form: Explicit, given: bothForms,
			want: name(metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []histogramPoint{classicPoint}}),
		},
		{
			name: "a classic histogram stays explicit where exponential ones are wanted", form: Exponential,
			given: `name: "h" type: HISTOGRAM metric { histogram { sample_count: 3 sample_sum: 9 bucket { cumulative_count: 2 upper_bound: 1 } } }`,
			want: []metricdata.Metrics{{Name: "h", Data: metricdata.Histogram[float64]{
				Temporality: metricdata.CumulativeTemporality, DataPoints: []histogramPoint{{
					Attributes: set(), StartTime: created, Time: reading, Count: 3, Sum: 9, Bounds: []float64{1}, BucketCounts: []uint64{2, 1},
				}},
			}}},
		},
		{
			name: "a native histogram stays exponential where explicit ones are wanted", form: Explicit,
			given: `name: "h" type: HISTOGRAM metric { histogram { sample_count: 3 sample_sum: 1 schema: 0 zero_threshold: 0.5 zero_count: 1
				positive_span { offset: 1 length: 1 } positive_delta: 1 negative_span { offset: 0 length: 1 } negative_delta: 1 } }`,
			want: []metricdata.Metrics{{Name: "h", Data: metricdata.ExponentialHistogram[float64]{
				Temporality: metricdata.CumulativeTemporality, DataPoints: []exponentialPoint{{
					Attributes: set(), StartTime: created, Time: reading, Count: 3, Sum: 1, ZeroThreshold: .5, ZeroCount: 1,
					PositiveBucket: metricdata.ExponentialBucket{Offset: 0, Counts: []uint64{1}},
					NegativeBucket: metricdata.ExponentialBucket{Offset: -1, Counts: []uint64{1}},
				}},
			}}},
		},
		{
			name: "a histogram with more than 160 buckets between its ends gets wider ones", form: Exponential,
			given: `name: "h" type: HISTOGRAM metric { histogram { sample_count: 6 sample_sum: 1 schema: 3
				positive_span { offset: -79 length: 1 } positive_span { offset: 159 length: 2 } positive_delta: 1 positive_delta: 1 positive_delta: 1 } }`,
			want: []metricdata.Metrics{{Name: "h", Data: metricdata.ExponentialHistogram[float64]{
				Temporality: metricdata.CumulativeTemporality, DataPoints: []exponentialPoint{{
					Attributes: set(), StartTime: created, Time: reading, Count: 6, Sum: 1, Scale: 2,
					// -80, 80 and 81 at scale 3.
					PositiveBucket: metricdata.ExponentialBucket{Offset: -40, Counts: append(append([]uint64{1}, make([]uint64, 79)...), 5)},
				}},
			}}},
		},
		{
			name: "half a family in one form and half in the other is sent twice", form: Exponential,
			given: `name: "h" type: HISTOGRAM
				metric { label { name: "a" value: "1" } histogram { sample_count: 1 sample_sum: 1 bucket { cumulative_count: 1 upper_bound: 1 } } }
				metric { label { name: "a" value: "2" } histogram { sample_count: 0 sample_sum: 0 schema: 3 positive_span { offset: 0 length: 0 } } }`,
			want: []metricdata.Metrics{
				{Name: "h", Data: metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []histogramPoint{{
					Attributes: set("a", "1"), StartTime: created, Time: reading, Count: 1, Sum: 1, Bounds: []float64{1}, BucketCounts: []uint64{1, 0},
				}}}},
				{Name: "h", Data: metricdata.ExponentialHistogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []exponentialPoint{{
					Attributes: set("a", "2"), StartTime: created, Time: reading, Scale: 3,
				}}}},
			},
		},
		{
			name: "counts that are no numbers of observations are left out", form: Exponential,
			given: `name: "h" type: HISTOGRAM metric { histogram { sample_count_float: 1.5 sample_sum: 1 schema: 3 } }`,
		},
		{
			name:  "histograms of gauges are left out",
			given: `name: "h" type: GAUGE_HISTOGRAM metric { histogram { sample_count: 1 sample_sum: 1 } }`,
		},
		{
			name:  "a text that is not UTF-8 is repaired",
			given: "name: \"g\" type: GAUGE metric { gauge { value: 1 } }",
			want: []metricdata.Metrics{{Name: "g", Data: metricdata.Gauge[float64]{
				DataPoints: []sumPoint{{Attributes: set("l", "a\uFFFDb"), Time: reading, Value: 1}},
			}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := testProducer(c.form, ttft, metrics.Series{Name: "aiperf_tokens_total", Kind: metrics.Counter, Unit: "tokens"})
			f := family(t, c.given)
			if c.name == "a text that is not UTF-8 is repaired" {
				f.Metric[0].Label = []*dto.LabelPair{{Name: new("l"), Value: new("a\xffb")}}
			}
			if diff := cmp.Diff(c.want, p.convert(f, reading), samePoints); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestExemplarsPassTheFilterOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for filter, want := range map[exemplarFilter]int{exemplarsAsMade: 2, exemplarsAll: 2, exemplarsTraced: 1, exemplarsNone: 0} {
		traced := &dto.Exemplar{Label: []*dto.LabelPair{{Name: new("trace_id"), Value: new("0102030405060708090a0b0c0d0e0f10")}}, Value: new(1.)}
		plain := &dto.Exemplar{Label: []*dto.LabelPair{{Name: new("trace_id"), Value: new("no id")}}, Value: new(2.)}
		got := filter.convert(traced, plain)
		if len(got) != want {
			t.Errorf("%q: got %d exemplars, want %d", filter, len(got), want)
		}
		for _, e := range got {
			if e.Value == 2 && (e.TraceID != nil || len(e.FilteredAttributes) != 1) {
				t.Errorf("what is no id is an attribute; got %+v", e)
			}
		}
	}
}

func TestSpansThatAServerMayWriteNeverNeedMuchMemory(t *testing.T) {
	t.Parallel()
	for name, spans := range map[string][]*dto.BucketSpan{
		"the whole range":      {{Offset: new(int32(math.MinInt32 + 1)), Length: new(uint32(1))}, {Offset: new(int32(math.MaxInt32)), Length: new(uint32(1))}, {Offset: new(int32(math.MaxInt32)), Length: new(uint32(1))}},
		"backwards":            {{Offset: new(int32(100)), Length: new(uint32(1))}, {Offset: new(int32(-50)), Length: new(uint32(2))}},
		"longer than its list": {{Offset: new(int32(math.MaxInt32 - 1)), Length: new(uint32(math.MaxUint32))}},
		"below all":            {{Offset: new(int32(math.MinInt32)), Length: new(uint32(3))}},
	} {
		p := testProducer(Exponential)
		got := p.exponential(&dto.Metric{Histogram: &dto.Histogram{
			SampleCount: new(uint64(3)), Schema: new(int32(8)), PositiveSpan: spans, PositiveDelta: []int64{1, 0, 0},
		}}, when{at: reading})
		if n := len(got.PositiveBucket.Counts); n > maxBuckets {
			t.Errorf("%s: got %d buckets, want at most %d", name, n, maxBuckets)
		}
	}
}

func TestAClockThatWasSetBackPutsNoReadingBeforeItsStart(t *testing.T) {
	t.Parallel()
	p := testProducer(Explicit)
	data := p.convert(family(t, `name: "c" type: COUNTER metric { counter { value: 1 } }`), began.Add(-time.Hour))[0].Data
	point := data.(metricdata.Sum[float64]).DataPoints[0]
	if !point.StartTime.Equal(created) || !point.Time.Equal(created) {
		t.Errorf("got %v to %v, want both %v", point.StartTime, point.Time, created)
	}
}

func TestCountingBeganWithThisProcessOnlyWhereItCountsItself(t *testing.T) {
	t.Parallel()
	p := testProducer(Explicit,
		metrics.Series{Name: "aiperf_own_total", Kind: metrics.Counter, Scope: metrics.PerProcess},
		metrics.Series{Name: "aiperf_server_tokens_total", Kind: metrics.Counter, Scope: metrics.PerServer},
		metrics.Series{Name: "aiperf_gpu_energy_joules_total", Kind: metrics.Counter, Scope: metrics.PerGPU},
	)
	for name, want := range map[string]time.Time{
		"aiperf_own_total": began, "process_cpu_seconds_total": began,
		"aiperf_server_tokens_total": {}, "aiperf_gpu_energy_joules_total": {}, "vllm:tokens_total": {},
	} {
		f := family(t, `type: COUNTER metric { counter { value: 1 } }`)
		f.Name, f.Metric[0].Counter.CreatedTimestamp = &name, nil
		got := p.convert(f, reading)[0].Data.(metricdata.Sum[float64]).DataPoints[0].StartTime
		if !got.Equal(want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestWhatCannotBeGatheredDoesNotHideTheRest(t *testing.T) {
	t.Parallel()
	broken := errors.New("one collector is broken")
	l := &looks{now: time.Now, gatherer: prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		return []*dto.MetricFamily{family(t, `name: "g" type: GAUGE metric { gauge { value: 1 } }`)}, broken
	})}
	_, got, err := l.take(t.Context())
	if !errors.Is(err, broken) || len(got.families) != 1 {
		t.Errorf("got %v and %v, want one metric and the error", got, err)
	}
}
