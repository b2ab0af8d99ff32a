//go:build soak

package otlp

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// perDay is how many exports a day has at the default interval.
const perDay = 24 * 60 * 4

// TestDaysOfExportsTakeConstantMemory sends differences to a collector on this machine as often as six days have exports, but without the time
// between them. Series and whole metrics get new names all the time, and from every second of three days on the collector is away for longer than
// what is owed to it is kept. What is kept must not grow with time, nor with the number of times that it was away.
func TestDaysOfExportsTakeConstantMemory(t *testing.T) { //nolint:paralleltest // it measures the heap of the process
	const days, slack = 6, 256 << 10 // connections have buffers; what would be kept of all names is three times as much
	var done int
	s := &collectorServer{answer: func(int) (*collectormetrics.ExportMetricsServiceResponse, error) {
		if n := done % (3 * perDay); n >= perDay && n < 2*perDay+perDay/20 {
			return nil, status.Error(codes.Unavailable, "gone for a day")
		}
		return &collectormetrics.ExportMetricsServiceResponse{}, nil
	}}
	address, _ := serve(t, s, "127.0.0.1:0")
	config := testConfig(address)
	config.Temporality = Delta
	reader := sdkmetric.NewManualReader()
	e := newExporterWith(t, config, Deps{Gatherer: churning(&done), Instruments: instruments(reader)})
	h, err := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("").Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"))
	if err != nil {
		t.Fatal(err)
	}
	first := map[bool]uint64{} // heap in use at the end of the first day, by whether it is one on which the collector is away
	var goroutines int
	for day := range days {
		for range perDay {
			h.Record(t.Context(), 1, metric.WithAttributes(attribute.String("gen_ai.provider.name", "openai")))
			e.session.Load().export(t.Context())
			s.mu.Lock()
			s.metrics, s.headers = nil, nil
			s.mu.Unlock()
			done++
		}
		runtime.GC() // what lies in pools survives one
		away, now, running := day%3 == 1, heap(), runtime.NumGoroutine()
		t.Logf("day %d: %5.0f exports arrived, %5.0f did not; heap in use %d KiB, %d goroutines",
			day+1, valueOf(t, e, exportsSeries, success), valueOf(t, e, exportsSeries, failure), now>>10, running)
		if first[away] == 0 {
			first[away], goroutines = now, running
		}
		if now > first[away]+slack {
			t.Errorf("the heap grew from %d to %d KiB", first[away]>>10, now>>10)
		}
		if running > goroutines {
			t.Errorf("%d goroutines, want the %d of the first day", running, goroutines)
		}
	}
	if n := valueOf(t, e, exportsSeries, failure); n != 2*(perDay+perDay/20) {
		t.Errorf("%v exports did not arrive: what is simulated is not what was meant", n)
	}
}

// churning has series that count for ever, and some that have other names each half an hour.
func churning(done *int) prometheus.Gatherer {
	labels := func(pod string) []*dto.LabelPair { return []*dto.LabelPair{{Name: new("pod"), Value: new(pod)}} }
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		n, half := float64(*done+1), fmt.Sprintf("%06d", *done/120)
		total := &dto.MetricFamily{Name: new("vllm_tokens_total"), Help: new("H"), Type: dto.MetricType_COUNTER.Enum()}
		seconds := &dto.MetricFamily{Name: new("vllm_seconds"), Help: new("H"), Type: dto.MetricType_HISTOGRAM.Enum()}
		for _, pod := range []string{"a", "b", "c-" + half, "d-" + half} {
			total.Metric = append(total.Metric, &dto.Metric{Label: labels(pod), Counter: &dto.Counter{Value: new(n)}})
			seconds.Metric = append(seconds.Metric, &dto.Metric{Label: labels(pod), Histogram: &dto.Histogram{
				SampleCount: new(uint64(n)), SampleSum: new(n), Bucket: []*dto.Bucket{{UpperBound: new(1.), CumulativeCount: new(uint64(n / 2))}},
				Schema: new(int32(3)), ZeroThreshold: new(1e-6), ZeroCount: new(uint64(0)),
				PositiveSpan: []*dto.BucketSpan{{Offset: new(int32(*done % 60)), Length: new(uint32(1))}}, PositiveDelta: []int64{int64(n)},
			}})
		}
		whole := &dto.MetricFamily{Name: new("vllm_experiment_" + half + "_total"), Help: new("H"), Type: dto.MetricType_COUNTER.Enum()}
		whole.Metric = []*dto.Metric{{Counter: &dto.Counter{Value: new(n)}}}
		return []*dto.MetricFamily{whole, seconds, total}, nil
	})
}
