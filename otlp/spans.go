package otlp

import (
	"context"
	"fmt"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The queue of spans: how many may wait, how many are sent at once, and how long one waits for others.
const (
	maxSpansWaiting = 2048
	maxSpansAtOnce  = 512
	spanPatience    = 5 * time.Second
)

// spanQueue holds spans until they are sent. It implements sdktrace.SpanProcessor. Whoever ends a span never waits: with a full queue the span
// is dropped, and counted; the SDK's own processor does not tell how many it drops.
type spanQueue struct {
	waiting  chan sdktrace.ReadOnlySpan
	exporter sdktrace.SpanExporter
	tally    *tally
	warnings *warnings
	caught   func(cause any) // is told of panics
}

func newSpanQueue(exporter sdktrace.SpanExporter, tally *tally, warnings *warnings, caught func(any)) *spanQueue {
	return &spanQueue{waiting: make(chan sdktrace.ReadOnlySpan, maxSpansWaiting), exporter: exporter, tally: tally, warnings: warnings, caught: caught}
}

// OnStart implements sdktrace.SpanProcessor.
func (q *spanQueue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements sdktrace.SpanProcessor.
func (q *spanQueue) OnEnd(span sdktrace.ReadOnlySpan) {
	if !span.SpanContext().IsSampled() {
		return
	}
	select {
	case q.waiting <- span:
	default:
		q.tally.spansEnded(dropped, 1)
	}
}

// Shutdown implements sdktrace.SpanProcessor; run sends what waits.
func (q *spanQueue) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdktrace.SpanProcessor; likewise.
func (q *spanQueue) ForceFlush(context.Context) error { return nil }

// run sends spans until ctx ends, then those that wait; requests end with life.
func (q *spanQueue) run(ctx, life context.Context) {
	patience := time.NewTicker(spanPatience)
	defer patience.Stop()
	batch := make([]sdktrace.ReadOnlySpan, 0, maxSpansAtOnce)
	for ctx.Err() == nil {
		waiting := q.waiting
		if len(batch) == maxSpansAtOnce {
			waiting = nil // nobody took it; others wait until it is tried again
		}
		select {
		case <-ctx.Done():
		case <-patience.C:
			batch = q.send(life, batch)
		case span := <-waiting:
			if batch = append(batch, span); len(batch) == maxSpansAtOnce {
				batch = q.send(life, batch)
			}
		}
	}
	for more := true; more; {
		select {
		case span := <-q.waiting:
			batch = append(batch, span)
		default:
			more = false
		}
		if !more || len(batch) >= maxSpansAtOnce {
			left := q.send(life, batch)
			q.tally.spansEnded(lost, int64(len(left)))
			batch = batch[:0]
		}
	}
}

// send sends a batch and gives it back empty, or as it was if the collector is away.
func (q *spanQueue) send(ctx context.Context, batch []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	if len(batch) == 0 {
		return batch
	}
	if err := q.export(ctx, batch); err != nil {
		if reasonOf(err) == reasonUnavailable {
			q.warnings.warn("spans wait for the collector", err)
			return batch
		}
		q.tally.spansEnded(lost, int64(len(batch)))
		q.warnings.warn("spans are lost", err)
	}
	clear(batch)
	return batch[:0]
}

// export keeps a fault of this room in it; the spans are lost.
func (q *spanQueue) export(ctx context.Context, batch []sdktrace.ReadOnlySpan) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			q.caught(cause)
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return q.exporter.ExportSpans(ctx, batch)
}
