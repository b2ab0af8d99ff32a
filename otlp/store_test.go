package otlp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// frozen gives the same families again: a scrape and an export of one instant.
type frozen []*dto.MetricFamily

func (f frozen) Gather() ([]*dto.MetricFamily, error) { return f, nil }

func TestWhatIsSentIsWhatAScrapeShows(t *testing.T) {
	t.Parallel()
	for _, kind := range []metrics.HistogramKind{metrics.HistogramsBoth, metrics.HistogramsClassic, metrics.HistogramsNative} {
		for _, form := range []HistogramForm{Exponential, Explicit} {
			for seed := range uint64(4) {
				t.Run(fmt.Sprintf("%s as %s, seed %d", kind, form, seed), func(t *testing.T) {
					t.Parallel()
					random := rand.New(rand.NewPCG(seed, 1))
					o := observe(t, kind, 2)
					for range 200 {
						o.finish(o.targets[random.IntN(2)], random)
					}
					families, err := o.registry.Gather()
					if err != nil {
						t.Fatal(err)
					}
					compareToScrape(t, families, form)
				})
			}
		}
	}
}

func compareToScrape(t *testing.T, families frozen, form HistogramForm) {
	t.Helper()
	p := testProducer(form, metrics.Table()...)
	p.gatherer = families
	scopes, err := p.scopes()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(scopes[0].Metrics), len(families); got != want {
		t.Fatalf("got %d metrics, want %d", got, want)
	}
	histograms, wide := 0, 0
	for i, m := range scopes[0].Metrics {
		f := families[i]
		for j, shown := range f.Metric {
			switch data := m.Data.(type) {
			case metricdata.Sum[float64]:
				same(t, f, data.DataPoints[j].Value, shown.Counter.GetValue())
			case metricdata.Gauge[float64]:
				same(t, f, data.DataPoints[j].Value, shown.Gauge.GetValue())
			case metricdata.Histogram[float64]:
				histograms++
				sameExplicit(t, f, &data.DataPoints[j], shown.Histogram)
			case metricdata.ExponentialHistogram[float64]:
				histograms++
				if data.DataPoints[j].Scale < shown.Histogram.GetSchema() {
					wide++
				}
				sameExponential(t, f, &data.DataPoints[j], shown.Histogram)
			default:
				t.Errorf("%s: %T", f.GetName(), data)
			}
		}
	}
	if histograms < 20 {
		t.Errorf("only %d histograms were compared", histograms)
	}
	if wide == histograms {
		t.Error("no histogram kept its resolution")
	}
}

func same(t *testing.T, f *dto.MetricFamily, got, want float64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", f.GetName(), got, want)
	}
}

func sameExplicit(t *testing.T, f *dto.MetricFamily, got *histogramPoint, want *dto.Histogram) {
	t.Helper()
	same(t, f, float64(got.Count), float64(want.GetSampleCount()))
	same(t, f, got.Sum, want.GetSampleSum())
	below, finite := uint64(0), 0
	for i, bound := range got.Bounds {
		below += got.BucketCounts[i]
		same(t, f, bound, want.Bucket[i].GetUpperBound())
		same(t, f, float64(below), float64(want.Bucket[i].GetCumulativeCount()))
	}
	for _, b := range want.Bucket {
		if !math.IsInf(b.GetUpperBound(), 1) {
			finite++
		}
	}
	same(t, f, float64(len(got.Bounds)), float64(finite))
	same(t, f, float64(below+got.BucketCounts[len(got.BucketCounts)-1]), float64(got.Count))
}

// sameExponential compares the buckets at the resolution of what is sent, which may be lower.
func sameExponential(t *testing.T, f *dto.MetricFamily, got *exponentialPoint, want *dto.Histogram) {
	t.Helper()
	same(t, f, float64(got.Count), float64(want.GetSampleCount()))
	same(t, f, got.Sum, want.GetSampleSum())
	same(t, f, got.ZeroThreshold, want.GetZeroThreshold())
	same(t, f, float64(got.ZeroCount), float64(want.GetZeroCount()))
	wanted, total := map[int32]uint64{}, got.ZeroCount
	key, count := int32(0), int64(0)
	deltas := want.PositiveDelta
	for _, span := range want.PositiveSpan {
		key += span.GetOffset()
		for range span.GetLength() {
			count += deltas[0]
			deltas = deltas[1:]
			if count > 0 {
				// The upper bound 2^(key/2^schema) lies in the bucket whose upper bound is the next at the scale of what is sent.
				upper := float64(key) / math.Exp2(float64(want.GetSchema()))
				wanted[int32(math.Ceil(upper*math.Exp2(float64(got.Scale)))-1)] += uint64(count)
			}
			key++
		}
	}
	found := map[int32]uint64{}
	for i, n := range got.PositiveBucket.Counts {
		if total += n; n > 0 {
			found[got.PositiveBucket.Offset+int32(i)] = n
		}
	}
	if diff := cmp.Diff(wanted, found); diff != "" {
		t.Errorf("%s: buckets, want -, got +:\n%s", f.GetName(), diff)
	}
	same(t, f, float64(total), float64(got.Count))
	if n := len(got.PositiveBucket.Counts); n > maxBuckets {
		t.Errorf("%s: %d buckets", f.GetName(), n)
	}
}

func TestHistogramsOfTheProcessAreSaidToo(t *testing.T) {
	t.Parallel()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "h", Help: "H", Buckets: []float64{1, 2}, NativeHistogramBucketFactor: 1.1, NativeHistogramZeroThreshold: 1e-5, NativeHistogramMaxBucketNumber: 160,
	})
	registry := prometheus.NewRegistry()
	registry.MustRegister(h)
	for _, v := range []float64{0, .5, 1.5, 3, 3.1} {
		h.Observe(v)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for form := range map[HistogramForm]bool{Exponential: true, Explicit: true} {
		p := testProducer(form)
		p.gatherer, p.now = frozen(families), time.Now
		scopes, err := p.scopes()
		if err != nil {
			t.Fatal(err)
		}
		switch data := scopes[0].Metrics[0].Data.(type) {
		case metricdata.Histogram[float64]:
			sameExplicit(t, families[0], &data.DataPoints[0], families[0].Metric[0].Histogram)
		case metricdata.ExponentialHistogram[float64]:
			sameExponential(t, families[0], &data.DataPoints[0], families[0].Metric[0].Histogram)
		}
	}
}
