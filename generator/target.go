package generator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
	"github.com/aiperf-exporter/aiperf-exporter/generator/tokenize"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Deps are what targets need from the process.
type Deps struct {
	Clock   *metrics.SystemClock
	Store   *metrics.Store
	Limiter *load.Limiter
	// Ledger keeps the accounts of budgets; nil = nobody has a budget. Budget is the account of all targets together, nil = there is none.
	Ledger *budget.Ledger
	Budget *budget.Account
	// Shard is the part of each load that this exporter has.
	Shard load.Shard
	// Poller reads the answers, by the kernel's stamps; nil: each request reads its own, by those of its reads.
	Poller *transport.Poller
	// Tokenizers are those that targets share; nil: New makes a shelf for its targets, and each that is made alone has its own.
	Tokenizers *tokenizer.Shelf
	Logger     *slog.Logger
	// Instance tells this exporter from others with the same targets.
	Instance  string
	UserAgent string
	// Redact removes secrets from a text of the server before it is logged; nil = there are none.
	Redact func(string) string
	// Trace makes the context of a request's span, which its header traceparent carries; nil = requests carry none.
	Trace func() metrics.Trace
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
	streams  bool // requests ask for streams
	codec    endpoint.Codec
	traits   endpoint.Traits
	headers  http.Header // of all requests
	workload *workload.Workload
	client   client
	series   *metrics.Target
	failures *failureLog

	share        *load.Share // of the limits of all targets
	backoff      *load.Backoff
	account      *budget.Account   // nil = the target has no budget of its own
	payers       []*budget.Account // the target's and that of all targets, where there are such
	cancellation *load.Cancellation
	checks       *answer.Checks
	fingerprint  *answer.Fingerprint // nil = answers are not compared
	counter      *tokenize.Client    // nil = the server is not asked for counts

	schedule atomic.Pointer[load.Schedule] // of the running loop; nil before
	paused   atomic.Bool
	wake     chan struct{} // nudges the loop; holds at most one
	buffers  sync.Pool     // *[]byte, request bodies
	stamps   sync.Pool     // *[]int64, instants of content events

	// usageRefused: the server does not take the field that asks for usage in streams.
	usageRefused atomic.Bool
	// usageTold: the last success told all its counts.
	usageTold atomic.Bool
}

// NewTarget builds a target and starts its series at zero. Nothing is sent yet.
func NewTarget(config TargetConfig, deps Deps) (*Target, error) {
	t := &Target{config: config, deps: deps, wake: make(chan struct{}, 1)}
	if err := t.build(); err != nil {
		if t.workload != nil {
			_ = t.workload.Close() // everything worth saying about it is said
		}
		return nil, fmt.Errorf("target %q: %w", config.Name, err)
	}
	c := &t.config
	t.paused.Store(c.pausedByFile())
	t.share = deps.Limiter.Join()
	t.backoff = load.NewBackoff(&c.Load.Backoff, seed.Derive(c.Seed, "load.backoff", c.Name))
	t.cancellation = load.NewCancellation(&c.Load.Cancel, c.Seed, c.Name)
	t.headers = baseHeader(c, &t.traits, deps.UserAgent)
	if traceIsUsers(t.headers, &c.Endpoint) {
		t.deps.Trace = nil
	}
	info := c.info()
	info.Live = t.live
	t.series = deps.Store.Add(info)
	t.failures = newFailureLog(deps.Logger.With(slog.String("target", c.Name)), deps.Clock)
	t.buffers.New = func() any { return new([]byte) }
	t.stamps.New = func() any { return new([]int64) }
	return t, nil
}

// build makes what can fail.
func (t *Target) build() error {
	c := &t.config
	var err error
	if t.codec, err = endpoint.New(c.Endpoint); err != nil {
		return err
	}
	t.traits = t.codec.Traits()
	t.streams = c.streams(t.codec)
	if t.url, err = c.Endpoint.URL(c.URL, t.codec.Path(c.Model, t.streams)); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if t.checks, err = answer.NewChecks(c.Expect); err != nil {
		return fmt.Errorf("expect: %w", err)
	}
	if t.workload, err = workload.New(&c.Workload, t.deps.Tokenizers, c.Seed, c.Name); err != nil {
		return fmt.Errorf("workload %q: %w", c.WorkloadName, err)
	}
	t.workload.OnSkip(t.tellSkipped())
	if t.counter, err = t.newCounter(); err != nil {
		return err
	}
	if c.Load.Mode == load.Users {
		t.workload.StartUsers(func(user uint64) int { return load.TurnsLeft(c.Load.Users, c.Workload.MeanTurns(), user) })
	}
	if c.Fingerprint.Enabled {
		if t.fingerprint, err = answer.NewFingerprint(&c.Fingerprint, t.questions()); err != nil {
			return err
		}
	}
	if t.deps.Ledger != nil && !c.Budget.IsZero() {
		t.account = t.deps.Ledger.Account(c.Name, &c.Budget)
		t.payers = append(t.payers, t.account) // first: it has the prices
	}
	if t.deps.Budget != nil {
		t.payers = append(t.payers, t.deps.Budget)
	}
	t.client, err = transport.New(c.Client, t.deps.Clock, t.deps.Poller)
	return err
}

// toldRows is how many rows of a dataset that are passed over are told one by one; all are counted.
const toldRows = 20

// tellSkipped makes what logs the first rows that are passed over.
func (t *Target) tellSkipped() func(error) {
	var told atomic.Int64
	logger := t.deps.Logger.With(slog.String("target", t.config.Name))
	return func(err error) {
		switch n := told.Add(1); {
		case n <= toldRows:
			logger.Warn("a row of the dataset cannot be used and is passed over", slog.Any("err", err))
		case n == toldRows+1:
			logger.Warn("more rows cannot be used; check dataset tells all")
		}
	}
}

// questions are the fixed ones of the workload, each with everything that shapes its answer.
func (t *Target) questions() []string {
	c := &t.config
	shape, err := json.Marshal([]any{c.Endpoint.Type, c.Model, c.Endpoint.Extra, c.Workload.Extra, c.Workload.OutputTokens, c.Workload.SystemPrompt})
	if err != nil {
		shape = []byte(c.Model) // extra that cannot be sent is told with the first request
	}
	asked := t.workload.Questions()
	out := make([]string, len(asked))
	for i := range asked {
		out[i] = string(shape) + "\x00" + asked[i]
	}
	return out
}

// Close removes the target's series and its idle connections.
func (t *Target) Close() {
	t.client.Close()
	t.share.Leave()
	if err := t.workload.Close(); err != nil {
		t.deps.Logger.Warn("files of the workload could not be closed", slog.String("target", t.config.Name), slog.Any("err", err))
	}
	t.deps.Store.Remove(t.config.Name)
}

// Pause stops or resumes the arrivals. Requests that run go on.
func (t *Target) Pause(paused bool) {
	t.paused.Store(paused)
	t.nudge()
}

// nudge has the loop look again.
func (t *Target) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// live is what the target says of itself at a scrape.
func (t *Target) live() metrics.Live {
	now := t.deps.Clock.Now()
	live := metrics.Live{Paused: t.paused.Load(), BackoffActive: t.backoff.Active(now)}
	if s := t.schedule.Load(); s != nil {
		live.RateHz, _ = s.Rate(now)
		live.Passes = s.Passes()
	}
	wall := t.deps.Clock.Wall(now)
	if t.account != nil {
		for _, use := range t.account.State(wall) {
			live.BudgetUsed = append(live.BudgetUsed, use.Used)
		}
	}
	live.BudgetExhausted = t.spent()
	sessions := t.workload.Sessions()
	live.Sessions = sessions.Active
	live.EndedSessions = map[metrics.SessionEnd]int64{
		metrics.SessionCompleted: sessions.Completed, metrics.SessionFailed: sessions.Failed, metrics.SessionTruncated: sessions.Truncated,
	}
	live.SkippedRows = t.workload.SkippedRows()
	return live
}

// spent tells whether a budget has refused the last arrival, and its hour or day is not over.
func (t *Target) spent() bool {
	wall := t.deps.Clock.Wall(t.deps.Clock.Now())
	return slices.ContainsFunc(t.payers, func(a *budget.Account) bool { return a.Exhausted(wall) })
}

// Once sends one request now, outside the schedule, and waits for its end.
func (t *Target) Once(ctx context.Context) {
	now := t.deps.Clock.Now()
	h, refused := t.admit(load.Arrival{Sched: now, Ready: now}, now)
	if refused != "" {
		t.series.Dropped(refused, 1)
		t.observeDrop(refused, 1)
		return
	}
	defer func() { t.share.Release(t.deps.Clock.Now()) }()
	h.prefilled = func() {}
	t.request(ctx, t.series.Sent(), h, now, false)
}

// request carries one admitted arrival to its end.
func (t *Target) request(ctx context.Context, flight *metrics.Flight, h *hold, issue int64, warmup bool) {
	stamps := t.stamps.Get().(*[]int64)
	r := &metrics.Record{RequestID: newRequestID(), Trace: t.newTrace(), Product: t.traits.Product, Content: (*stamps)[:0]}
	r.Time.Sched, r.Time.Issue = h.arrival.Sched, issue
	r.Warmup = warmup
	q := question{target: t, hold: h, record: r, flight: flight}
	defer func() {
		if cause := recover(); cause != nil {
			t.caught(metrics.ComponentRequest, cause)
			r.Outcome, r.Class, r.Detail = metrics.Failure, metrics.ErrClientInternal, errPanic.Error()
			r.Time.End = t.deps.Clock.Now()
		}
		t.finish(flight, r)
		*stamps = r.Content
		t.stamps.Put(stamps)
	}()
	defer q.close()
	q.ask(ctx)
}

// caught counts a panic that was caught and tells of it.
func (t *Target) caught(in metrics.Component, cause any) {
	t.deps.Store.Panicked(in)
	t.deps.Logger.Error("panic", slog.String("component", string(in)), slog.String("target", t.config.Name), slog.Any("err", cause),
		slog.String("stack", string(debug.Stack())))
}

func (t *Target) finish(flight *metrics.Flight, r *metrics.Record) {
	if t.deps.Redact != nil {
		r.Detail = t.deps.Redact(r.Detail)
	}
	t.backoff.Note(load.Observation{Start: r.Time.Start, Outcome: r.Outcome, Class: r.Class, Status: r.Status, RetryAfter: r.RetryAfter}, t.deps.Clock.Now())
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

// recording is what the load replays; nil = it makes its own arrivals.
func (t *Target) recording() load.Recording {
	if t.config.Load.Mode != load.Replay {
		return nil
	}
	return replayed{t.workload.Recording(), t.workload}
}

// replayed shows the turns of a workload to a load, which do not know each other.
type replayed struct {
	turns *workload.Recording
	from  *workload.Workload
}

// Next implements load.Recording.
func (r replayed) Next() (load.Recorded, error) {
	e, err := r.turns.Next()
	return load.Recorded(e), err
}

// Forget implements load.Recording.
func (r replayed) Forget(key uint64) { r.from.Forget(key) }

// Run sends requests as the load wants them until ctx ends or as many have been sent as limit says, 0 = no limit. Then it lets the running
// ones end for at most grace and cancels the rest. It returns when the last has ended.
func (t *Target) Run(ctx context.Context, grace time.Duration, limit int64) {
	requests, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer t.calibrate(ctx)()
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
	if ctx.Err() == nil {
		t.series.SetState(metrics.StateRunning) // nothing is wrong, there are just no more arrivals
	}
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
