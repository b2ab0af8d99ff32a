package generator

import (
	"context"
	"log/slog"
	"maps"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// question is one request on its way: what is asked, and what is made of the answer.
type question struct {
	target *Target
	hold   *hold
	record *metrics.Record
	flight *metrics.Flight

	turn       *workload.Turn
	transcript *answer.Transcript // nil = nobody looks at what the answer says
}

// ask builds the request, sends it and reads the answer into the record.
func (q *question) ask(ctx context.Context) {
	t, r := q.target, q.record
	buffer := t.buffers.Get().(*[]byte)
	defer t.buffers.Put(buffer)
	began := t.deps.Clock.Now()
	wire, err := q.compose()
	if err != nil {
		q.unsendable(err)
		return
	}
	body, contentType, err := t.codec.Encode((*buffer)[:0], wire)
	t.deps.Store.Prepared(t.deps.Clock.Now() - began)
	if err != nil {
		q.unsendable(err)
		return
	}
	*buffer = body
	stream := t.codec.Streams(wire)
	r.RequestedTokens = int64(t.codec.OutputLimit(wire))
	r.RequestBytes = int64(len(body))
	q.turn.Prompt, wire.Prompt = prompt.Prompt{}, nil // thousands of answers may be waited for, for minutes

	x := &exchange{
		decoder: t.codec.Decoder(q.transcript), traits: t.traits, record: r, flight: q.flight, inputTokens: q.turn.InputTokens,
		firstContent: q.hold.gotFirstToken,
	}
	got := t.client.Do(ctx, &transport.Request{
		URL: t.url, Header: t.header(r.RequestID, q.turn, contentType, stream), Body: body, Stream: stream && t.traits.Product.Generates(),
		Abandon: q.hold.abandon, AbandonAfter: q.hold.abandonAfter,
	}, &r.Time, x)
	r.Unstreamed = stream && !got.Stream
	wall := t.deps.Clock.Wall(r.Time.Start)
	r.Limits = endpoint.RateLimits(got.Header, wall)
	r.RetryAfter = retryAfter(got.Header, got.Status, wall)
	x.finish(&got)
	q.judge()
	t.deps.Store.Decoded(got.DecodeTime)
	if got.KernelStamps {
		t.deps.Store.InstrumentDelay(got.KernelDelay)
	}
	q.learn(&got, x)
}

// compose makes the turn and how it is to be said.
func (q *question) compose() (*endpoint.Turn, error) {
	t := q.target
	q.turn = q.hold.turn
	if q.turn == nil {
		var err error
		if q.turn, err = t.workload.Next(pick(q.hold.arrival, q.record.Time.Issue)); err != nil {
			return nil, err
		}
	}
	if q.looksAtAnswer() {
		q.transcript = &answer.Transcript{}
	}
	for _, part := range q.turn.Prompt.Last().Of(prompt.Audio) {
		q.record.AudioSeconds += part.Seconds
	}
	return t.wire(q.turn), nil
}

// wire is how a turn of the workload is to be said.
func (t *Target) wire(turn *workload.Turn) *endpoint.Turn {
	wire := &endpoint.Turn{
		Model:           t.config.Model,
		Prompt:          &turn.Prompt,
		MaxOutputTokens: turn.OutputTokens,
		Stream:          t.config.Workload.Stream,
		IncludeUsage:    !t.usageRefused.Load(),
		Extra:           t.config.Workload.Extra,
		PreviousID:      turn.PreviousID,
	}
	if turn.Model != "" {
		wire.Model = turn.Model
	}
	if len(turn.Extra) > 0 {
		wire.Extra = maps.Clone(t.config.Workload.Extra)
		if wire.Extra == nil {
			wire.Extra = map[string]any{}
		}
		maps.Copy(wire.Extra, turn.Extra)
	}
	return wire
}

// outputLimit is how many tokens the answer to a turn may have.
func (t *Target) outputLimit(turn *workload.Turn) int { return t.codec.OutputLimit(t.wire(turn)) }

// looksAtAnswer tells whether somebody wants to know what the answer says.
func (q *question) looksAtAnswer() bool {
	t := q.target
	return q.turn.KeepAnswer || !t.checks.Empty() || q.turn.Expect != nil || (t.fingerprint != nil && q.turn.Fixed > 0)
}

// unsendable ends a record whose request could not be made.
func (q *question) unsendable(err error) {
	r := q.record
	r.Time.Start = q.target.deps.Clock.Now()
	r.Time.End = r.Time.Start
	r.Outcome, r.Class, r.Detail = metrics.Failure, metrics.ErrClientInternal, errorText(err)
}

// learn takes from an answer what makes the next requests better.
func (q *question) learn(got *transport.Answer, x *exchange) {
	t, r := q.target, q.record
	if r.InputSource.Exact() {
		t.workload.Learn(q.turn.PromptBytes, r.Usage.Input.N)
	}
	if endpoint.RefusesField(got.Status, x.serverError, "stream_options") && !t.usageRefused.Swap(true) {
		t.series.UsageRefused()
		t.deps.Logger.Warn("server refuses stream_options, no longer asked for usage", slog.String("target", t.config.Name))
	}
}

// close tells everybody who waits for it that the turn is over.
func (q *question) close() {
	t, r := q.target, q.record
	nominal := 0
	if q.turn != nil {
		nominal = q.turn.InputTokens
		t.workload.Done(q.turn, workload.End{Now: t.deps.Clock.Now(), OK: r.Outcome == metrics.Success, Answer: q.transcript})
	}
	t.settle(q.hold, r, nominal)
}
