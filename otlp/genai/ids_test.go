package genai_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
)

var _ sdktrace.IDGenerator = genai.IDs{}

func TestIDsAreThoseOfTheContext(t *testing.T) {
	t.Parallel()
	ctx := genai.WithSpan(t.Context(), sampled)
	id, span := genai.IDs{}.NewIDs(ctx)
	if child := (genai.IDs{}).NewSpanID(ctx, trace.TraceID{1}); id != sampled.ID || span != sampled.Span || child != sampled.Span {
		t.Errorf("got %s, %s and %s, want those of %v", id, span, child, sampled)
	}
	id, span = genai.IDs{}.NewIDs(t.Context())
	again, _ := genai.IDs{}.NewIDs(t.Context())
	if !id.IsValid() || !span.IsValid() || id == again {
		t.Errorf("without a context of ours: %s, %s, then %s", id, span, again)
	}
}

func TestTracesAreNeverZero(t *testing.T) {
	t.Parallel()
	words := []uint64{0, 0, 0, 7, 0, 0, 9}
	got := genai.NewTraces(0, func() uint64 {
		next := words[0]
		words = words[1:]
		return next
	})()
	if want := (metrics.Trace{ID: [16]byte{15: 7}, Span: [8]byte{7: 9}}); got != want || len(words) > 0 {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSamplingIsThatOfTheSDK has its sampler decide about the same traces.
func TestSamplingIsThatOfTheSDK(t *testing.T) {
	t.Parallel()
	for _, ratio := range []float64{-1, 0, 1e-9, .05, .5, .999, 1, 2} {
		random := rand.New(rand.NewPCG(1, 2)).Uint64
		next, sdk := genai.NewTraces(ratio, random), sdktrace.TraceIDRatioBased(ratio)
		const traces = 20_000
		var sampled, differ int
		for range traces {
			got := next()
			want := sdk.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: got.ID}).Decision == sdktrace.RecordAndSample
			if got.Sampled != want {
				differ++
			}
			if got.Sampled {
				sampled++
			}
		}
		share := min(1, max(0, ratio))
		if differ > 0 || math.Abs(float64(sampled)-share*traces) > 5*math.Sqrt(traces*share*(1-share))+1 {
			t.Errorf("ratio %v: %d of %d sampled, %d decisions differ", ratio, sampled, traces, differ)
		}
	}
}

func TestNothingOrAllIsSampledAtTheEndsOfTheIDs(t *testing.T) {
	t.Parallel()
	for _, word := range []uint64{1, math.MaxUint64} {
		random := func() uint64 { return word }
		if got := genai.NewTraces(0, random)(); got.Sampled {
			t.Errorf("%v is sampled at 0", got)
		}
		if got := genai.NewTraces(1, random)(); !got.Sampled {
			t.Errorf("%v is not sampled at 1", got)
		}
	}
}

func TestTracesAreMadeByManyAtOnce(t *testing.T) {
	t.Parallel()
	next := genai.NewTraces(.5, rand.Uint64)
	var mu sync.Mutex
	var spans []uint64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				trace := next()
				mu.Lock()
				spans = append(spans, binary.BigEndian.Uint64(trace.Span[:]))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if distinct := len(slices.Compact(slices.Sorted(slices.Values(spans)))); distinct != 4000 {
		t.Errorf("%d of 4000 spans are distinct", distinct)
	}
}
