package workload_test

import (
	"math"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
)

const tokenizerFile = "tokenizer/testdata/tokenizer.json"

func exactly(tb testing.TB) func(string) int {
	tb.Helper()
	t, err := tokenizer.Load(tokenizerFile)
	if err != nil {
		tb.Fatal(err)
	}
	return t.Count
}

// TestPromptsHaveExactlyTheWishedTokens: the server adds a template of 11 tokens, which is learned from the first answer.
func TestPromptsHaveExactlyTheWishedTokens(t *testing.T) {
	t.Parallel()
	count := exactly(t)
	for name, change := range map[string]func(*workload.Config){
		"words":                  func(*workload.Config) {},
		"text":                   func(c *workload.Config) { c.Corpus = "text" },
		"code":                   func(c *workload.Config) { c.Corpus = "code" },
		"long":                   func(c *workload.Config) { c.InputTokens.Mean = 3000 },
		"lengths that vary":      func(c *workload.Config) { c.InputTokens = workload.Length{Mean: 300, Stddev: 100, Min: 60} },
		"prefixes":               func(c *workload.Config) { c.Prefix.SharedTokens, c.Prefix.PerSessionTokens = 77, 55 },
		"a shared prefix":        func(c *workload.Config) { c.Prefix.SharedTokens, c.Cache = 77, "shared_prefix" },
		"a pool that is shared":  func(c *workload.Config) { c.Prefix.Pool, c.Cache = workload.Pool{Size: 3, Tokens: 40}, "shared_prefix" },
		"the same prompt always": func(c *workload.Config) { c.Cache = "repeat" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := workload.DefaultConfig()
			c.Tokenizer.File = tokenizerFile
			change(&c)
			w := newWorkload(t, &c, 1)
			misses := 0
			for i := range 40 {
				turn := next(t, w)
				counted := count(turn.Prompt.System) + count(textOf(turn))
				template := 11
				if i == 0 {
					template = 0 // not known yet
				}
				if d := counted + template - turn.InputTokens; d != 0 {
					misses++
					if d < -2 || d > 2 {
						t.Errorf("request %d: %d tokens with the template, nominal %d", i, counted+template, turn.InputTokens)
					}
				}
				w.Learn(turn, int64(counted+11))
			}
			if misses > 1 {
				t.Errorf("%d of 40 prompts were not exact", misses)
			}
		})
	}
}

func TestPartsOfAPrefixHaveExactlyTheirTokens(t *testing.T) {
	t.Parallel()
	count := exactly(t)
	c := workload.DefaultConfig()
	c.Tokenizer.File, c.Prefix.SharedTokens, c.Cache = tokenizerFile, 77, "shared_prefix"
	if got := count(next(t, newWorkload(t, &c, 1)).Prompt.System); got != 77 {
		t.Errorf("the shared prefix has %d tokens, want 77", got)
	}
	c.Prefix = workload.Prefix{Pool: workload.Pool{Size: 2, Tokens: 40}}
	prefix, _, _ := strings.Cut(textOf(next(t, newWorkload(t, &c, 1))), "\n\n")
	if got := count(prefix); got != 40 {
		t.Errorf("the prefix of the pool has %d tokens, want 40", got)
	}
}

func TestBlocksHaveExactlyTheirTokens(t *testing.T) {
	t.Parallel()
	count := exactly(t)
	c := recordedConfig(t, dataset.MooncakeTrace, "trace.jsonl", mooncake(200, "1,2"), mooncake(150, "1,2"), mooncake(260, "1,3"))
	c.Dataset.BlockSize, c.Cache, c.Tokenizer.File = 100, "repeat", tokenizerFile
	w := newWorkload(t, c, 1)
	for _, turn := range turns(t, w, 3) {
		text := textOf(turn)
		if got := count(text); math.Abs(float64(got-turn.InputTokens)) > 2 {
			t.Errorf("%d tokens, want %d", got, turn.InputTokens)
		}
	}
	if n, ok := w.Count("hello there"); !ok || n != count("hello there") {
		t.Errorf("an answer has %d tokens, %v", n, ok)
	}
	if _, ok := newWorkload(t, make128(), 1).Count("x"); ok {
		t.Error("counted without a tokenizer")
	}
}

func TestABrokenTokenizerIsToldAtTheStart(t *testing.T) {
	t.Parallel()
	c := workload.DefaultConfig()
	c.Tokenizer.File = "words.txt"
	if _, err := workload.New(&c, nil, 1, "a"); err == nil || !strings.HasPrefix(err.Error(), "tokenizer words.txt: is not a tokenizer.json: ") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkNextWithATokenizer(b *testing.B) {
	for name, tokens := range map[string]float64{"128 tokens": 128, "4000 tokens": 4000} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			c := workload.DefaultConfig()
			c.InputTokens.Mean, c.Tokenizer.File = tokens, tokenizerFile
			w := newWorkload(b, &c, 1)
			for b.Loop() {
				next(b, w)
			}
		})
	}
}
