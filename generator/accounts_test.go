package generator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// fickle is a server in simulated time that does whatever servers do.
type fickle struct {
	clock *metrics.SystemClock

	mu     sync.Mutex
	random *rand.Rand
}

// Do implements the generator's client.
func (s *fickle) Do(ctx context.Context, request *transport.Request, timeline *metrics.Timeline, handler transport.Handler) transport.Answer {
	s.mu.Lock()
	mood, first, length := s.random.IntN(12), s.random.Int64N(2e9), s.random.Int64N(4e9)
	s.mu.Unlock()
	timeline.Start = s.clock.Now()
	handler.Start(timeline.Start)
	defer func() { timeline.End = s.clock.Now() }()
	if mood == 0 {
		panic("a connection that is broken")
	}
	timeline.Sent = s.clock.Now()
	if request.Abandon {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, request.AbandonAfter)
		defer cancel()
	}
	if !sleeps(ctx, time.Duration(first)) {
		return transport.Answer{Cancelled: true}
	}
	switch mood {
	case 1:
		return transport.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}}
	case 2:
		return transport.Answer{Status: http.StatusInternalServerError}
	case 3:
		return transport.Answer{Class: metrics.ErrTimeoutTotal}
	}
	handler.Event(&transport.Event{Data: []byte(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`), At: s.clock.Now(), Read: 1})
	if !sleeps(ctx, time.Duration(length)) {
		return transport.Answer{Status: http.StatusOK, Stream: true, Cancelled: true}
	}
	handler.Event(&transport.Event{
		Data: []byte(`{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`),
		At:   s.clock.Now(), Read: 2,
	})
	return transport.Answer{Status: http.StatusOK, Stream: true}
}

// Close implements the generator's client.
func (*fickle) Close() {}

func sleeps(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// anyLoad draws what a target is asked for, and what holds it back.
func anyLoad(random *rand.Rand, c *generator.TargetConfig, trace string) {
	l := &c.Load
	l.Mode = []load.Mode{load.Constant, load.Poisson, load.Gamma, load.Closed, load.Probe, load.Users, load.Replay}[random.IntN(7)]
	l.MaxInFlight = 1 + random.IntN(6)
	switch l.Mode {
	case load.Closed:
		l.Concurrency, l.MinInterval = 1+random.IntN(l.MaxInFlight), time.Second/4
	case load.Replay:
		c.Workload.Dataset = dataset.DefaultConfig()
		c.Workload.Dataset.Format, c.Workload.Dataset.File = dataset.MooncakeTrace, trace
		if random.IntN(2) == 0 {
			l.Loop = new(bool)
		}
	default:
		l.Rate = 4
	}
	if l.Mode == load.Users {
		l.Users = 3
		c.Workload.Turns = workload.Length{Mean: 3}
	}
	if random.IntN(2) == 0 {
		l.OnFull, l.Queue = load.Queue, load.QueueConfig{Size: 1 + random.IntN(4), MaxWait: time.Second}
	}
	if random.IntN(3) == 0 {
		l.MaxPrefill = 1
	}
	if random.IntN(3) == 0 {
		l.Cancel = load.CancelConfig{Percent: 30, After: time.Second}
	}
	l.WarmupRequests = random.IntN(3)
	l.Backoff.Mode = []load.BackoffMode{load.BackoffOff, load.BackoffRateLimit, load.BackoffAll}[random.IntN(3)]
	if random.IntN(2) == 0 {
		c.Budget = budget.Config{RequestsPerHour: 10, TZ: "UTC"}
	}
}

const anyTrace = `{"timestamp": 0, "text_input": "a", "output_length": 1, "session_id": "x"}
{"timestamp": 100, "text_input": "b", "output_length": 1}
{"timestamp": 200, "text_input": "c", "output_length": 1, "session_id": "y"}
{"delay": 100, "text_input": "d", "output_length": 1, "session_id": "x"}
{"timestamp": 600, "text_input": "e", "output_length": 1, "session_id": "x"}
{"timestamp": 900, "text_input": "f", "output_length": 1, "session_id": "y"}
`

// TestNothingIsHeldBackAtTheEnd runs targets with any load against a server with any mood, paused and resumed at any time. Whatever happens,
// every arrival is accounted for, and nothing that a request has taken is still taken when all have ended.
func TestNothingIsHeldBackAtTheEnd(t *testing.T) {
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(trace, []byte(anyTrace), 0o600); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runAny(t, rand.New(rand.NewPCG(seed, 7)), trace) })
		})
	}
}

func runAny(t *testing.T, random *rand.Rand, trace string) {
	t.Helper()
	const slots = 4
	r := newRig(t, "http://simulated", func(c *generator.TargetConfig) {
		c.Client.Timestamps = transport.ReadTimestamps
		anyLoad(random, c, trace)
	})
	var err error
	if r.deps.Ledger, err = budget.Open(""); err != nil {
		t.Fatal(err)
	}
	r.deps.Limiter = load.NewLimiter(slots, float64(1+random.IntN(20)))
	wait(time.Second)
	target := r.target(t)
	target.Carry(&fickle{clock: r.clock, random: rand.New(rand.NewPCG(random.Uint64(), 1))})
	length, grace, limit := time.Duration(10+random.IntN(20))*time.Second, time.Duration(random.IntN(3))*time.Second, int64(random.IntN(2)*random.IntN(30))
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		target.Run(ctx, grace, limit)
	}()
	for paused := false; ; paused = !paused {
		select {
		case <-ended:
			r.wantNothingHeld(t, slots, limit)
			return
		case <-time.NewTimer(time.Duration(random.Int64N(6e9))).C:
			target.Pause(!paused)
		case <-time.NewTimer(time.Hour).C:
			t.Fatal("the target does not come to its end")
		}
		r.wantAccounts(t)
	}
}

// wantAccounts wants every arrival to be sent, dropped or queued, and every one that was sent to run or have ended.
func (r *rig) wantAccounts(t *testing.T) {
	t.Helper()
	families := r.gather(t)
	arrivals, sent := sum(families["aiperf_arrivals_total"], ""), sum(families["aiperf_arrivals_sent_total"], "")
	dropped, queued := sum(families["aiperf_arrivals_dropped_total"], ""), sum(families["aiperf_inflight_requests"], "queued")
	if arrivals != sent+dropped+queued {
		t.Errorf("%v arrivals, but %v sent, %v dropped and %v queued", arrivals, sent, dropped, queued)
	}
	finished := sum(families["aiperf_requests_total"], "") + sum(families["aiperf_warmup_requests_total"], "")
	if running := sum(families["aiperf_inflight_requests"], "") - queued; sent != finished+running {
		t.Errorf("%v sent, but %v finished and %v running", sent, finished, running)
	}
}

func (r *rig) wantNothingHeld(t *testing.T, slots int, limit int64) {
	t.Helper()
	r.wantAccounts(t)
	if got := r.series(t, "aiperf_inflight_requests"); got != 0 {
		t.Errorf("%v requests in flight", got)
	}
	if sent := r.series(t, "aiperf_arrivals_sent_total"); limit > 0 && sent > float64(limit) {
		t.Errorf("%v sent, want %d at most", sent, limit)
	}
	wait(time.Hour) // until every share is paid off
	other := r.deps.Limiter.Join()
	for i := range slots - 1 { // one is kept for the target
		if !other.Acquire(r.clock.Now()) {
			t.Errorf("only %d slots are free", i)
		}
		wait(time.Second)
	}
	reached := 0.0
	for _, o := range r.records() {
		if o.record.Time.Sent != 0 {
			reached++
		}
	}
	if len(r.config.Budget.Limits()) == 0 {
		return
	}
	account := r.deps.Ledger.Account(r.config.Name, &r.config.Budget)
	for _, use := range account.State(r.clock.Wall(r.clock.Now() - int64(time.Hour))) {
		if use.Kind == budget.Requests && use.Used != reached {
			t.Errorf("%v requests are paid for, %v have reached the server", use.Used, reached)
		}
	}
}
