package engine

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ms = time.Millisecond

func TestATokenComesAtTheEndOfEachStep(t *testing.T) {
	t.Parallel()
	s, tokens := request(100, 4)
	simulate(t, New(exact(), 1, epoch()), []arrival{{0, s}}, nil)
	// The first step computes 100 prompt tokens in 10 + 10 ms, each other decodes one sequence in 10 + 1 ms.
	want := []time.Time{epoch().Add(20 * ms), epoch().Add(31 * ms), epoch().Add(42 * ms), epoch().Add(53 * ms)}
	if diff := cmp.Diff(want, *tokens); diff != "" {
		t.Errorf("instants of the tokens (-want +got):\n%s", diff)
	}
}

func TestTimeToFirstToken(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		cfg  func(*Config)
		load func() (watched *Sequence, arrivals []arrival)
		want time.Duration
	}{
		{"is step and prefill time when idle", nil, func() (*Sequence, []arrival) {
			s, _ := request(200, 1)
			return s, []arrival{{0, s}}
		}, 30 * ms},
		{"grows with the prompt", nil, func() (*Sequence, []arrival) {
			s, _ := request(400, 1)
			return s, []arrival{{0, s}}
		}, 50 * ms},
		{"pays for each chunk of a prompt longer than a step", nil, func() (*Sequence, []arrival) {
			s, _ := request(1200, 1) // 512 + 512 + 176
			return s, []arrival{{0, s}}
		}, 150 * ms},
		{"waits for the step in progress", nil, func() (*Sequence, []arrival) {
			other, _ := request(200, 1) // until 30 ms
			s, _ := request(200, 1)
			return s, []arrival{{0, other}, {5 * ms, s}}
		}, 55 * ms},
		{"shares its step with the decoding of others", nil, func() (*Sequence, []arrival) {
			other, _ := request(100, 10) // first token at 20 ms
			s, _ := request(200, 1)
			return s, []arrival{{0, other}, {20 * ms, s}}
		}, 31 * ms},
		{"waits for a place in the batch", func(c *Config) { c.MaxRunning = 1 }, func() (*Sequence, []arrival) {
			other, _ := request(100, 3) // done at 20 + 11 + 11 ms
			s, _ := request(200, 1)
			return s, []arrival{{0, other}, {0, s}}
		}, 72 * ms},
		{"waits for room in the cache", func(c *Config) { c.MaxContext, c.CacheTokens = 300, 300 }, func() (*Sequence, []arrival) {
			other, _ := request(200, 3)
			s, _ := request(200, 1)
			return s, []arrival{{0, other}, {0, s}}
		}, 82 * ms},
		{"carries the background's decoding", func(c *Config) { c.Background.Trough = 7 }, func() (*Sequence, []arrival) {
			s, _ := request(200, 1)
			return s, []arrival{{0, s}}
		}, 37 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := exact()
			if tc.cfg != nil {
				tc.cfg(&cfg)
			}
			s, arrivals := tc.load()
			simulate(t, New(cfg, 1, epoch()), arrivals, nil)
			if got := ttft(s); got != tc.want {
				t.Errorf("TTFT = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestInterTokenLatencyGrowsWithTheBatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		batch int
		want  time.Duration
	}{{1, 11 * ms}, {2, 12 * ms}, {16, 26 * ms}, {64, 74 * ms}} {
		cfg := exact()
		arrivals := make([]arrival, 0, tc.batch)
		for range tc.batch {
			s, _ := request(8, 32)
			arrivals = append(arrivals, arrival{0, s})
		}
		simulate(t, New(cfg, 1, epoch()), arrivals, nil)
		for i, a := range arrivals {
			if got := itl(a.seq); got != tc.want {
				t.Fatalf("ITL of request %d of %d = %v, want %v", i, tc.batch, got, tc.want)
			}
		}
	}
}

func TestAnotherPromptDelaysTheNextToken(t *testing.T) {
	t.Parallel()
	s, tokens := request(100, 4)
	other, _ := request(300, 1)
	simulate(t, New(exact(), 1, epoch()), []arrival{{0, s}, {25 * ms, other}}, nil)
	var gaps []time.Duration
	for i := 1; i < len(*tokens); i++ {
		gaps = append(gaps, (*tokens)[i].Sub((*tokens)[i-1]))
	}
	if diff := cmp.Diff([]time.Duration{11 * ms, 41 * ms, 11 * ms}, gaps); diff != "" {
		t.Errorf("gaps between tokens (-want +got):\n%s", diff)
	}
}

func TestAFullCachePreemptsTheYoungest(t *testing.T) {
	t.Parallel()
	cfg := exact()
	cfg.MaxContext, cfg.CacheTokens = 200, 200
	older, _ := request(90, 50)
	younger, _ := request(90, 50)
	e := New(cfg, 1, epoch())
	simulate(t, e, []arrival{{0, older}, {0, younger}}, nil)
	if got := e.Preemptions(); got != 1 {
		t.Errorf("preemptions = %d, want 1", got)
	}
	if !older.Done() || !younger.Done() {
		t.Errorf("generated %d and %d tokens, want 50 each", older.Generated, younger.Generated)
	}
	if !younger.LastToken.After(older.LastToken.Add(40 * 11 * ms)) {
		t.Errorf("the younger ended at %v, the older at %v: it did not wait", younger.LastToken, older.LastToken)
	}
}

func TestSlowdownMultipliesTheStep(t *testing.T) {
	t.Parallel()
	e := New(exact(), 1, epoch())
	s, _ := request(100, 1)
	e.Add(s, epoch())
	if took, _ := e.Begin(epoch(), 4); took != 80*ms {
		t.Errorf("step took %v, want 80 ms", took)
	}
}

func TestJitterKeepsTheMean(t *testing.T) {
	t.Parallel()
	cfg := exact()
	cfg.Jitter = 0.3
	e := New(cfg, 1, epoch())
	const n = 100_000
	var sum, squares float64
	for range n {
		x := math.Log(e.jitter())
		sum += math.Exp(x)
		squares += (x + 0.045) * (x + 0.045)
	}
	if mean := sum / n; math.Abs(mean-1) > 0.005 {
		t.Errorf("mean factor = %v, want 1", mean)
	}
	if sigma := math.Sqrt(squares / n); math.Abs(sigma-0.3) > 0.005 {
		t.Errorf("standard deviation of the logarithm = %v, want 0.3", sigma)
	}
}

func TestTheSameSeedGivesTheSameTimes(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) []time.Time {
		a, tokens := request(100, 50)
		b, _ := request(300, 20)
		simulate(t, New(DefaultConfig(), seed, epoch()), []arrival{{0, a}, {70 * ms, b}}, nil)
		return *tokens
	}
	if diff := cmp.Diff(run(7), run(7)); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	if cmp.Equal(run(7), run(8)) {
		t.Error("another seed gives the same times")
	}
}

func TestBackgroundRisesAndFalls(t *testing.T) {
	t.Parallel()
	cfg := exact()
	cfg.Background = Background{Trough: 4, Peak: 24, Period: 10 * time.Minute}
	e := New(cfg, 1, epoch())
	for _, tc := range []struct {
		after time.Duration
		want  int
	}{{0, 4}, {150 * time.Second, 14}, {5 * time.Minute, 24}, {450 * time.Second, 14}, {10 * time.Minute, 4}, {15 * time.Minute, 24}} {
		if got := e.Load(epoch().Add(tc.after)).Running; got != tc.want {
			t.Errorf("after %v %d sequences run, want %d", tc.after, got, tc.want)
		}
	}
}

func TestBackgroundNeverShutsARequestOut(t *testing.T) {
	t.Parallel()
	cfg := exact()
	cfg.Background.Trough = 1000
	s, _ := request(100, 5)
	e := New(cfg, 1, epoch())
	simulate(t, e, []arrival{{0, s}}, func(now time.Time) {
		if usage := e.Load(now).CacheUsage; usage != 1 {
			t.Errorf("cache usage = %v, want 1", usage)
		}
	})
	if !s.Done() {
		t.Error("the request never ended")
	}
}

func TestCancelFreesThePlace(t *testing.T) {
	t.Parallel()
	cfg := exact()
	cfg.MaxRunning = 1
	e := New(cfg, 1, epoch())
	running, _ := request(100, 1000)
	waiting, tokens := request(100, 1)
	e.Add(running, epoch())
	e.Add(waiting, epoch())
	took, _ := e.Begin(epoch(), 1)
	if got := e.Load(epoch()); got.Running != 1 || got.Waiting != 1 {
		t.Fatalf("load = %+v, want one running and one waiting", got)
	}
	if !e.Cancel(running) {
		t.Error("a running sequence could not be cancelled")
	}
	if e.Cancel(running) {
		t.Error("a sequence was cancelled twice")
	}
	now := epoch().Add(took)
	e.End(now)
	if running.Generated != 0 {
		t.Error("a cancelled sequence got a token")
	}
	took, _ = e.Begin(now, 1)
	e.End(now.Add(took))
	if len(*tokens) != 1 || !e.Idle() {
		t.Errorf("the waiting sequence has %d tokens, idle = %v; want 1, true", len(*tokens), e.Idle())
	}
}

// TestLawsHoldUnderAnyLoad checks what must be true of each step, with loads drawn at random.
func TestLawsHoldUnderAnyLoad(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg := exact()
		cfg.MaxRunning = 1 + rng.IntN(8)
		cfg.MaxStepTokens = cfg.MaxRunning + rng.IntN(64)
		cfg.MaxContext = 64 + rng.IntN(64)
		cfg.CacheTokens = cfg.MaxContext + rng.IntN(128)
		cfg.Background.Trough = float64(rng.IntN(3))
		requests := 1 + rng.IntN(30)
		arrivals := make([]arrival, 0, requests)
		at := time.Duration(0)
		for range requests {
			prompt := 1 + rng.IntN(cfg.MaxContext-1)
			s, _ := request(prompt, 1+rng.IntN(cfg.MaxContext-prompt))
			at += time.Duration(rng.IntN(40)) * ms
			arrivals = append(arrivals, arrival{at, s})
		}
		e := New(cfg, seed, epoch())
		simulate(t, e, arrivals, func(now time.Time) { checkStep(t, e, now) })
		for i, a := range arrivals {
			s := a.seq
			if !s.Done() || s.Scheduled.Before(s.Arrived) || !s.FirstToken.After(s.Scheduled) || s.LastToken.Before(s.FirstToken) {
				t.Fatalf("seed %d: request %d ended as %+v", seed, i, s)
			}
		}
	}
}

func checkStep(t *testing.T, e *Engine, now time.Time) {
	t.Helper()
	if len(e.running) > e.cfg.MaxRunning {
		t.Fatalf("%d sequences run, at most %d may", len(e.running), e.cfg.MaxRunning)
	}
	sum := 0
	for i, s := range e.running {
		if s.chunk < 1 {
			t.Fatalf("sequence %d of the batch does not advance", i)
		}
		if s.computed+s.chunk > s.context() {
			t.Fatalf("sequence %d computes %d tokens of %d", i, s.computed+s.chunk, s.context())
		}
		sum += s.chunk
	}
	if sum > e.cfg.MaxStepTokens {
		t.Fatalf("a step computes %d tokens, at most %d may be", sum, e.cfg.MaxStepTokens)
	}
	if used := e.used(); used > e.capacity(e.others(now)) {
		t.Fatalf("%d tokens in a cache for %d", used, e.capacity(e.others(now)))
	}
}

func BenchmarkStep(b *testing.B) {
	cfg := DefaultConfig()
	cfg.MaxContext = math.MaxInt / 4
	cfg.CacheTokens = math.MaxInt / 2
	e := New(cfg, 1, epoch())
	for range 16 {
		e.Add(&Sequence{PromptTokens: 8, Limit: math.MaxInt / 8, Emit: func(time.Time) {}}, epoch())
	}
	now := epoch()
	b.ReportAllocs()
	for b.Loop() {
		took, _ := e.Begin(now, 1)
		now = now.Add(took)
		e.End(now)
	}
}
