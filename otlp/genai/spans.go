package genai

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// traced is what all spans of a target have.
type traced struct {
	name       string
	generation *generation
	attributes []attribute.KeyValue
}

func newTraced(t *Target, d dialect, g *generation, attributes []attribute.KeyValue) *traced {
	name := string(d.operation)
	if t.Model != "" {
		name += " " + t.Model
	}
	return &traced{name: name, generation: g, attributes: attributes}
}

// send makes the span of a request after the fact. It has the ids with which the request went out, and no parent: a request is nobody's part.
// What the server said of a failure is not in it, that may hold a prompt.
func (t *traced) send(tracer trace.Tracer, clock *metrics.SystemClock, r *metrics.Record, m *metrics.Measures) {
	if r.Time.Start == 0 {
		return // it never began
	}
	_, span := tracer.Start(WithSpan(context.Background(), r.Trace), t.name,
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(clock.Wall(r.Time.Start)),
		trace.WithAttributes(t.attributes...), trace.WithAttributes(t.of(r, m)...))
	for _, e := range eventsOf(r) {
		if e.at != 0 {
			span.AddEvent(e.name, trace.WithTimestamp(clock.Wall(e.at)))
		}
	}
	if r.Outcome == metrics.Failure {
		span.SetStatus(codes.Error, string(r.Class))
	}
	span.End(trace.WithTimestamp(clock.Wall(max(r.Time.Start, r.Time.End))))
}

// event is an instant of a request; at 0 it did not happen.
type event struct {
	name string
	at   int64
}

// eventsOf are the instants of a request, in the order in which they happen.
func eventsOf(r *metrics.Record) []event {
	t := &r.Time
	events := []event{
		{"aiperf.dns.done", t.DNSDone},
		{"aiperf.connect.done", t.ConnectDone},
		{"aiperf.tls.done", t.TLSDone},
		{"aiperf.connection.obtained", t.ConnDone},
		{"aiperf.request.sent", t.Sent},
		{"aiperf.response.first_byte", t.FirstByte},
	}
	if n := len(r.Content); n > 0 && r.Streaming && r.Product.Generates() {
		events = append(events, event{"aiperf.response.first_token", r.Content[0]}, event{"aiperf.response.last_token", r.Content[n-1]})
	}
	return events
}

// of are the attributes that tell a request from others.
func (t *traced) of(r *metrics.Record, m *metrics.Measures) []attribute.KeyValue {
	out := []attribute.KeyValue{
		attribute.String("aiperf.request.id", r.RequestID),
		attribute.String("aiperf.outcome", string(r.Outcome)),
	}
	if r.Session != "" {
		out = append(out, semconv.GenAIConversationID(r.Session), attribute.Int("aiperf.turn", r.TurnIndex))
	}
	if r.Warmup {
		out = append(out, attribute.Bool("aiperf.warmup", true))
	}
	if r.Suspect {
		out = append(out, attribute.Bool("aiperf.suspect", true))
	}
	if r.Outcome == metrics.Failure {
		out = append(out, semconv.ErrorTypeKey.String(string(r.Class)))
	}
	return slices.Concat(out, exchangeOf(r), t.answerOf(r, m), t.usageOf(r))
}

// exchangeOf are the attributes of the exchange over HTTP.
func exchangeOf(r *metrics.Record) (out []attribute.KeyValue) {
	if r.Status != 0 {
		out = append(out, semconv.HTTPResponseStatusCode(r.Status))
	}
	if r.RequestBytes > 0 {
		out = append(out, semconv.HTTPRequestBodySize(int(r.RequestBytes)))
	}
	if r.ResponseBytes > 0 {
		out = append(out, semconv.HTTPResponseBodySize(int(r.ResponseBytes)))
	}
	if r.ConnObtained {
		out = append(out, attribute.Bool("aiperf.connection.reused", r.ConnReused))
	}
	return out
}

// answerOf are the attributes of what was asked for, and of the answer.
func (t *traced) answerOf(r *metrics.Record, m *metrics.Measures) (out []attribute.KeyValue) {
	if r.Streaming || r.Unstreamed {
		out = append(out, semconv.GenAIRequestStream(true))
	}
	if r.RequestedTokens > 0 {
		out = append(out, semconv.GenAIRequestMaxTokens(int(r.RequestedTokens)))
	}
	if r.ServedModel != "" {
		out = append(out, semconv.GenAIResponseModel(r.ServedModel))
	}
	if m.TTFT.Defined {
		out = append(out, semconv.GenAIResponseTimeToFirstChunk(m.TTFT.V))
	}
	switch {
	case r.Finish != "":
		out = append(out, semconv.GenAIResponseFinishReasons(string(r.Finish)))
	case t.generation.aborted != "" && r.Outcome != metrics.Success && len(r.Content) > 0 && r.Product.Generates():
		out = append(out, semconv.GenAIResponseFinishReasons(t.generation.aborted))
	}
	return out
}

// usageOf are the counts that the server has told.
func (t *traced) usageOf(r *metrics.Record) (out []attribute.KeyValue) {
	add := func(key attribute.Key, n metrics.Count, source metrics.TokenSource) {
		if n.Known && source.Told() {
			out = append(out, key.Int64(n.N))
		}
	}
	u := &r.Usage
	add(semconv.GenAIUsageInputTokensKey, u.Input, r.InputSource)
	add(semconv.GenAIUsageCacheReadInputTokensKey, u.CachedInput, r.InputSource)
	add(t.generation.cacheWrite, u.CacheWrite, r.InputSource)
	add(semconv.GenAIUsageOutputTokensKey, u.Output, r.OutputSource)
	add(semconv.GenAIUsageReasoningOutputTokensKey, u.Reasoning, r.OutputSource)
	return out
}
