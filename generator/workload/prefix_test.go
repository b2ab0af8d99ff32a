package workload_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

// whole is everything that a turn makes the server read, in its order.
func whole(turn *workload.Turn) string {
	var b strings.Builder
	b.WriteString(turn.Prompt.System + "\n")
	for i := range turn.Prompt.Messages {
		m := &turn.Prompt.Messages[i]
		b.WriteString(string(m.Role) + ":" + strings.Join(m.Texts(), "|") + "\n")
	}
	return b.String()
}

// TestTokensOfAllPartsAddUp: a server that counts bytes/4 + 10 sees the sum of what the parts were said to have.
func TestTokensOfAllPartsAddUp(t *testing.T) {
	t.Parallel()
	system := strings.Repeat("Be brief and kind. ", 20)
	for name, test := range map[string]struct {
		change func(*workload.Config)
		want   int
	}{
		"no prefix":                 {func(*workload.Config) {}, 500},
		"a shared prefix":           {func(c *workload.Config) { c.Prefix.SharedTokens = 300 }, 800},
		"a prefix of each session":  {func(c *workload.Config) { c.Prefix.PerSessionTokens = 200 }, 700},
		"both":                      {func(c *workload.Config) { c.Prefix.SharedTokens, c.Prefix.PerSessionTokens = 300, 200 }, 1000},
		"a pool":                    {func(c *workload.Config) { c.Prefix.Pool = workload.Pool{Size: 3, Tokens: 150} }, 650},
		"a system prompt":           {func(c *workload.Config) { c.SystemPrompt = system }, 500 + len(system)/4},
		"a system prompt and words": {func(c *workload.Config) { c.SystemPrompt, c.Prefix.SharedTokens = system, 300 }, 800 + len(system)/4},
	} {
		for _, cache := range []workload.Cache{"bust", "shared_prefix", "repeat"} {
			t.Run(name+", "+string(cache), func(t *testing.T) {
				t.Parallel()
				c := workload.DefaultConfig()
				c.InputTokens.Mean = 500
				c.Cache = cache
				test.change(&c)
				if cache == "shared_prefix" && c.Prefix.SharedTokens == 0 && c.Prefix.Pool.Size == 0 && c.SystemPrompt == "" {
					return // refused
				}
				w := newWorkload(t, &c, 5)
				for i := range 60 {
					turn := next(t, w)
					bytes := len(turn.Prompt.System) + len(textOf(turn))
					if bytes != turn.PromptBytes {
						t.Fatalf("%d bytes, said %d", bytes, turn.PromptBytes)
					}
					counted := bytes/4 + 10
					if i >= 15 && (math.Abs(float64(counted-test.want)) > 0.02*float64(test.want)+2 || math.Abs(float64(turn.InputTokens-test.want)) > 0.02*float64(test.want)+2) {
						t.Fatalf("request %d: counted %d, nominal %d, want %d", i, counted, turn.InputTokens, test.want)
					}
					w.Learn(turn, int64(counted))
				}
			})
		}
	}
}

// TestTheSharedPrefixHasItsOwnLength: with a server that counts bytes/4, it has its share of the bytes.
func TestTheSharedPrefixHasItsOwnLength(t *testing.T) {
	t.Parallel()
	c := workload.DefaultConfig()
	c.InputTokens = workload.Length{Mean: 500, Stddev: 100}
	c.Prefix.SharedTokens, c.Prefix.PerSessionTokens = 300, 200
	c.Cache = "shared_prefix"
	w := newWorkload(t, &c, 5)
	var turn *workload.Turn
	for range 60 {
		turn = next(t, w)
		w.Learn(turn, int64(turn.PromptBytes/4))
	}
	if n := len(turn.Prompt.System); math.Abs(float64(n)-1200) > 36 {
		t.Errorf("the shared part has %d bytes, want 1200", n)
	}
}

// TestCachesSeeWhatTheyShouldSee compares two conversations of one process and those of a restart, byte by byte: how long is the common
// beginning, and is what follows different.
func TestCachesSeeWhatTheyShouldSee(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change    func(*workload.Config)
		identical bool
		common    func(*workload.Turn) int // bytes of the beginning that all share
	}{
		"bust shares nothing": {
			func(c *workload.Config) { c.Cache = "bust" }, false, func(*workload.Turn) int { return 0 },
		},
		"bust shares no system prompt": {
			func(c *workload.Config) { c.Cache, c.Prefix.SharedTokens, c.SystemPrompt = "bust", 50, "Hello." },
			false, func(*workload.Turn) int { return 0 },
		},
		"bust shares no pool": {
			func(c *workload.Config) { c.Cache, c.Prefix.Pool = "bust", workload.Pool{Size: 1, Tokens: 50} },
			false, func(*workload.Turn) int { return 0 },
		},
		"shared_prefix shares the system prompt": {
			func(c *workload.Config) {
				c.Cache, c.Prefix.SharedTokens, c.SystemPrompt = "shared_prefix", 50, "Hello."
			},
			false, func(turn *workload.Turn) int { return len(turn.Prompt.System) },
		},
		"shared_prefix shares the pool": {
			func(c *workload.Config) { c.Cache, c.Prefix.Pool = "shared_prefix", workload.Pool{Size: 1, Tokens: 50} },
			false, func(turn *workload.Turn) int { return strings.Index(textOf(turn), "\n\n") },
		},
		"repeat shares all": {
			func(c *workload.Config) {
				c.Cache, c.InputTokens.Stddev = "repeat", 30
				c.Prefix = workload.Prefix{SharedTokens: 50, PerSessionTokens: 20}
			},
			true, nil,
		},
		"repeat of a pool shares all": {
			func(c *workload.Config) { c.Cache, c.Prefix.Pool = "repeat", workload.Pool{Size: 9, Tokens: 20} }, true, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := workload.DefaultConfig()
			test.change(&c)
			var all []*workload.Turn
			for range 2 { // a restart is a second workload
				all = append(all, turns(t, newWorkload(t, &c, 5), 20)...)
			}
			for i, turn := range all[1:] {
				a, b := whole(all[0]), whole(turn)
				if test.identical {
					if diff := cmp.Diff(a, b); diff != "" {
						t.Fatalf("turn %d differs from the first:\n%s", i+1, diff)
					}
					continue
				}
				head := strings.Index(a, textOf(all[0]))
				want := test.common(turn)
				if turn.Prompt.System == "" {
					want += head
				}
				same := 0
				for same < len(a) && a[same] == b[same] {
					same++
				}
				// The role's name stands between system prompt and text, and hexadecimal numbers may begin alike.
				if same < want || same > want+12 {
					t.Fatalf("turn %d shares %d bytes with the first, want %d: %q %q", i+1, same, want, a[:same], b[:same])
				}
			}
		})
	}
}

func TestRepeatedPromptsStayTheSameOnceTheirLengthIsKnown(t *testing.T) {
	t.Parallel()
	c := workload.DefaultConfig()
	c.Cache = "repeat"
	c.Prefix.SharedTokens = 100
	w := newWorkload(t, &c, 5)
	count := noisy(linear(3.7, 25))
	different := map[string]int{}
	for i := range 300 {
		turn := next(t, w)
		if i >= 10 {
			different[whole(turn)]++
		}
		w.Learn(turn, int64(count(turn.Prompt.System+textOf(turn))))
	}
	if len(different) > 2 {
		t.Errorf("%d different prompts", len(different))
	}
}

func TestEachConversationHasAPrefixOfThePool(t *testing.T) {
	t.Parallel()
	c := workload.DefaultConfig()
	c.Cache = "shared_prefix"
	c.Prefix.Pool = workload.Pool{Size: 4, Tokens: 30}
	seen := map[string]int{}
	for _, turn := range turns(t, newWorkload(t, &c, 5), 400) {
		prefix, _, _ := strings.Cut(textOf(turn), "\n\n")
		seen[prefix]++
	}
	if len(seen) != 4 {
		t.Fatalf("%d prefixes", len(seen))
	}
	for prefix, n := range seen {
		if n < 60 || n > 140 {
			t.Errorf("%q came %d times of 400", prefix, n)
		}
	}
}

func TestTheSystemPromptMayBeAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "system.txt")
	if err := os.WriteFile(path, []byte("You are a lighthouse keeper."), 0o600); err != nil {
		t.Fatal(err)
	}
	c := workload.DefaultConfig()
	c.SystemPromptFile, c.Cache = path, "shared_prefix"
	if got := next(t, newWorkload(t, &c, 1)).Prompt.System; got != "You are a lighthouse keeper." {
		t.Errorf("system prompt %q", got)
	}
	c.SystemPromptFile = path + "x"
	if _, err := workload.New(&c, nil, 1, "a"); err == nil || !strings.HasPrefix(err.Error(), "system_prompt_file: open ") {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.Truncate(path, 1<<20+1); err != nil {
		t.Fatal(err)
	}
	c.SystemPromptFile = path
	if _, err := workload.New(&c, nil, 1, "a"); err == nil || !strings.HasSuffix(err.Error(), "is longer than 1048576 bytes") {
		t.Errorf("a long file: %v", err)
	}
}

func TestFixedQuestionsAreAskedInTurn(t *testing.T) {
	t.Parallel()
	c := workload.DefaultConfig()
	c.Prompts, c.Cache, c.OutputTokens.Mean = []string{"What is dew?", "And fog?"}, "repeat", 9
	w := newWorkload(t, &c, 1)
	type asked struct {
		Text          string
		Fixed, Output int
	}
	var got []asked
	for _, turn := range turns(t, w, 3) {
		got = append(got, asked{whole(turn), turn.Fixed, turn.OutputTokens})
		if turn.PromptBytes != 0 || turn.InputTokens < 5 || turn.InputTokens > 30 {
			t.Errorf("%d bytes to learn from, %d tokens", turn.PromptBytes, turn.InputTokens)
		}
	}
	want := []asked{{"\nuser:What is dew?\n", 1, 9}, {"\nuser:And fog?\n", 2, 9}, {"\nuser:What is dew?\n", 1, 9}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.Prompts, w.Questions()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}

	c.Cache, c.SystemPrompt = "bust", "Answer."
	w = newWorkload(t, &c, 1)
	turn := next(t, w)
	if turn.Fixed != 0 || w.Questions() != nil || !regexp.MustCompile("^[0-9a-f]{16}\n\nAnswer.\nuser:What is dew\\?\n$").MatchString(whole(turn)) {
		t.Errorf("with a nonce: fixed %d, questions %v, %q", turn.Fixed, w.Questions(), whole(turn))
	}
}

func TestRankingsHaveAQueryAndPassages(t *testing.T) {
	t.Parallel()
	c := workload.DefaultConfig()
	c.InputTokens.Mean = 32
	c.Passages = workload.Passages{Count: 10, Tokens: 100}
	for _, turn := range turns(t, newWorkload(t, &c, 1), 20) {
		query, passages := turn.Prompt.Last().Named(prompt.Query), turn.Prompt.Last().Named(prompt.Passages)
		if len(query) != 1 || len(passages) != 10 || turn.InputTokens != 1032 || turn.PromptBytes != 0 {
			t.Fatalf("%d queries, %d passages, %d tokens, %d bytes", len(query), len(passages), turn.InputTokens, turn.PromptBytes)
		}
		if passages[0] == passages[1] || math.Abs(float64(len(passages[0]))-100/0.175) > 1 || math.Abs(float64(len(query[0]))-32/0.175) > 1 {
			t.Fatalf("query %q, passage %q", query[0], passages[0])
		}
	}
}

func TestBatchesHaveTextsThatNoCacheKnows(t *testing.T) {
	t.Parallel()
	c := workload.DefaultConfig()
	c.Batch = 8
	w := newWorkload(t, &c, 1)
	seen := map[string]bool{}
	for i := range 40 {
		turn := next(t, w)
		texts := turn.Prompt.Last().Texts()
		bytes, counted := 0, 0
		for _, text := range texts {
			if seen[text[:nonceSize]] {
				t.Fatalf("nonce %s came twice", text[:nonceSize])
			}
			seen[text[:nonceSize]] = true
			bytes += len(text)
			counted += len(text)/4 + 3
		}
		if len(texts) != 8 || turn.PromptBytes != bytes || turn.InputTokens != 8*128 {
			t.Fatalf("%d texts of %d bytes, said %d bytes and %d tokens", len(texts), bytes, turn.PromptBytes, turn.InputTokens)
		}
		if i > 15 && math.Abs(float64(counted)/1024-1) > 0.02 {
			t.Fatalf("request %d: counted %d, want 1024", i, counted)
		}
		w.Learn(turn, int64(counted))
	}
}

func TestMediaStandBesideTheText(t *testing.T) {
	t.Parallel()
	c := workload.DefaultConfig()
	c.Images.Count, c.Images.Width, c.Images.Height = 2, 8, 8
	c.Audio.Count, c.Audio.Seconds = 1, 0.1
	w := newWorkload(t, &c, 1)
	first, second := next(t, w), next(t, w)
	images := first.Prompt.Last().Of(prompt.Image)
	if len(images) != 2 || len(first.Prompt.Last().Of(prompt.Audio)) != 1 || len(first.Prompt.Last().Texts()) != 1 {
		t.Fatalf("parts %v", first.Prompt.Last().Parts)
	}
	if cmp.Equal(images[0].Data, second.Prompt.Last().Of(prompt.Image)[0].Data) {
		t.Error("two turns have the same picture")
	}
	if first.PromptBytes != 0 {
		t.Errorf("%d bytes to learn from, but the server counts the pictures, too", first.PromptBytes)
	}
	if again := next(t, newWorkload(t, &c, 1)); !cmp.Equal(images[0].Data, again.Prompt.Last().Of(prompt.Image)[0].Data) {
		t.Error("the same seed makes other pictures")
	}
}

// TestNoTextIsEmpty: servers refuse empty texts, and a template may be longer than what was wished.
func TestNoTextIsEmpty(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*workload.Config){
		"a prompt":          func(*workload.Config) {},
		"further turns":     func(c *workload.Config) { c.Turns.Mean = 3 },
		"a ranking":         func(c *workload.Config) { c.Passages = workload.Passages{Count: 2, Tokens: 1} },
		"a batch":           func(c *workload.Config) { c.Batch = 2 },
		"a shared prefix":   func(c *workload.Config) { c.Prefix.SharedTokens = 1 },
		"with a tokenizer":  func(c *workload.Config) { c.Tokenizer.File = tokenizerFile },
		"code":              func(c *workload.Config) { c.Corpus = "code" },
		"a pool of a token": func(c *workload.Config) { c.Prefix.Pool = workload.Pool{Size: 1, Tokens: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := workload.DefaultConfig()
			c.InputTokens.Mean, c.Cache = 1, "repeat"
			change(&c)
			w := newWorkload(t, &c, 1)
			for i := range 5 {
				turn := next(t, w)
				for _, text := range turn.Prompt.Last().Texts() {
					if strings.TrimSpace(text) == "" {
						t.Errorf("turn %d: %q", i, text)
					}
				}
				w.Learn(turn, 500)
				w.Done(turn, says(0, "x"))
			}
		})
	}
}
