package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
)

func TestWarningsComeOnceAMinute(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Now()
	w := &warnings{logger: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now }}
	for i := range 130 {
		w.warn("p", fmt.Errorf("number %d", i))
		now = now.Add(time.Second)
	}
	if got := strings.Count(log.String(), "\n"); got != 3 {
		t.Errorf("got %d lines, want 3:\n%s", got, log.String())
	}
	if !strings.Contains(log.String(), "not_told=59") {
		t.Errorf("want the number of those that were not told:\n%s", log.String())
	}
}

func TestTheLastExportIsMadeWhenTheProgramEnds(t *testing.T) {
	t.Parallel()
	s := &collectorServer{}
	address, _ := serve(t, s, "127.0.0.1:0")
	c := testConfig(address)
	c.Interval, c.Traces = time.Hour, TracesConfig{Enabled: true, Ratio: 1}
	value := 7.
	e := newExporter(t, c, oneCounter(&value))
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	trace := metrics.Trace{ID: [16]byte{1, 2}, Span: [8]byte{3}, Sampled: true}
	_, span := e.Tracer().Start(genai.WithSpan(t.Context(), trace), "chat m")
	span.End()
	end()
	<-ended
	if got := s.received(); len(got) != 1 {
		t.Errorf("got %d requests for metrics, want 1", len(got))
	}
	if len(s.traces) != 1 {
		t.Fatalf("got %d requests for spans, want 1", len(s.traces))
	}
	got := s.traces[0].ResourceSpans[0].ScopeSpans[0].Spans[0]
	if !bytes.Equal(got.TraceId, trace.ID[:]) || !bytes.Equal(got.SpanId, trace.Span[:]) || got.Name != "chat m" {
		t.Errorf("got the span %v, want that of the context", got)
	}
	if n := valueOf(t, e, spansSeries, sent); n != 1 {
		t.Errorf("got %v spans sent, want 1", n)
	}
}

func TestWhatTheLastExportLostIsTold(t *testing.T) {
	t.Parallel()
	address, stop := serve(t, &collectorServer{}, "127.0.0.1:0")
	stop()
	c := testConfig(address)
	c.Interval = time.Hour
	value := 7.
	e := newExporter(t, c, oneCounter(&value))
	var log bytes.Buffer
	e.session.Load().warnings.logger = slog.New(slog.NewTextHandler(&log, nil))
	e.session.Load().export(t.Context()) // its warning does not hide that of the last
	ctx, end := context.WithCancel(t.Context())
	end()
	e.Run(ctx)
	if text := log.String(); strings.Count(text, "the next export has them") != 1 || strings.Count(text, "the last metrics did not arrive") != 1 {
		t.Errorf("got\n%s\nwant that one export failed, and that the last one was lost", text)
	}
}

func TestRunExportsEachInterval(t *testing.T) {
	t.Parallel()
	s := &collectorServer{got: make(chan struct{})}
	address, _ := serve(t, s, "127.0.0.1:0")
	c := testConfig(address)
	c.Interval = 10 * time.Millisecond
	value := 7.
	e := newExporter(t, c, oneCounter(&value))
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	for range 3 {
		<-s.got
	}
	end()
	<-ended
	if got := len(s.received()); got < 3 {
		t.Errorf("got %d exports, want at least 3", got)
	}
}

func TestSpansWaitForACollectorThatIsAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refusal  error
		left, at float64 // what still waits after an attempt, and what is lost with it
	}{
		"it is away":       {status.Error(codes.Unavailable, "x"), 1, 0},
		"it refuses":       {status.Error(codes.InvalidArgument, "x"), 0, 1},
		"it takes a while": {nil, 0, 0},
	} {
		s := &collectorServer{refusal: c.refusal}
		address, _ := serve(t, s, "127.0.0.1:0")
		config := testConfig(address)
		config.Traces.Enabled = true
		value := 1.
		e := newExporter(t, config, oneCounter(&value))
		_, span := e.Tracer().Start(t.Context(), "x")
		span.End()
		left := e.session.Load().queue.send(t.Context(), []sdktrace.ReadOnlySpan{<-e.session.Load().queue.waiting})
		if got := valueOf(t, e, spansSeries, lost); float64(len(left)) != c.left || got != c.at {
			t.Errorf("%s: %d wait and %v are lost, want %v and %v", name, len(left), got, c.left, c.at)
		}
	}
}

func TestTheStatusOfTheLastAttemptTellsMoreThanThatTimeWasUp(t *testing.T) {
	t.Parallel()
	for want, err := range map[reason]error{
		reasonUnavailable: fmt.Errorf("%w: %w", context.DeadlineExceeded, status.Error(codes.Unavailable, "x")),
		reasonTimeout:     fmt.Errorf("wait: %w", context.DeadlineExceeded),
		reasonServer:      errors.New("x"),
	} {
		if got := reasonOf(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
}

func TestSpansAreDroppedWhenTooManyWait(t *testing.T) {
	t.Parallel()
	c := testConfig("127.0.0.1:1")
	c.Traces.Enabled = true
	value := 1.
	e := newExporter(t, c, oneCounter(&value))
	for range maxSpansWaiting + 5 {
		_, span := e.Tracer().Start(t.Context(), "x")
		span.End()
	}
	if n := valueOf(t, e, spansSeries, dropped); n != 5 {
		t.Errorf("got %v dropped, want 5", n)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	e.session.Load().queue.run(ctx, ctx) // nobody is there, and nobody will be
	if n := valueOf(t, e, spansSeries, lost); n != maxSpansWaiting {
		t.Errorf("got %v lost, want %d", n, maxSpansWaiting)
	}
}

func TestAPanicStaysInThisRoom(t *testing.T) {
	t.Parallel()
	c := testConfig("127.0.0.1:1")
	e := newExporter(t, c, nil)
	e.session.Load().export(t.Context())
	if n := valueOf(t, e, errorsSeries, string(reasonInternal)); n != 1 {
		t.Errorf("got %v, want 1", n)
	}
}
