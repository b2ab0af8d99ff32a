package otlp

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // what is sent is compressed
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// discard is a logger that nobody reads.
func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// collectorServer is a collector in this process.
type collectorServer struct {
	collectormetrics.UnimplementedMetricsServiceServer
	collectortrace.UnimplementedTraceServiceServer

	mu      sync.Mutex
	answer  func(n int) (*collectormetrics.ExportMetricsServiceResponse, error) // to the n-th request for metrics, from 0
	metrics []*collectormetrics.ExportMetricsServiceRequest
	refusal error // of spans
	traces  []*collectortrace.ExportTraceServiceRequest
	headers []metadata.MD
	calls   int
	got     chan struct{} // a request has ended, if somebody waits
}

// Export implements MetricsServiceServer.
func (s *collectorServer) Export(ctx context.Context, r *collectormetrics.ExportMetricsServiceRequest) (*collectormetrics.ExportMetricsServiceResponse, error) {
	s.mu.Lock()
	n := s.calls
	s.calls++
	answer := s.answer
	md, _ := metadata.FromIncomingContext(ctx)
	s.headers = append(s.headers, md)
	s.mu.Unlock()
	response, err := &collectormetrics.ExportMetricsServiceResponse{}, error(nil)
	if answer != nil {
		response, err = answer(n)
	}
	if err == nil {
		s.mu.Lock()
		s.metrics = append(s.metrics, proto.CloneOf(r))
		s.mu.Unlock()
	}
	select {
	case s.got <- struct{}{}:
	default:
	}
	return response, err
}

// traceServer gives the other service with the same name of method.
type traceServer struct {
	collectortrace.UnimplementedTraceServiceServer
	*collectorServer
}

// Export implements TraceServiceServer.
func (s traceServer) Export(_ context.Context, r *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusal != nil {
		return nil, s.refusal
	}
	s.traces = append(s.traces, proto.CloneOf(r))
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

// received are the requests that were taken.
func (s *collectorServer) received() []*collectormetrics.ExportMetricsServiceRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*collectormetrics.ExportMetricsServiceRequest(nil), s.metrics...)
}

// serve listens on the loopback interface until the test ends, at an address that is given or free.
func serve(tb testing.TB, s *collectorServer, address string, options ...grpc.ServerOption) (at string, stop func()) {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	server := grpc.NewServer(options...)
	collectormetrics.RegisterMetricsServiceServer(server, s)
	collectortrace.RegisterTraceServiceServer(server, traceServer{collectorServer: s})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	stop = sync.OnceFunc(func() {
		server.Stop()
		serving.Wait()
	})
	tb.Cleanup(stop)
	return listener.Addr().String(), stop
}

// testConfig sends to an address without waiting long for anything.
func testConfig(address string) Config {
	c := DefaultConfig()
	c.Enabled, c.Endpoint, c.Timeout = true, "http://"+address, time.Minute
	c.Retry = RetryConfig{} // no second attempt
	return c
}

// newExporter makes one that shows what is gathered, and closes it with the test.
func newExporter(tb testing.TB, c Config, g prometheus.Gatherer, env ...string) *Exporter {
	tb.Helper()
	return newExporterWith(tb, c, Deps{Gatherer: g, Env: env})
}

// newExporterWith makes one with what tests do not care about.
func newExporterWith(tb testing.TB, c Config, deps Deps) *Exporter {
	tb.Helper()
	deps.Clock, deps.Logger, deps.Table, deps.Version, deps.Instance = metrics.NewSystemClock(), discard(), metrics.Table(), "1.2.3", "i"
	e, err := New(c, deps)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { e.session.Load().discard() })
	return e
}

// instruments are those of a reader.
func instruments(reader sdkmetric.Reader) func(context.Context) (now, gone []metricdata.Metrics, err error) {
	return func(ctx context.Context) (now, gone []metricdata.Metrics, err error) {
		var all metricdata.ResourceMetrics
		err = reader.Collect(ctx, &all)
		for _, scope := range all.ScopeMetrics {
			now = append(now, scope.Metrics...)
		}
		return now, nil, err
	}
}

// oneCounter gathers a counter with the value that is in it.
func oneCounter(value *float64) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		return []*dto.MetricFamily{{
			Name: new("aiperf_tokens_total"), Help: new("H"), Type: dto.MetricType_COUNTER.Enum(),
			Metric: []*dto.Metric{{Label: []*dto.LabelPair{{Name: new("target"), Value: new("a")}}, Counter: &dto.Counter{Value: new(*value)}}},
		}}, nil
	})
}

// valueOf reads a series of the exporter's own.
func valueOf(tb testing.TB, e *Exporter, name, label string) float64 {
	tb.Helper()
	for _, f := range e.Families() {
		for _, m := range f.Metric {
			if f.GetName() == name && (len(m.Label) == 0 || m.Label[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	tb.Fatalf("there is no series %s %s", name, label)
	return 0
}
