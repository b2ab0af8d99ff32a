package generator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Deps are what targets need from the process.
type Deps struct {
	Clock   *metrics.SystemClock
	Store   *metrics.Store
	Limiter *load.Limiter
	// Poller reads the answers, by the kernel's stamps; nil: each request reads its own, by those of its reads.
	Poller *transport.Poller
	Logger *slog.Logger
	// Instance tells this exporter from others with the same targets.
	Instance  string
	UserAgent string
	// Redact removes secrets from a text of the server before it is logged; nil = there are none.
	Redact func(string) string
	// Observer sees what becomes of each arrival, after it has been counted; nil = nobody does.
	Observer Observer
}

// Observer sees what becomes of arrivals. It is called from many goroutines at once.
type Observer interface {
	// Finished gives a finished request and what the target's SLOs say of it, in their order. The record is only valid during the call.
	Finished(target string, r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict)
	// Dropped tells that n arrivals were not sent.
	Dropped(target string, reason metrics.DropReason, n int64)
}

// client carries requests to a server: *transport.Client, or in tests a server that lives in simulated time.
type client interface {
	Do(ctx context.Context, request *transport.Request, timeline *metrics.Timeline, handler transport.Handler) transport.Answer
	Close()
}

// Target is one target: arrival → admit → build → send → decode → record.
type Target struct {
	config   TargetConfig
	deps     Deps
	url      string
	codec    endpoint.Codec
	workload *workload.Workload
	client   client
	series   *metrics.Target
	failures *failureLog
	buffers  sync.Pool // *[]byte, request bodies
	stamps   sync.Pool // *[]int64, instants of content events

	// usageRefused: the server does not take the field that asks for usage in streams.
	usageRefused atomic.Bool
}

// NewTarget builds a target and starts its series at zero. Nothing is sent yet.
func NewTarget(config TargetConfig, deps Deps) (*Target, error) {
	codec, err := endpoint.New(config.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", config.Name, err)
	}
	url, err := endpoint.URL(config.URL, codec.Path(config.Model, config.streams(codec)))
	if err != nil {
		return nil, fmt.Errorf("target %q: url: %w", config.Name, err)
	}
	carrier, err := transport.New(config.Client, deps.Clock, deps.Poller)
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", config.Name, err)
	}
	t := &Target{
		config:   config,
		deps:     deps,
		url:      url,
		codec:    codec,
		workload: workload.New(&config.Workload, config.Seed, config.Name),
		client:   carrier,
		series:   deps.Store.Add(config.info(codec)),
		failures: newFailureLog(deps.Logger.With(slog.String("target", config.Name)), deps.Clock),
	}
	t.buffers.New = func() any { return new([]byte) }
	t.stamps.New = func() any { return new([]int64) }
	return t, nil
}

// Close removes the target's series and its idle connections.
func (t *Target) Close() {
	t.client.Close()
	t.deps.Store.Remove(t.config.Name)
}

// Once sends one request now, outside the schedule, and waits for its end.
func (t *Target) Once(ctx context.Context) {
	now := t.deps.Clock.Now()
	t.request(ctx, t.series.Sent(), load.Arrival{Sched: now, Ready: now}, now, false)
}

// request carries one admitted arrival to its end.
func (t *Target) request(ctx context.Context, flight *metrics.Flight, a load.Arrival, issue int64, warmup bool) {
	stamps := t.stamps.Get().(*[]int64)
	r := &metrics.Record{RequestID: newRequestID(), Content: (*stamps)[:0]}
	r.Time.Sched, r.Time.Issue = a.Sched, issue
	r.Warmup = warmup
	defer func() {
		if cause := recover(); cause != nil {
			t.deps.Store.Panicked(metrics.ComponentRequest)
			t.deps.Logger.Error("panic in request", slog.String("target", t.config.Name), slog.Any("err", cause), slog.String("stack", string(debug.Stack())))
			r.Outcome, r.Class, r.Detail = metrics.Failure, metrics.ErrClientInternal, "panic"
			r.Time.End = t.deps.Clock.Now()
		}
		t.finish(flight, r)
		*stamps = r.Content
		t.stamps.Put(stamps)
	}()
	t.exchange(ctx, flight, r, workload.Pick{Now: issue, User: a.User, Entry: a.Entry})
}

// exchange builds the request, sends it and reads the answer into the record.
func (t *Target) exchange(ctx context.Context, flight *metrics.Flight, r *metrics.Record, pick workload.Pick) {
	buffer := t.buffers.Get().(*[]byte)
	defer t.buffers.Put(buffer)
	began := t.deps.Clock.Now()
	turn, err := t.workload.Next(pick)
	if err != nil {
		t.unsendable(r, err)
		return
	}
	wire := endpoint.Turn{
		Model:           t.config.Model,
		Prompt:          &turn.Prompt,
		MaxOutputTokens: turn.OutputTokens,
		Stream:          t.config.Workload.Stream,
		IncludeUsage:    !t.usageRefused.Load(),
		Extra:           t.config.Workload.Extra,
	}
	body, contentType, err := t.codec.Encode((*buffer)[:0], &wire)
	t.deps.Store.Prepared(t.deps.Clock.Now() - began)
	if err != nil {
		t.unsendable(r, err)
		return
	}
	*buffer = body
	turn.Prompt, wire.Prompt = prompt.Prompt{}, nil // thousands of answers may be waited for, for minutes
	r.RequestedTokens = int64(t.codec.OutputLimit(&wire))
	r.RequestBytes = int64(len(body))

	x := &exchange{decoder: t.codec.Decoder(nil), traits: t.codec.Traits(), record: r, flight: flight, inputTokens: turn.InputTokens}
	stream := t.codec.Streams(&wire)
	answer := t.client.Do(ctx, &transport.Request{URL: t.url, Header: t.header(r.RequestID, contentType, stream), Body: body, Stream: stream}, &r.Time, x)
	r.Unstreamed = stream && !answer.Stream
	r.RetryAfter = retryAfter(answer.Header, t.deps.Clock.Wall(r.Time.Start))
	x.finish(&answer)
	t.deps.Store.Decoded(answer.DecodeTime)
	if answer.KernelStamps {
		t.deps.Store.InstrumentDelay(answer.KernelDelay)
	}
	t.learn(turn, r, &answer, x)
}

// unsendable ends a record whose request could not be made.
func (t *Target) unsendable(r *metrics.Record, err error) {
	r.Time.Start = t.deps.Clock.Now()
	r.Time.End = r.Time.Start
	r.Outcome, r.Class, r.Detail = metrics.Failure, metrics.ErrClientInternal, errorText(err)
}

// learn takes from an answer what makes the next requests better.
func (t *Target) learn(turn *workload.Turn, r *metrics.Record, answer *transport.Answer, x *exchange) {
	if r.InputSource.Exact() {
		t.workload.Learn(turn.PromptBytes, r.Usage.Input.N)
	}
	if endpoint.RefusesField(answer.Status, x.serverError, "stream_options") && !t.usageRefused.Swap(true) {
		t.series.UsageRefused()
		t.deps.Logger.Warn("server refuses stream_options, no longer asked for usage", slog.String("target", t.config.Name))
	}
}

func (t *Target) finish(flight *metrics.Flight, r *metrics.Record) {
	if t.deps.Redact != nil {
		r.Detail = t.deps.Redact(r.Detail)
	}
	m, verdicts := flight.Finish(r)
	if r.Outcome == metrics.Failure {
		t.failures.note(r)
	}
	t.deps.Logger.Debug("request ended", slog.String("target", t.config.Name), slog.String("request_id", r.RequestID),
		slog.String("outcome", string(r.Outcome)), slog.String("error_class", string(r.Class)),
		slog.Float64("duration_seconds", m.Total.V), slog.String("err", r.Detail))
	if t.deps.Observer != nil {
		t.deps.Observer.Finished(t.config.Name, r, &m, verdicts)
	}
}

// observeDrop tells the observer of arrivals that were counted as dropped.
func (t *Target) observeDrop(reason metrics.DropReason, n int64) {
	if t.deps.Observer != nil {
		t.deps.Observer.Dropped(t.config.Name, reason, n)
	}
}

// Run sends requests as the load wants them until ctx ends or as many have been sent as limit says, 0 = no limit. Then it lets the running ones end for at most grace
// and cancels the rest. It returns when the last has ended.
func (t *Target) Run(ctx context.Context, grace time.Duration, limit int64) {
	requests, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	l := newLoop(requests, t, limit)
	for backoff := time.Second; ; backoff = min(2*backoff, time.Minute) {
		if l.runSafely(ctx) {
			break
		}
		t.series.SetState(metrics.StateFailed)
		if !sleep(ctx, backoff) {
			break
		}
		t.series.SetState(metrics.StateRunning)
	}
	t.series.SetState(metrics.StateDraining)
	l.drain(grace, func() { cancel(errStopped) })
}

var errStopped = errors.New("stopped")

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
