package generator

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// question is one request on its way: what is asked, and what is made of the answer.
type question struct {
	target     *Target
	generation *generation
	hold       *hold
	record     *metrics.Record
	flight     *metrics.Flight

	turn       *workload.Turn
	transcript *answer.Transcript // nil = nobody looks at what the answer says
	tools      json.RawMessage    // offered to the model
	ofRow      *answer.Checks     // of the row of the dataset; nil = it has none
}

// ask builds the request, sends it and reads the answer into the record.
func (q *question) ask(ctx context.Context) {
	t, g, r := q.target, q.generation, q.record
	buffer := t.buffers.Get().(*[]byte)
	defer t.buffers.Put(buffer)
	began := t.deps.Clock.Now()
	wire, err := q.compose()
	if err != nil {
		q.unsendable(err)
		return
	}
	body, contentType, err := g.codec.Encode((*buffer)[:0], wire)
	t.deps.Store.Prepared(t.deps.Clock.Now() - began)
	if err == nil {
		err = sendable(body)
	}
	if err != nil {
		q.unsendable(err)
		return
	}
	*buffer = body
	stream := g.codec.Streams(wire)
	if !stream {
		q.flight.Whole()
	}
	url, err := q.url(wire, stream)
	if err != nil {
		q.unsendable(err)
		return
	}
	r.RequestedTokens = int64(g.codec.OutputLimit(wire))
	r.RequestBytes = int64(len(body))
	texts := q.texts(wire)
	q.turn.Prompt, wire.Prompt = prompt.Prompt{}, nil // thousands of answers may be waited for, for minutes

	x := &exchange{
		decoder: g.codec.Decoder(q.transcript), traits: g.traits, record: r, flight: q.flight, inputTokens: q.turn.InputTokens,
		texts:        texts,
		firstContent: q.hold.gotFirstToken,
	}
	tape, tapeBytes := q.tape(wire.Model)
	r.Tape = tape
	got := g.client.Do(ctx, &transport.Request{
		URL: url, Header: g.header(r, q.turn, contentType, stream), Body: body, Stream: stream && g.traits.Product.Generates(),
		Abandon: q.hold.abandon, AbandonAfter: q.hold.abandonAfter, Tape: tape, TapeBytes: tapeBytes,
	}, &r.Time, x)
	r.Unstreamed = stream && !got.Stream
	wall := t.deps.Clock.Wall(r.Time.Start)
	r.Limits = endpoint.RateLimits(got.Header, wall)
	r.RetryAfter = retryAfter(got.Header, got.Status, r.Limits, wall)
	x.finish(&got)
	r.Abandoned = r.Outcome == metrics.Cancelled && q.hold.abandon && ctx.Err() == nil
	q.judge()
	t.deps.Store.Decoded(got.DecodeTime)
	if got.KernelStamps {
		t.deps.Store.InstrumentDelay(got.KernelDelay)
	}
	q.learn(&got, x)
}

// maxRequestBytes bounds the body of a request.
const maxRequestBytes = 32 << 20

func sendable(body []byte) error {
	if len(body) > maxRequestBytes {
		return fmt.Errorf("the request has %d bytes, at most %d are sent", len(body), maxRequestBytes)
	}
	return nil
}

// compose makes the turn and how it is to be said.
func (q *question) compose() (*endpoint.Turn, error) {
	g := q.generation
	err := q.hold.err
	if q.turn = q.hold.turn; q.turn == nil && err == nil {
		q.turn, err = g.content.Next(pick(q.hold.arrival, q.record.Time.Issue))
	}
	if err != nil {
		return nil, err
	}
	q.record.Session, q.record.TurnIndex, q.record.ParentSession = q.turn.Session, q.turn.Index, q.turn.Parent
	if q.ofRow, err = rowChecks(q.turn); err != nil {
		return nil, err
	}
	if q.looksAtAnswer() || g.counts() {
		q.transcript, q.tools = &answer.Transcript{}, q.turn.Prompt.Tools
	}
	for _, part := range q.turn.Prompt.Last().Of(prompt.Audio) {
		q.record.AudioSeconds += part.Seconds
	}
	wire := g.config.wire(q.turn)
	wire.IncludeUsage = !g.usageRefused.Load()
	return wire, nil
}

// url is where the request goes: to that of the target, unless a recorded turn asks for another model and the protocol has it in the path.
func (q *question) url(wire *endpoint.Turn, stream bool) (string, error) {
	g := q.generation
	if wire.Model == g.config.Model && stream == g.streams {
		return g.url, nil
	}
	return g.config.Endpoint.URL(g.config.URL, g.codec.Path(wire.Model, stream))
}

// rowChecks are what the row of a dataset expects of its answer, nil if it expects nothing.
func rowChecks(turn *workload.Turn) (*answer.Checks, error) {
	if turn.Expect == nil {
		return nil, nil
	}
	entries, err := answer.ParseExpect(turn.Expect)
	if err != nil {
		return nil, err
	}
	return answer.NewChecks(entries)
}

// looksAtAnswer tells whether somebody wants to know what the answer says.
func (q *question) looksAtAnswer() bool {
	g := q.generation
	return q.turn.KeepAnswer || !g.checks.Empty() || q.ofRow != nil || (g.fingerprint != nil && q.turn.Fixed > 0)
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
	t, g, r := q.target, q.generation, q.record
	if r.InputSource.Told() {
		g.content.Learn(q.turn, r.Usage.Input.N)
	}
	if r.Outcome == metrics.Success {
		g.usageTold.Store(r.InputSource.Told() && (r.OutputSource.Told() || !r.Product.Generates()))
	}
	if endpoint.RefusesField(got.Status, x.serverError, "stream_options") && !g.usageRefused.Swap(true) {
		t.series.UsageRefused()
		t.deps.Logger.Warn("server refuses stream_options, no longer asked for usage", slog.String("target", t.name))
	}
}

// close tells everybody who waits for it that the turn is over.
func (q *question) close() {
	r := q.record
	if q.turn == nil {
		return // and nothing is reserved
	}
	q.hold.settle(r)
	end := workload.End{Now: q.target.deps.Clock.Now(), OK: r.Outcome == metrics.Success, Answer: q.transcript}
	if r.InputSource.Exact() && r.OutputSource.Exact() {
		end.Tokens = r.Usage.Input.N + r.Usage.Output.N
	}
	q.generation.content.Done(q.turn, end)
}

// judge looks at what a successful answer says: whether it is what was expected, and what it was before.
func (q *question) judge() {
	g, r := q.generation, q.record
	if q.transcript == nil || r.Outcome != metrics.Success {
		return
	}
	if g.fingerprint != nil && q.turn.Fixed > 0 {
		q.compare()
	}
	given := &answer.Answer{Transcript: q.transcript, OutputTokens: -1, Finish: r.Finish, Offered: q.tools}
	if r.Usage.Output.Known {
		given.OutputTokens = r.Usage.Output.N
	}
	failures := g.checks.Judge(given)
	if q.ofRow != nil {
		failures = append(failures, q.ofRow.Judge(given)...)
	}
	if len(failures) == 0 {
		return
	}
	r.Outcome, r.Class = metrics.Failure, metrics.ErrContentCheck
	var details []string
	for _, f := range failures {
		r.FailedChecks = append(r.FailedChecks, string(f.Check))
		details = append(details, string(f.Check)+": "+f.Detail)
	}
	r.FailedChecks = slices.Compact(slices.Sorted(slices.Values(r.FailedChecks)))
	r.Detail = strings.Join(details, "; ")
}

// compare tells whether the answer to a fixed question is what it was.
func (q *question) compare() {
	t, g, r := q.target, q.generation, q.record
	drift, err := g.fingerprint.Note(q.turn.Fixed, q.transcript)
	if err != nil {
		t.deps.Logger.Warn("the baseline of fingerprints could not be written", slog.String("target", t.name), slog.Any("err", err))
	}
	r.Drift = metrics.Drift(drift.Result)
	r.DriftMatch, r.DriftDistance = orUndefined(drift.Matched), orUndefined(drift.Distance)
}

// orUndefined is a figure that is not a number where there is none.
func orUndefined(v float64) metrics.Value {
	if math.IsNaN(v) {
		return metrics.Value{}
	}
	return metrics.Value{V: v, Defined: true}
}
