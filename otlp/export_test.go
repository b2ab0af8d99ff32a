package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestEverythingArrivesAtACollector(t *testing.T) {
	t.Parallel()
	s := &collectorServer{}
	address, _ := serve(t, s, "127.0.0.1:0")
	c := testConfig(address)
	c.ResourceAttributes = map[string]string{"team": "ml"}
	value := 12.
	reader := sdkmetric.NewManualReader()
	e := newExporterWith(t, c, Deps{Gatherer: oneCounter(&value), Env: []string{"OTEL_SERVICE_NAME=canary"}, Instruments: instruments(reader)})
	h, err := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("").Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	h.Record(t.Context(), 1.5, metric.WithAttributes(attribute.String("gen_ai.provider.name", "openai")))
	e.session.Load().export(t.Context())

	got := s.received()
	if len(got) != 1 {
		t.Fatalf("got %d requests, want 1", len(got))
	}
	resource := map[string]string{}
	for _, kv := range got[0].ResourceMetrics[0].Resource.Attributes {
		resource[kv.Key] = kv.Value.GetStringValue()
	}
	for key, want := range map[string]string{"service.name": "canary", "service.version": "1.2.3", "service.instance.id": "i", "team": "ml"} {
		if resource[key] != want {
			t.Errorf("resource %s: got %q, want %q", key, resource[key], want)
		}
	}
	found := map[string]*metricspb.Metric{}
	for _, scope := range got[0].ResourceMetrics[0].ScopeMetrics {
		if scope.Scope.Name != "aiperf-exporter" || scope.Scope.Version != "1.2.3" {
			t.Errorf("scope: got %s %s, want aiperf-exporter 1.2.3", scope.Scope.Name, scope.Scope.Version)
		}
		for _, m := range scope.Metrics {
			found[m.Name] = m
		}
	}
	if got := found["aiperf.tokens"].GetSum().GetDataPoints()[0].GetAsDouble(); got != 12 {
		t.Errorf("counter: got %v, want 12", got)
	}
	if diff := cmp.Diff([]uint64{0, 1, 0}, found["gen_ai.client.operation.duration"].GetHistogram().GetDataPoints()[0].BucketCounts); diff != "" {
		t.Errorf("the histogram of an instrument has its own bounds; want -, got +:\n%s", diff)
	}
	if n := valueOf(t, e, exportsSeries, success); n != 1 {
		t.Errorf("got %v successes, want 1", n)
	}
	if n := valueOf(t, e, pointsSeries, sent); n != 2 {
		t.Errorf("got %v points sent, want 2", n)
	}
	if agents := s.headers[0].Get("user-agent"); !strings.HasPrefix(agents[0], "aiperf-exporter/1.2.3") {
		t.Errorf("got the user agent %q", agents)
	}
}

func TestFailuresAreCountedByReasonAndLoseNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want reason
	}{
		"a collector that is not ready":      {status.Error(codes.Unavailable, "x"), reasonUnavailable},
		"a collector that refuses":           {status.Error(codes.InvalidArgument, "x"), reasonRefused},
		"a collector without this service":   {status.Error(codes.Unimplemented, "x"), reasonRefused},
		"wrong credentials":                  {status.Error(codes.Unauthenticated, "x"), reasonUnauthorized},
		"a request that is too large for it": {status.Error(codes.ResourceExhausted, "grpc: received message larger than max"), reasonExhausted},
		"a fault of the collector":           {status.Error(codes.Internal, "x"), reasonServer},
		"an error without a status":          {errors.New("x"), reasonServer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &collectorServer{answer: func(n int) (*collectormetrics.ExportMetricsServiceResponse, error) {
				if n < 2 {
					return nil, c.err
				}
				return &collectormetrics.ExportMetricsServiceResponse{}, nil
			}}
			address, _ := serve(t, s, "127.0.0.1:0")
			config := testConfig(address)
			config.Temporality = Delta
			value := 0.
			e := newExporter(t, config, oneCounter(&value))
			for range 3 {
				value += 5
				e.session.Load().export(t.Context())
			}
			if n := valueOf(t, e, errorsSeries, string(c.want)); n != 2 {
				t.Errorf("got %v errors of class %s, want 2", n, c.want)
			}
			if n := valueOf(t, e, exportsSeries, failure); n != 2 {
				t.Errorf("got %v failed exports, want 2", n)
			}
			got := s.received()
			if len(got) != 1 {
				t.Fatalf("got %d requests, want 1", len(got))
			}
			if v := got[0].ResourceMetrics[0].ScopeMetrics[0].Metrics[0].GetSum().DataPoints[0].GetAsDouble(); v != 15 {
				t.Errorf("got a difference of %v, want all 15", v)
			}
		})
	}
}

func TestACollectorThatComesBackGetsWhatItMissed(t *testing.T) {
	t.Parallel()
	s := &collectorServer{}
	address, stop := serve(t, s, "127.0.0.1:0")
	c := testConfig(address)
	c.Temporality = Delta
	value := 1.
	e := newExporter(t, c, oneCounter(&value))
	var log bytes.Buffer
	e.session.Load().logger = slog.New(slog.NewTextHandler(&log, nil))
	e.session.Load().export(t.Context())
	stop()
	for range 3 {
		value++
		e.session.Load().export(t.Context())
	}
	if n := valueOf(t, e, errorsSeries, string(reasonUnavailable)); n < 3 {
		t.Errorf("got %v errors, want 3", n)
	}
	serve(t, s, address)
	e.session.Load().wire.conn.ResetConnectBackoff() // instead of waiting for it
	for len(s.received()) < 2 && t.Context().Err() == nil {
		e.session.Load().export(t.Context())
	}
	total := 0.
	for _, r := range s.received() {
		total += r.ResourceMetrics[0].ScopeMetrics[0].Metrics[0].GetSum().DataPoints[0].GetAsDouble()
	}
	if total != 4 {
		t.Errorf("got %v in all, want 4", total)
	}
	e.session.Load().export(t.Context())
	if told := strings.Count(log.String(), "metrics arrive again"); told != 1 {
		t.Errorf("it was told %d times that they do again, want once:\n%s", told, log.String())
	}
}

func TestAnAnswerThatDoesNotComeIsATimeout(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	s := &collectorServer{answer: func(int) (*collectormetrics.ExportMetricsServiceResponse, error) {
		<-hang
		return nil, status.Error(codes.Unavailable, "late")
	}}
	address, _ := serve(t, s, "127.0.0.1:0")
	c := testConfig(address)
	c.Timeout = 50 * time.Millisecond
	value := 1.
	e := newExporter(t, c, oneCounter(&value))
	e.session.Load().export(t.Context())
	close(hang)
	if n := valueOf(t, e, errorsSeries, string(reasonTimeout)); n != 1 {
		t.Errorf("got %v timeouts, want 1", n)
	}
}

func TestAnAttemptThatFailsIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := &collectorServer{answer: func(n int) (*collectormetrics.ExportMetricsServiceResponse, error) {
		if n == 0 {
			return nil, status.Error(codes.Unavailable, "x")
		}
		return &collectormetrics.ExportMetricsServiceResponse{}, nil
	}}
	address, _ := serve(t, s, "127.0.0.1:0")
	c := testConfig(address)
	c.Retry = RetryConfig{Initial: time.Millisecond, Max: time.Millisecond, MaxElapsed: time.Minute}
	value := 1.
	e := newExporter(t, c, oneCounter(&value))
	e.session.Load().export(t.Context())
	if valueOf(t, e, exportsSeries, success) != 1 || valueOf(t, e, errorsSeries, string(reasonUnavailable)) != 1 || len(s.received()) != 1 {
		t.Errorf("got %v, want one success after one error", e.Families())
	}
}

func TestWhatACollectorDoesNotTakeIsCountedAndNotSentAgain(t *testing.T) {
	t.Parallel()
	s := &collectorServer{answer: func(n int) (*collectormetrics.ExportMetricsServiceResponse, error) {
		partial := &collectormetrics.ExportMetricsPartialSuccess{RejectedDataPoints: 1, ErrorMessage: "too old"}
		if n > 0 {
			partial = &collectormetrics.ExportMetricsPartialSuccess{ErrorMessage: "only a remark"}
		}
		return &collectormetrics.ExportMetricsServiceResponse{PartialSuccess: partial}, nil
	}}
	address, _ := serve(t, s, "127.0.0.1:0")
	c := testConfig(address)
	c.Temporality = Delta
	value := 3.
	e := newExporter(t, c, oneCounter(&value))
	e.session.Load().export(t.Context())
	e.session.Load().export(t.Context())
	want := map[string]float64{rejected: 1, sent: 1}
	for result, n := range want {
		if got := valueOf(t, e, pointsSeries, result); got != n {
			t.Errorf("%s: got %v, want %v", result, got, n)
		}
	}
	if valueOf(t, e, exportsSeries, success) != 2 || valueOf(t, e, errorsSeries, string(reasonPartial)) != 1 {
		t.Errorf("got %v, want two successes and one partial one", e.Families())
	}
	if v := s.received()[1].ResourceMetrics[0].ScopeMetrics[0].Metrics[0].GetSum().DataPoints[0].GetAsDouble(); v != 0 {
		t.Errorf("got %v again, want nothing", v)
	}
}

func TestARequestThatIsNotWantedKeepsNoOthersBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code codes.Code
		want int // requests that arrive, of three
	}{"refused": {codes.InvalidArgument, 2}, "too large": {codes.ResourceExhausted, 2}, "no credentials": {codes.Unauthenticated, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &collectorServer{answer: func(n int) (*collectormetrics.ExportMetricsServiceResponse, error) {
				if n == 0 {
					return nil, status.Error(c.code, "x")
				}
				return &collectormetrics.ExportMetricsServiceResponse{}, nil
			}}
			address, _ := serve(t, s, "127.0.0.1:0")
			config := testConfig(address)
			config.MaxRequestSize = minRequestSize
			f := &dto.MetricFamily{Name: new("c_total"), Type: dto.MetricType_COUNTER.Enum()}
			for i := range 1500 { // each takes about 100 bytes
				label := &dto.LabelPair{Name: new("name"), Value: new(fmt.Sprintf("%050d", i))}
				f.Metric = append(f.Metric, &dto.Metric{Label: []*dto.LabelPair{label}, Counter: &dto.Counter{Value: new(1.)}})
			}
			e := newExporter(t, config, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return []*dto.MetricFamily{f}, nil }))
			e.session.Load().export(t.Context())
			if n := len(s.received()); n != c.want {
				t.Errorf("got %d requests that arrived, want %d", n, c.want)
			}
			if n := valueOf(t, e, exportsSeries, failure); n != 1 {
				t.Errorf("got %v exports that failed, want 1", n)
			}
		})
	}
}

func TestRequestsAreNoLargerThanTheyMayBe(t *testing.T) {
	t.Parallel()
	for _, form := range []HistogramForm{Exponential, Explicit} {
		o := observe(t, metrics.HistogramsBoth, 20)
		random := rand.New(rand.NewPCG(1, 1))
		for range 400 {
			o.finish(o.targets[random.IntN(len(o.targets))], random)
		}
		s := &collectorServer{}
		address, _ := serve(t, s, "127.0.0.1:0")
		c := testConfig(address)
		c.Histogram, c.MaxRequestSize, c.Temporality = form, minRequestSize, Delta
		e := newExporter(t, c, o.registry)
		e.session.Load().export(t.Context())
		requests, whole := s.received(), 0
		for i, r := range requests {
			size := proto.Size(r)
			whole += size
			if size > minRequestSize {
				t.Errorf("%s: request %d has %d bytes, want at most %d", form, i, size, minRequestSize)
			}
		}
		if len(requests) < 3 || whole/len(requests) < minRequestSize/2 {
			t.Errorf("%s: got %d requests of %d bytes together; they should be well filled", form, len(requests), whole)
		}
		families, err := o.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		points := 0
		for _, f := range families {
			points += len(f.Metric)
		}
		if got := valueOf(t, e, pointsSeries, sent); got != float64(points) {
			t.Errorf("%s: got %v points, want %d", form, got, points)
		}
	}
}
