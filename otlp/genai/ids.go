package genai

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// idsKey is the key of a context under which the ids of its span are.
type idsKey struct{}

// WithSpan is the context in which IDs gives the next span the ids of a request that has been sent with them.
func WithSpan(ctx context.Context, t metrics.Trace) context.Context {
	return context.WithValue(ctx, idsKey{}, t)
}

// IDs gives spans the ids that their contexts have from WithSpan, and new ones where there are none. It implements IDGenerator of the SDK.
type IDs struct{}

// NewIDs implements IDGenerator.
func (IDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	t, ok := ctx.Value(idsKey{}).(metrics.Trace)
	if !ok {
		t = newTrace(rand.Uint64)
	}
	return t.ID, t.Span
}

// NewSpanID implements IDGenerator.
func (i IDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, span := i.NewIDs(ctx)
	return span
}

// NewTraces makes the source of the traces of requests: each a trace of its own, of which about the share ratio, 0 to 1, is sampled. random
// gives 64 random bits and is called from many goroutines at once; rand.Uint64 of math/rand/v2 will do.
//
// Whether a trace is sampled follows from its id, as with TraceIDRatioBased of the SDKs: servers that sample so, at the same or a higher ratio,
// take the same traces even if they do not look at the flag.
func NewTraces(ratio float64, random func() uint64) func() metrics.Trace {
	const ids = 1 << 63
	sampled := uint64(ids)
	if ratio < 1 {
		sampled = uint64(max(0, ratio) * ids)
	}
	return func() metrics.Trace {
		t := newTrace(random)
		t.Sampled = binary.BigEndian.Uint64(t.ID[8:])>>1 < sampled
		return t
	}
}

// newTrace makes ids, neither of which may be all zeros.
func newTrace(random func() uint64) metrics.Trace {
	var t metrics.Trace
	for t.ID == [16]byte{} {
		binary.BigEndian.PutUint64(t.ID[:8], random())
		binary.BigEndian.PutUint64(t.ID[8:], random())
	}
	for t.Span == [8]byte{} {
		binary.BigEndian.PutUint64(t.Span[:], random())
	}
	return t
}
