package generator_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// These tests run a whole target in the time of a synctest bubble against a server that lives there too, so that every instant is exact.

// play runs a target for a time of the bubble against a server and gives its rig. meanwhile, if not nil, runs beside it.
func play(t *testing.T, length time.Duration, server client, configure func(*rig), meanwhile func(*generator.Target)) (*rig, int64) {
	t.Helper()
	r := newRig(t, "http://simulated", func(c *generator.TargetConfig) {
		c.Client.Timestamps = transport.ReadTimestamps
		c.SLOs = nil
	})
	configure(r)
	wait(time.Second) // the instant 0 means that something did not happen
	target := r.target(t)
	target.Carry(server)
	anchor := r.clock.Now()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	if meanwhile != nil {
		go meanwhile(target)
	}
	target.Run(ctx, time.Hour, 0)
	return r, anchor
}

// client is what carries requests in these tests.
type client interface {
	Do(ctx context.Context, request *transport.Request, timeline *metrics.Timeline, handler transport.Handler) transport.Answer
	Close()
}

// starts are when requests were wanted and started, in milliseconds of the run.
func (r *rig) starts(anchor int64) (sched, start []int64) {
	for _, o := range r.records() {
		sched = append(sched, (o.record.Time.Sched-anchor)/1e6)
		start = append(start, (o.record.Time.Start-anchor)/1e6)
	}
	return sched, start
}

// serving takes that long for each request.
func serving(clock *metrics.SystemClock, length time.Duration) *simulated {
	return &simulated{clock: clock, service: always(length)}
}

// lazily makes the server when the clock of the rig is known.
type lazily struct {
	make func() client

	once   sync.Once
	client client
}

func (l *lazily) Do(ctx context.Context, request *transport.Request, timeline *metrics.Timeline, handler transport.Handler) transport.Answer {
	l.once.Do(func() { l.client = l.make() })
	return l.client.Do(ctx, request, timeline, handler)
}

func (*lazily) Close() {}

func wantInstants(t *testing.T, what string, want, got []int64) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s in ms (-want +got):\n%s", what, diff)
	}
}

func TestAClosedLoopNeverHammers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		service time.Duration
		want    []int64
	}{
		"a quick server is asked once in min_interval": {100 * time.Millisecond, []int64{0, 1000, 2000, 3000}},
		"a slow one when it has answered":              {1500 * time.Millisecond, []int64{0, 1500, 3000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var rg *rig
				server := &lazily{make: func() client { return serving(rg.clock, test.service) }}
				r, anchor := play(t, 3500*time.Millisecond, server, func(r *rig) {
					rg = r
					r.config.Load.Mode, r.config.Load.Concurrency = load.Closed, 1
				}, nil)
				_, start := r.starts(anchor)
				wantInstants(t, "starts", test.want, start)
			})
		})
	}
}

func TestAWorkerWhoseArrivalIsDroppedAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "http://simulated", func(c *generator.TargetConfig) {
			c.Client.Timestamps = transport.ReadTimestamps
			c.Load.Mode, c.Load.Concurrency = load.Closed, 1
			c.Budget = budget.Config{RequestsPerDay: 2, TZ: "UTC"}
		})
		var err error
		if r.deps.Ledger, err = budget.Open(""); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		target := r.target(t)
		target.Carry(serving(r.clock, 100*time.Millisecond))
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		target.Run(ctx, time.Second, 0)
		if sent, dropped := r.series(t, "aiperf_arrivals_sent_total"), r.series(t, "aiperf_arrivals_dropped_total", "reason", "budget"); sent != 2 || dropped != 4 {
			t.Errorf("%v sent and %v dropped, want 2 and 4: one each second", sent, dropped)
		}
	})
}

func TestAProbeThatStillRunsIsNotDoubled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rg *rig
		server := &lazily{make: func() client { return serving(rg.clock, 2500*time.Millisecond) }}
		r, anchor := play(t, 6500*time.Millisecond, server, func(r *rig) {
			rg = r
			r.config.Load.Mode, r.config.Load.Interval = load.Probe, time.Second
		}, nil)
		_, start := r.starts(anchor)
		wantInstants(t, "starts", []int64{0, 3000, 6000}, start)
		if got := r.series(t, "aiperf_arrivals_dropped_total", "reason", "overlap"); got != 4 {
			t.Errorf("%v overlaps, want 4", got)
		}
	})
}

func TestAUserWaitsForTheAnswerBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rg *rig
		server := &lazily{make: func() client { return serving(rg.clock, 2500*time.Millisecond) }}
		r, anchor := play(t, 4500*time.Millisecond, server, func(r *rig) {
			rg = r
			r.config.Load.Mode, r.config.Load.Users, r.config.Load.Rate = load.Users, 2, 1
			r.config.Workload.Turns = workload.Length{Mean: 3}
		}, nil)
		sched, start := r.starts(anchor)
		// Each user asks every two seconds, and an answer takes 2.5: the second question of each waits for half a second.
		wantInstants(t, "wishes", []int64{0, 1000, 2000, 3000}, sched)
		wantInstants(t, "starts", []int64{0, 1000, 2500, 3500}, start)
	})
}

func TestAPauseLeavesNoTrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rg *rig
		server := &lazily{make: func() client { return serving(rg.clock, 100*time.Millisecond) }}
		r, anchor := play(t, 10500*time.Millisecond, server, func(r *rig) {
			rg = r
			r.config.Load.Rate = 1
		}, func(target *generator.Target) {
			wait(2500 * time.Millisecond)
			target.Pause(true)
			wait(time.Second)
			if got := rg.series(t, "aiperf_load_target_rate"); got != 0 {
				t.Errorf("a paused target asks for %v/s", got)
			}
			wait(5 * time.Second)
			target.Pause(false)
			wait(time.Second)
			if got := rg.series(t, "aiperf_load_target_rate"); got != 1 {
				t.Errorf("a resumed target asks for %v/s", got)
			}
		})
		_, start := r.starts(anchor)
		wantInstants(t, "starts", []int64{0, 1000, 2000, 9000, 10000}, start)
		if got := r.series(t, "aiperf_arrivals_total"); got != 5 {
			t.Errorf("%v arrivals, want 5: a pause has none", got)
		}
	})
}

// refusing answers 429 to the first so many requests, and asks to be left alone.
type refusing struct {
	*simulated

	refusals int
}

func (s *refusing) Do(ctx context.Context, request *transport.Request, timeline *metrics.Timeline, handler transport.Handler) transport.Answer {
	if s.refusals == 0 {
		return s.simulated.Do(ctx, request, timeline, handler)
	}
	s.refusals--
	timeline.Start = s.clock.Now()
	timeline.End = timeline.Start
	return transport.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3"}}, ConnObtained: true}
}

func TestAServerThatAsksForItIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rg *rig
		server := &lazily{make: func() client { return &refusing{serving(rg.clock, 100*time.Millisecond), 1} }}
		r, anchor := play(t, 6500*time.Millisecond, server, func(r *rig) {
			rg = r
			r.config.Load.Rate = 1
		}, func(*generator.Target) {
			wait(1500 * time.Millisecond)
			if got := rg.series(t, "aiperf_backoff_active"); got != 1 {
				t.Errorf("aiperf_backoff_active = %v", got)
			}
		})
		_, start := r.starts(anchor)
		wantInstants(t, "starts", []int64{0, 3000, 4000, 5000, 6000}, start)
		if got := r.series(t, "aiperf_arrivals_dropped_total", "reason", "backoff"); got != 2 {
			t.Errorf("%v arrivals held back, want 2", got)
		}
		if got := r.series(t, "aiperf_backoff_active"); got != 0 {
			t.Errorf("aiperf_backoff_active = %v after a success", got)
		}
	})
}

func TestABudgetStopsATargetAndSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rg *rig
		server := &lazily{make: func() client { return serving(rg.clock, 100*time.Millisecond) }}
		r, anchor := play(t, 6500*time.Millisecond, server, func(r *rig) {
			rg = r
			ledger, err := budget.Open("")
			if err != nil {
				t.Fatal(err)
			}
			r.deps.Ledger = ledger
			r.deps.Limiter = load.NewLimiter(0, 0.001) // four requests, and what is not sent takes none of them
			r.config.Load.Rate = 1
			r.config.Budget = budget.Config{RequestsPerDay: 3, TokensPerDay: 10_000, TZ: "UTC"}
		}, nil)
		_, start := r.starts(anchor)
		wantInstants(t, "starts", []int64{0, 1000, 2000}, start)
		for _, want := range []struct {
			name, label, value string
			is                 float64
		}{
			{"aiperf_arrivals_dropped_total", "reason", "budget", 4},
			{"aiperf_budget_exhausted", "target", "open", 1},
			{"aiperf_budget_used", "kind", "requests", 3},
			{"aiperf_budget_limit", "kind", "requests", 3},
			{"aiperf_budget_used", "kind", "tokens", 6}, // one in and one out for each, as the server has told
		} {
			if got := r.series(t, want.name, want.label, want.value); got != want.is {
				t.Errorf("%s{%s=%q} = %v, want %v", want.name, want.label, want.value, got, want.is)
			}
		}
	})
}

func TestAnAnswerWithoutALimitIsReservedAsItIsExpected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "http://simulated", func(c *generator.TargetConfig) {
			c.Client.Timestamps = transport.ReadTimestamps
			c.Load.Rate = 1
			c.Endpoint.Extra = map[string]any{"max_completion_tokens": -1}
			c.Workload.OutputTokens = workload.Length{Mean: 50}
			c.Budget = budget.Config{OutputTokensPerDay: 120, TZ: "UTC"}
		})
		var err error
		if r.deps.Ledger, err = budget.Open(""); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		target := r.target(t)
		target.Carry(serving(r.clock, time.Minute)) // none ends before the run
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		target.Run(ctx, time.Second, 0)
		sent, dropped := r.series(t, "aiperf_arrivals_sent_total"), r.series(t, "aiperf_arrivals_dropped_total", "reason", "budget")
		if sent != 2 || dropped != 3 {
			t.Errorf("%v sent and %v dropped, want 2 and 3: of 120 tokens, two answers of 50 fit", sent, dropped)
		}
		if got := r.series(t, "aiperf_budget_used", "kind", "output_tokens"); got != 100 {
			t.Errorf("%v tokens spent, want 100: what a server has not told stays reserved", got)
		}
	})
}

func TestATraceIsAskedAtItsTimes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	rows := `{"timestamp": 3000, "text_input": "one", "output_length": 1, "session_id": "a"}
{"timestamp": 3100, "text_input": "two", "output_length": 2}
{"timestamp": 3150, "text_input": "three", "output_length": 3}
{"delay": 400, "text_input": "four", "output_length": 4, "session_id": "a"}
`
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*load.Config)
		length time.Duration
		want   []int64
	}{
		"once":           {func(c *load.Config) { c.Loop = new(bool) }, time.Minute, []int64{0, 100, 150, 600}},
		"at twice speed": {func(c *load.Config) { c.Loop, c.Speedup = new(bool), 2 }, time.Minute, []int64{0, 50, 75, 400}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var rg *rig
				server := &lazily{make: func() client { return serving(rg.clock, 200*time.Millisecond) }}
				r, anchor := play(t, test.length, server, func(r *rig) {
					rg = r
					r.config.Load.Mode = load.Replay
					test.change(&r.config.Load)
					r.config.Workload.Dataset = dataset.DefaultConfig()
					r.config.Workload.Dataset.Format, r.config.Workload.Dataset.File = dataset.MooncakeTrace, file
				}, nil)
				_, start := r.starts(anchor)
				wantInstants(t, "starts", test.want, start)
			})
		})
	}
}

// While enough requests are sent or wait, further arrivals are passed over. If one of those that wait is dropped, the session of one that was
// passed over has to go on.
func TestAnArrivalThatIsNotWantedDoesNotEndItsSession(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	rows := `{"timestamp": 0, "text_input": "runs for three seconds", "output_length": 1}
{"timestamp": 100, "text_input": "waits for one second", "output_length": 1}
{"timestamp": 200, "text_input": "is passed over", "output_length": 1, "session_id": "a"}
{"timestamp": 5000, "text_input": "is wanted again", "output_length": 1, "session_id": "a"}
`
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "http://simulated", func(c *generator.TargetConfig) {
			c.Client.Timestamps = transport.ReadTimestamps
			c.Load.Mode, c.Load.Loop, c.Load.MaxInFlight, c.Load.OnFull = load.Replay, new(bool), 1, load.Queue
			c.Load.Queue.MaxWait = time.Second
			c.Workload.Dataset = dataset.DefaultConfig()
			c.Workload.Dataset.Format, c.Workload.Dataset.File = dataset.MooncakeTrace, file
		})
		wait(time.Second)
		target := r.target(t)
		target.Carry(serving(r.clock, 3*time.Second))
		anchor := r.clock.Now()
		target.Run(t.Context(), time.Hour, 2)
		_, start := r.starts(anchor)
		wantInstants(t, "starts", []int64{0, 5000}, start)
	})
}

func TestResumingAllLeavesAloneWhatTheFilePauses(t *testing.T) {
	t.Parallel()
	r := newRig(t, "http://127.0.0.1:1")
	other := r.config
	r.config.Name, r.config.Paused = "by-file", true
	g, err := generator.New(generator.Config{Targets: []generator.TargetConfig{r.config, other}}, r.deps)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, step := range []struct {
		target       string
		pause        bool
		file, paused float64 // of the one that the file pauses, and of the other
	}{
		{"", true, 1, 1},
		{"", false, 1, 0},
		{"by-file", false, 0, 0},
		{"open", true, 0, 1},
	} {
		if err := g.Pause(step.target, step.pause); err != nil {
			t.Fatal(err)
		}
		if file, paused := r.series(t, "aiperf_load_paused", "target", "by-file"), r.series(t, "aiperf_load_paused", "target", "open"); file != step.file || paused != step.paused {
			t.Errorf("after pause %t of %q: %v and %v, want %v and %v", step.pause, step.target, file, paused, step.file, step.paused)
		}
	}
	if err := g.Pause("nobody", true); err == nil {
		t.Error("a target that is not there is paused")
	}
}

func TestRowsThatArePassedOverAreToldWithTheirPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := `{"text": "one"}` + "\n" + strings.Repeat(`{"text": 5}`+"\n", 30)
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer server.Close()
	var log lockedBuffer
	r := newRig(t, server.URL, func(c *generator.TargetConfig) {
		c.Workload.Dataset = dataset.DefaultConfig()
		c.Workload.Dataset.Format, c.Workload.Dataset.File = dataset.SingleTurn, file
	})
	r.deps.Logger = slog.New(slog.NewTextHandler(&log, nil))
	target := r.target(t)
	for range 3 { // the file begins anew, and a row is told once
		target.Once(t.Context())
	}
	told := log.String()
	if n := strings.Count(told, "passed over"); n != 20 || !strings.Contains(told, file+":2: ") || strings.Count(told, "more rows") != 1 {
		t.Errorf("%d rows are told one by one:\n%s", n, told)
	}
	if got := r.series(t, "aiperf_dataset_rows_skipped_total"); got != 60 { // in two passes
		t.Errorf("%v rows are counted, want 60", got)
	}
}

// lockedBuffer takes what a logger writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
