package workload_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

const nonceSize = 16

func make128() *workload.Config {
	c := workload.DefaultConfig()
	return &c
}

// newWorkload makes the turns of target a.
func newWorkload(tb testing.TB, c *workload.Config, seed uint64) *workload.Workload {
	tb.Helper()
	return newWorkloadOf(tb, c, seed, "a")
}

func newWorkloadOf(tb testing.TB, c *workload.Config, seed uint64, target string) *workload.Workload {
	tb.Helper()
	if err := errors.Join(c.Validate("w")...); err != nil {
		tb.Fatal(err)
	}
	w, err := workload.New(c, nil, seed, target)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := w.Close(); err != nil {
			tb.Error(err)
		}
	})
	return w
}

func next(tb testing.TB, w *workload.Workload) *workload.Turn {
	tb.Helper()
	turn, err := w.Next(workload.Pick{})
	if err != nil {
		tb.Fatal(err)
	}
	return turn
}

// textOf is the text of what is asked now.
func textOf(turn *workload.Turn) string { return strings.Join(turn.Prompt.Last().Texts(), "|") }

func turns(tb testing.TB, w *workload.Workload, n int) []*workload.Turn {
	tb.Helper()
	out := make([]*workload.Turn, n)
	for i := range out {
		out[i] = next(tb, w)
	}
	return out
}

func TestTurnsAreReproducibleButForTheNonce(t *testing.T) {
	t.Parallel()
	c := make128()
	c.InputTokens.Stddev, c.OutputTokens.Stddev = 20, 10
	type words struct {
		text          string
		input, output int
	}
	sequence := func(seed uint64, target string) []words {
		var out []words
		for _, turn := range turns(t, newWorkloadOf(t, c, seed, target), 20) {
			out = append(out, words{textOf(turn)[nonceSize:], turn.InputTokens, turn.OutputTokens})
		}
		return out
	}
	base := sequence(7, "a")
	if diff := cmp.Diff(base, sequence(7, "a"), cmp.AllowUnexported(words{})); diff != "" {
		t.Errorf("the same seed gives other turns:\n%s", diff)
	}
	for name, other := range map[string][]words{"another target": sequence(7, "b"), "another seed": sequence(8, "a")} {
		for i := range other {
			if other[i].text == base[i].text {
				t.Errorf("%s gives the same prompt in turn %d", name, i)
			}
		}
	}
}

func TestWhatWasLearnedChangesNeitherLengthsNorWords(t *testing.T) {
	t.Parallel()
	c := make128()
	c.InputTokens.Stddev = 20
	plain, taught := newWorkload(t, c, 7), newWorkload(t, c, 7)
	for i := range 20 {
		a, b := next(t, plain), next(t, taught)
		if a.InputTokens != b.InputTokens || a.OutputTokens != b.OutputTokens {
			t.Fatalf("turn %d: wished %d and %d tokens, after learning %d and %d", i, a.InputTokens, a.OutputTokens, b.InputTokens, b.OutputTokens)
		}
		if textOf(a)[nonceSize:100] != textOf(b)[nonceSize:100] {
			t.Fatalf("turn %d: other words after learning:\n%s\n%s", i, textOf(a), textOf(b))
		}
		taught.Learn(b, int64(b.PromptBytes/3))
	}
}

func TestNoNonceComesTwice(t *testing.T) {
	t.Parallel()
	c := make128()
	seen := map[string]bool{}
	// A restart, and another exporter with the same seed and target, look like a second workload here.
	for range 2 {
		for _, turn := range turns(t, newWorkload(t, c, 7), 5000) {
			nonce := textOf(turn)[:nonceSize]
			if seen[nonce] {
				t.Fatalf("nonce %s came twice", nonce)
			}
			seen[nonce] = true
		}
	}
	// Prefix caches compare in blocks of tokens: nonces must differ in their first digits, not just in the last.
	var first [256]int
	for nonce := range seen {
		var b byte
		if _, err := fmt.Sscanf(nonce[:2], "%x", &b); err != nil {
			t.Fatal(err)
		}
		first[b]++
	}
	for b, n := range first {
		if n > 80 { // 39 expected, standard deviation 6
			t.Errorf("%d of %d nonces start with %02x", n, len(seen), b)
		}
	}
}

// counter is how a simulated server counts a prompt.
type counter func(prompt string) float64

func linear(bytesPerToken, overhead float64) counter {
	return func(prompt string) float64 { return math.Ceil(float64(len(prompt))/bytesPerToken + overhead) }
}

func words(prompt string) float64 { return float64(len(strings.Fields(prompt))) }

// noisy is a tokenizer that splits some words: its counts scatter by the square root of their number.
func noisy(count counter) counter {
	random := rand.New(rand.NewPCG(8, 8))
	return func(prompt string) float64 {
		n := count(prompt)
		return math.Round(n + 0.3*math.Sqrt(n)*random.NormFloat64())
	}
}

func TestLengthsBecomeRightByTheServersCount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		count     counter
		length    workload.Length
		tolerance float64 // share of the wished length, from the tenth request on
	}{
		"bytes/3.1 and a template of 12":              {linear(3.1, 12), workload.Length{Mean: 128}, 0.01},
		"bytes/5.5 and a template of 40":              {linear(5.5, 40), workload.Length{Mean: 128}, 0.01},
		"bytes/5.5, a template of 400, long prompts":  {linear(5.5, 400), workload.Length{Mean: 4000}, 0.01},
		"a token for each byte":                       {linear(1, 0), workload.Length{Mean: 128}, 0.01},
		"a token for each word":                       {words, workload.Length{Mean: 128}, 0.03},
		"a token for each word, long prompts":         {words, workload.Length{Mean: 10_000}, 0.005},
		"short prompts":                               {linear(5, 10), workload.Length{Mean: 40}, 0.03},
		"very long prompts":                           {linear(4.2, 20), workload.Length{Mean: 30_000}, 0.001},
		"a tokenizer with noise":                      {noisy(linear(4.5, 14)), workload.Length{Mean: 1000}, 0.05},
		"lengths that vary":                           {linear(3.1, 12), workload.Length{Mean: 500, Stddev: 200, Min: 60, Max: 2000}, 0.02},
		"lengths that vary, a token for each word":    {words, workload.Length{Mean: 500, Stddev: 200, Min: 100, Max: 2000}, 0.04},
		"lengths that vary widely, with noise at all": {noisy(linear(5, 30)), workload.Length{Mean: 5000, Stddev: 5000, Min: 500}, 0.08},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := make128()
			c.InputTokens = test.length
			w := newWorkload(t, c, 3)
			for i := range 80 {
				turn := next(t, w)
				got := test.count(textOf(turn))
				if off := math.Abs(got/float64(turn.InputTokens) - 1); i >= 10 && off > test.tolerance {
					t.Fatalf("request %d: wished %d, counted %v", i, turn.InputTokens, got)
				}
				w.Learn(turn, int64(got))
			}
		})
	}
}

// TestLearningDoesNotSwing: eight requests are always in flight, so that each answer is about a prompt of eight turns ago. Once an error is
// small it stays small.
func TestLearningDoesNotSwing(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]counter{"bytes/3.1 + 12": linear(3.1, 12), "bytes/1 + 3": linear(1, 3), "words": words} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, make128(), 3)
			flight := turns(t, w, 8)
			var settled bool
			for i := range 300 {
				oldest := flight[0]
				w.Learn(oldest, int64(count(textOf(oldest))))
				flight = append(flight[1:], next(t, w))
				off := math.Abs(count(textOf(flight[7]))/128 - 1)
				if settled && off > 0.04 {
					t.Fatalf("answer %d: off by %v after it had settled", i, off)
				}
				settled = settled || off < 0.03
			}
			if !settled {
				t.Error("never within 3 %")
			}
		})
	}
}

func TestGarbageDoesNotSpoilWhatWasLearned(t *testing.T) {
	t.Parallel()
	for name, garbage := range map[string][]int64{
		"no tokens":             {0},
		"negative":              {-1, math.MinInt64},
		"astronomical":          {math.MaxInt64, 1 << 40},
		"one token":             {1},
		"a third, now and then": {43},
		"eight times as much":   {1024},
		"every kind":            {0, 900, -7, 30, 1 << 50, 600},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count := linear(4.4, 15)
			w := newWorkload(t, make128(), 3)
			for i := range 400 {
				turn := next(t, w)
				got := count(textOf(turn))
				if off := math.Abs(got/128 - 1); i >= 30 && off > 0.06 {
					t.Fatalf("request %d: counted %v", i, got)
				}
				if i%10 == 9 {
					w.Learn(turn, garbage[i/10%len(garbage)])
				} else {
					w.Learn(turn, int64(got))
				}
			}
		})
	}
}

func TestGarbageFromTheStartIsForgotten(t *testing.T) {
	t.Parallel()
	count := linear(4.4, 15)
	w := newWorkload(t, make128(), 3)
	for range 6 {
		w.Learn(next(t, w), 700)
	}
	for range 80 {
		turn := next(t, w)
		w.Learn(turn, int64(count(textOf(turn))))
	}
	if got := count(textOf(next(t, w))); math.Abs(got/128-1) > 0.03 {
		t.Errorf("counted %v, want 128", got)
	}
}

func TestAnotherModelBehindTheNameIsLearned(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, after counter }{
		"a coarser tokenizer": {linear(3.1, 12), linear(5.5, 12)},
		"a finer tokenizer":   {linear(5.5, 12), linear(3.1, 12)},
		"a longer template":   {linear(4.5, 12), linear(4.5, 60)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, make128(), 3)
			for i := range 300 {
				count := test.before
				if i >= 200 {
					count = test.after
				}
				turn := next(t, w)
				got := count(textOf(turn))
				if i >= 260 && math.Abs(got/128-1) > 0.05 {
					t.Fatalf("request %d, %d after the change: counted %v", i, i-200, got)
				}
				w.Learn(turn, int64(got))
			}
		})
	}
}

// TestNonsenseStaysBounded: whatever a server claims, a prompt has at least its nonce and at most 16 bytes for each wished token.
func TestNonsenseStaysBounded(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]func(size int64, random *rand.Rand) int64{
		"always 7":               func(int64, *rand.Rand) int64 { return 7 },
		"always 40":              func(int64, *rand.Rand) int64 { return 40 },
		"always 1000":            func(int64, *rand.Rand) int64 { return 1000 },
		"always the most":        func(int64, *rand.Rand) int64 { return math.MaxInt64 },
		"random":                 func(_ int64, random *rand.Rand) int64 { return random.Int64N(2000) },
		"a random power of two":  func(_ int64, random *rand.Rand) int64 { return 1 << random.IntN(63) },
		"the smallest believed":  func(size int64, _ *rand.Rand) int64 { return size/32 + 1 },
		"more for less":          func(size int64, _ *rand.Rand) int64 { return max(1, 1000-size) },
		"too little for a few":   func(size int64, _ *rand.Rand) int64 { return max(1, size-200) },
		"a hundred times more":   func(size int64, _ *rand.Rand) int64 { return 100 * size },
		"the square of the size": func(size int64, _ *rand.Rand) int64 { return size * size },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(9, 9))
			c := make128()
			c.InputTokens = workload.Length{Mean: 128, Stddev: 100}
			w := newWorkload(t, c, 3)
			for i := range 1000 {
				turn := next(t, w)
				if len(textOf(turn)) < nonceSize || len(textOf(turn)) > max(nonceSize, 16*turn.InputTokens) {
					t.Fatalf("request %d: a prompt of %d bytes for %d tokens", i, len(textOf(turn)), turn.InputTokens)
				}
				if turn.InputTokens < 1 {
					t.Fatalf("request %d: a nominal length of %d", i, turn.InputTokens)
				}
				w.Learn(turn, claim(int64(len(textOf(turn))), random))
			}
		})
	}
}

func TestAPromptThatCannotBeShortEnoughSaysSo(t *testing.T) {
	t.Parallel()
	c := make128()
	c.InputTokens.Mean = 10
	count := linear(4, 100)
	w := newWorkload(t, c, 3)
	for range 20 {
		turn := next(t, w)
		w.Learn(turn, int64(count(textOf(turn))))
	}
	turn := next(t, w)
	if len(textOf(turn)) != nonceSize || math.Abs(float64(turn.InputTokens)-count(textOf(turn))) > 2 {
		t.Errorf("prompt %q, nominal %d, counted %v", textOf(turn), turn.InputTokens, count(textOf(turn)))
	}
}

func TestLengthsHaveTheWishedDistribution(t *testing.T) {
	t.Parallel()
	c := make128()
	c.OutputTokens = workload.Length{Mean: 50, Stddev: 10, Min: 30, Max: 70}
	var sum float64
	const n = 5000
	for _, turn := range turns(t, newWorkload(t, c, 3), n) {
		if turn.OutputTokens < 30 || turn.OutputTokens > 70 {
			t.Fatalf("wished %d output tokens", turn.OutputTokens)
		}
		if turn.InputTokens != 128 {
			t.Fatalf("wished %d input tokens", turn.InputTokens)
		}
		sum += float64(turn.OutputTokens)
	}
	if mean := sum / n; math.Abs(mean-50.5) > 0.5 {
		t.Errorf("mean %v output tokens, want 50.5", mean)
	}
}

func TestWorkloadIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, make128(), 3)
	count := linear(4, 10)
	var nonces sync.Map
	var requests sync.WaitGroup
	for range 8 {
		requests.Go(func() {
			for range 200 {
				turn := next(t, w)
				if _, twice := nonces.LoadOrStore(textOf(turn)[:nonceSize], true); twice {
					t.Errorf("nonce %s came twice", textOf(turn)[:nonceSize])
				}
				w.Learn(turn, int64(count(textOf(turn))))
			}
		})
	}
	requests.Wait()
}

// TestNextAllocatesAFewThingsWhateverTheLength: the turn, its conversation with their names, and the text, once.
func TestNextAllocatesAFewThingsWhateverTheLength(t *testing.T) {
	w := newWorkload(t, make128(), 3)
	if allocs := testing.AllocsPerRun(100, func() { next(t, w) }); allocs > 12 {
		t.Errorf("%v allocations per turn", allocs)
	}
}

func BenchmarkNext(b *testing.B) {
	for _, tokens := range []float64{128, 4096, 100_000} {
		b.Run(fmt.Sprint(tokens, " tokens"), func(b *testing.B) {
			b.ReportAllocs()
			c := make128()
			c.InputTokens.Mean = tokens
			w := newWorkload(b, c, 3)
			for b.Loop() {
				next(b, w)
			}
		})
	}
}

func BenchmarkLearn(b *testing.B) {
	b.ReportAllocs()
	w := newWorkload(b, make128(), 3)
	turn := next(b, w)
	for b.Loop() {
		w.Learn(turn, 130)
	}
}
