//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // what is sent is compressed
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// receiver takes metrics over OTLP in the test's own process.
type receiver struct {
	collectormetrics.UnimplementedMetricsServiceServer

	address string

	mu       sync.Mutex
	then     func(context.Context, *collectormetrics.ExportMetricsServiceRequest) error // what becomes of a request; nil = nothing
	requests []request
}

// request is one that arrived.
type request struct {
	headers metadata.MD
	body    *collectormetrics.ExportMetricsServiceRequest
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{address: listener.Addr().String()}
	s := grpc.NewServer()
	collectormetrics.RegisterMetricsServiceServer(s, r)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(listener); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		s.Stop()
		serving.Wait()
	})
	return r
}

// Export implements MetricsServiceServer.
func (r *receiver) Export(
	ctx context.Context, body *collectormetrics.ExportMetricsServiceRequest,
) (*collectormetrics.ExportMetricsServiceResponse, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	r.mu.Lock()
	r.requests = append(r.requests, request{headers, body})
	then := r.then
	r.mu.Unlock()
	if then != nil {
		if err := then(ctx, body); err != nil {
			return nil, err
		}
	}
	return &collectormetrics.ExportMetricsServiceResponse{}, nil
}

// waitFor waits for so many requests, and gives all that arrived.
func (r *receiver) waitFor(t *testing.T, requests int) []request {
	t.Helper()
	var got []request
	eventually(t, patience, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if got = slices.Clone(r.requests); len(got) < requests {
			return fmt.Errorf("%d requests have arrived, want %d", len(got), requests)
		}
		return nil
	})
	return got
}

// hang lets no request have an answer from now on.
func (r *receiver) hang() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.then = func(ctx context.Context, _ *collectormetrics.ExportMetricsServiceRequest) error {
		<-ctx.Done()
		return ctx.Err()
	}
}

// passTo gives what arrives from now on to a Prometheus, which takes OTLP over HTTP only.
func (r *receiver) passTo(p prom) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.then = func(ctx context.Context, body *collectormetrics.ExportMetricsServiceRequest) error {
		encoded, err := proto.Marshal(body)
		if err != nil {
			return err
		}
		post, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/api/v1/otlp/v1/metrics", bytes.NewReader(encoded))
		if err != nil {
			return err
		}
		post.Header.Set("Content-Type", "application/x-protobuf")
		answer, err := http.DefaultTransport.RoundTrip(post)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		said, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("Prometheus says %s: %s", answer.Status, said)
		}
		return err
	}
}
