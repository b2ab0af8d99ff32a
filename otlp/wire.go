package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
)

// wire is the connection to the collector, one for metrics and spans. It is ours, so that the exporters of the SDK take nothing about it
// from the environment: they would do so unasked, each for itself.
type wire struct {
	conn     *grpc.ClientConn
	headers  *headers
	tally    *tally
	warnings *warnings
}

// dial makes a connection that is opened when it is first needed.
func dial(c *Config, version string, tally *tally, warnings *warnings) (*wire, error) {
	to, err := parseEndpoint(c.Endpoint, c.Insecure)
	if err != nil {
		return nil, fmt.Errorf("endpoint %w", err)
	}
	security, err := newCredentials(&c.TLS, to.plain)
	if err != nil {
		return nil, err
	}
	w := &wire{tally: tally, warnings: warnings}
	if w.headers, err = newHeaders(c); err != nil {
		return nil, err
	}
	warnings.redact = w.headers.redact
	// What is asked for each interval finds out in time that a collector is back; by itself gRPC would wait up to two minutes.
	reconnect := backoff.DefaultConfig
	reconnect.MaxDelay = max(reconnect.BaseDelay, min(c.Interval, c.Retry.Max))
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(security),
		grpc.WithUnaryInterceptor(w.intercept),
		grpc.WithUserAgent(serviceName + "/" + version),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: c.Timeout}),
		grpc.WithDisableServiceConfig(), // a name server must not change how we send
	}
	if c.TLS.ServerName != "" {
		options = append(options, grpc.WithAuthority(c.TLS.ServerName))
	}
	if c.Compression == compressionGzip {
		options = append(options, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	if w.conn, err = grpc.NewClient("dns:///"+to.address, options...); err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", to.address, err)
	}
	return w, nil
}

// metrics makes the exporter of metrics. All that it could read from the environment is said.
func (w *wire) metrics(ctx context.Context, c *Config) (*otlpmetricgrpc.Exporter, error) {
	return otlpmetricgrpc.New(ctx,
		otlpmetricgrpc.WithGRPCConn(w.conn),
		otlpmetricgrpc.WithHeaders(map[string]string{}),
		otlpmetricgrpc.WithTimeout(c.Timeout),
		otlpmetricgrpc.WithMaxRequestSize(0),
		otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig(c.Retry.forSDK())),
	)
}

// spans makes the exporter of spans, likewise.
func (w *wire) spans(ctx context.Context, c *Config) (*otlptrace.Exporter, error) {
	return otlptracegrpc.New(ctx,
		otlptracegrpc.WithGRPCConn(w.conn),
		otlptracegrpc.WithHeaders(map[string]string{}),
		otlptracegrpc.WithTimeout(c.Timeout),
		otlptracegrpc.WithMaxRequestSize(0),
		otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig(c.Retry.forSDK())),
	)
}

// sdkRetry has the fields of the type that each of the SDK's exporters has for itself.
type sdkRetry struct {
	Enabled         bool
	InitialInterval time.Duration
	MaxInterval     time.Duration
	MaxElapsedTime  time.Duration
}

func (c *RetryConfig) forSDK() sdkRetry {
	return sdkRetry{Enabled: c.MaxElapsed > 0, InitialInterval: c.Initial, MaxInterval: c.Max, MaxElapsedTime: c.MaxElapsed}
}

// intercept sends one request, each attempt for itself: with the headers of this moment, and with a look at what the collector did not take.
// That must not be sent again, so it is no error.
func (w *wire) intercept(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	md, err := w.headers.now()
	if err != nil {
		w.warnings.warn("headers are those of before", err)
	}
	if len(md) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	if err := invoke(ctx, method, request, reply, conn, options...); err != nil {
		w.tally.failed(reasonOf(err))
		return err
	}
	w.arrived(request, reply)
	return nil
}

// arrived looks at an answer, and takes out what would make the SDK's exporters call it an error.
func (w *wire) arrived(request, reply any) {
	switch reply := reply.(type) {
	case *collectormetrics.ExportMetricsServiceResponse:
		partial := reply.GetPartialSuccess()
		total := pointsIn(request.(*collectormetrics.ExportMetricsServiceRequest))
		w.tally.pointsEnded(total, w.rejected("data points", total, partial.GetRejectedDataPoints(), partial.GetErrorMessage()))
		reply.PartialSuccess = nil
	case *collectortrace.ExportTraceServiceResponse:
		partial := reply.GetPartialSuccess()
		total := spansIn(request.(*collectortrace.ExportTraceServiceRequest))
		refused := w.rejected("spans", total, partial.GetRejectedSpans(), partial.GetErrorMessage())
		w.tally.spansEnded(sent, total-refused)
		w.tally.spansEnded(rejected, refused)
		reply.PartialSuccess = nil
	}
}

// rejected tells about what a collector did not take, and gives how much that is. It may also only have a remark.
func (w *wire) rejected(what string, total, refused int64, message string) int64 {
	refused = min(max(refused, 0), total)
	if refused > 0 {
		w.tally.failed(reasonPartial)
	}
	if refused > 0 || message != "" {
		w.warnings.warn("the collector has a remark about what was sent", fmt.Errorf("%d of %d %s rejected: %s", refused, total, what, message))
	}
	return refused
}

func pointsIn(request *collectormetrics.ExportMetricsServiceRequest) (n int64) {
	for _, r := range request.ResourceMetrics {
		for _, s := range r.ScopeMetrics {
			for _, m := range s.Metrics {
				n += int64(len(m.GetGauge().GetDataPoints()) + len(m.GetSum().GetDataPoints()) + len(m.GetHistogram().GetDataPoints()) +
					len(m.GetExponentialHistogram().GetDataPoints()) + len(m.GetSummary().GetDataPoints()))
			}
		}
	}
	return n
}

func spansIn(request *collectortrace.ExportTraceServiceRequest) (n int64) {
	for _, r := range request.ResourceSpans {
		for _, s := range r.ScopeSpans {
			n += int64(len(s.Spans))
		}
	}
	return n
}

func (w *wire) close(logger *slog.Logger) {
	if err := w.conn.Close(); err != nil {
		logger.Debug("close the connection to the collector", slog.Any("err", err))
	}
}
