package tokenizer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
)

// reference is what testdata/reference.py writes.
type reference struct {
	Texts []string `json:"texts"`
	Kinds []struct {
		Name         string `json:"name"`
		Normalizer   any    `json:"normalizer"`
		PreTokenizer any    `json:"pre_tokenizer"`
		Counts       []int  `json:"counts"`
	} `json:"kinds"`
}

func read(tb testing.TB, path string, into any) {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		tb.Fatal(err)
	}
}

// changed is the tokenizer.json of testdata with some of it changed.
func changed(tb testing.TB, change func(file, model map[string]any)) string {
	tb.Helper()
	var file map[string]any
	read(tb, "testdata/tokenizer.json", &file)
	change(file, file["model"].(map[string]any))
	data, err := json.Marshal(file)
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func load(tb testing.TB, path string) *tokenizer.Tokenizer {
	tb.Helper()
	t, err := tokenizer.Load(path)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestCountsAreThoseOfThePythonPackage(t *testing.T) {
	t.Parallel()
	var want reference
	read(t, "testdata/counts.json", &want)
	for _, kind := range want.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			tok := load(t, changed(t, func(file, _ map[string]any) {
				file["normalizer"], file["pre_tokenizer"] = kind.Normalizer, kind.PreTokenizer
			}))
			for round := range 2 { // the second time, short pieces are known
				for i, text := range want.Texts {
					if got := tok.Count(text); got != kind.Counts[i] {
						t.Errorf("round %d: %q has %d tokens, want %d", round, text, got, kind.Counts[i])
					}
				}
			}
		})
	}
}

func TestMergesMayBeTextsOrPairs(t *testing.T) {
	t.Parallel()
	pairs := load(t, "testdata/tokenizer.json")
	texts := load(t, changed(t, func(_, model map[string]any) {
		merges := model["merges"].([]any)
		for i, m := range merges {
			if pair, ok := m.([]any); ok {
				merges[i] = pair[0].(string) + " " + pair[1].(string)
			}
		}
	}))
	const text = "The quick brown fox said \"no\"."
	if a, b := pairs.Count(text), texts.Count(text); a != b {
		t.Errorf("%d tokens by pairs, %d by texts", a, b)
	}
}

func TestAWholePieceIsATokenWhereTheModelSaysSo(t *testing.T) {
	t.Parallel()
	for ignore, want := range map[bool]int{true: 1, false: 11} {
		tok := load(t, changed(t, func(_, model map[string]any) {
			model["ignore_merges"] = ignore
			model["vocab"].(map[string]any)["zzzzzzzzzzz"] = 5000
		}))
		if got := tok.Count("zzzzzzzzzzz"); got != want {
			t.Errorf("ignore_merges %v: %d tokens, want %d", ignore, got, want)
		}
	}
}

func TestWhatCannotBeCountedRightIsRefused(t *testing.T) {
	t.Parallel()
	pre := func(p any) func(file, _ map[string]any) {
		return func(file, _ map[string]any) { file["pre_tokenizer"] = p }
	}
	type m = map[string]any
	for name, test := range map[string]struct {
		change func(file, model map[string]any)
		want   string
	}{
		"another model":           {func(_, model m) { model["type"] = "Unigram" }, `model "Unigram" is not supported, only BPE is`},
		"byte fallback":           {func(_, model m) { model["byte_fallback"] = true }, "a model with byte_fallback is not supported, only byte-level BPE is"},
		"dropout":                 {func(_, model m) { model["dropout"] = 0.1 }, "a model with dropout is not supported"},
		"word pieces":             {func(_, model m) { model["continuing_subword_prefix"] = "##" }, "a model with continuing_subword_prefix or end_of_word_suffix is not supported"},
		"merges of whole letters": {func(_, model m) { model["merges"] = []any{"\u2581 t"} }, `merge "▁t" is not of byte-level BPE`},
		"a merge of one":          {func(_, model m) { model["merges"] = []any{"abc"} }, `merge "abc" is no pair`},
		"a merge of numbers":      {func(_, model m) { model["merges"] = []any{1} }, "a merge must be a text or a list"},
		"a merge of lists":        {func(_, model m) { model["merges"] = []any{[]any{[]any{}}} }, "a merge must be two texts"},
		"no merges":               {func(_, model m) { delete(model, "merges") }, "merges must be a list"},
		"a vocabulary of texts":   {func(_, model m) { model["ignore_merges"], model["vocab"] = true, m{"a": "b"} }, "vocab: json: "},
		"another normalizer":      {func(file, _ m) { file["normalizer"] = m{"type": "Lowercase"} }, `normalizer "Lowercase" is not supported, only NFC is`},
		"one within a sequence": {
			func(file, _ m) { file["normalizer"] = m{"type": "Sequence", "normalizers": []any{m{"type": "NFKC"}}} }, `normalizer "NFKC" is not supported, only NFC is`,
		},
		"no splitting":             {pre(nil), "has no pre_tokenizer, only byte-level BPE is supported"},
		"no bytes":                 {pre(m{"type": "Split", "behavior": "Isolated", "pattern": m{"String": " "}}), "has no ByteLevel pre_tokenizer, only byte-level BPE is supported"},
		"another splitting":        {pre(m{"type": "Metaspace"}), `pre_tokenizer "Metaspace" is not supported`},
		"a space in front":         {pre(m{"type": "ByteLevel", "add_prefix_space": true}), "pre_tokenizer ByteLevel with add_prefix_space is not supported"},
		"splitting that merges":    {pre(m{"type": "Split", "behavior": "MergedWithPrevious"}), `pre_tokenizer Split with behavior "MergedWithPrevious" is not supported, only Isolated is`},
		"a split without anything": {pre(m{"type": "Split", "behavior": "Isolated"}), "pre_tokenizer Split has no pattern"},
		"a broken pattern":         {pre(m{"type": "Split", "behavior": "Isolated", "pattern": m{"Regex": "("}}), "pre_tokenizer: error parsing regexp"},
		"something behind the bytes": {
			pre(m{"type": "Sequence", "pretokenizers": []any{m{"type": "ByteLevel"}, m{"type": "Digits"}}}), `pre_tokenizer "Digits" behind ByteLevel is not supported`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := changed(t, test.change)
			_, err := tokenizer.Load(path)
			if err == nil || !strings.HasPrefix(err.Error(), "tokenizer "+path+": "+test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if _, err := tokenizer.Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was loaded")
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tokenizer.Load(path); err == nil || !strings.Contains(err.Error(), "is not a tokenizer.json: ") {
		t.Errorf("got %v", err)
	}
}

// TestLongPiecesAreCut: the time of the byte-pair step grows with the square.
func TestLongPiecesAreCut(t *testing.T) {
	t.Parallel()
	tok := load(t, "testdata/tokenizer.json")
	if got := tok.Count(strings.Repeat("qx", 100_000)); got < 100_000 || got > 200_000 {
		t.Errorf("%d tokens", got)
	}
}

func TestTokenizerIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	tok := load(t, "testdata/tokenizer.json")
	var want reference
	read(t, "testdata/counts.json", &want)
	var counters sync.WaitGroup
	for range 8 {
		counters.Go(func() {
			for i, text := range want.Texts {
				if got := tok.Count(text); got != want.Kinds[0].Counts[i] {
					t.Errorf("%q has %d tokens, want %d", text, got, want.Kinds[0].Counts[i])
				}
			}
		})
	}
	counters.Wait()
}

func FuzzLoad(f *testing.F) {
	data, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`))
	f.Add([]byte(`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","ignore_merges":true,"vocab":{"\u0120a":0},"merges":[["\"","a"],["\\","b"]]}}`))
	path := filepath.Join(f.TempDir(), "tokenizer.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tok, err := tokenizer.Load(path)
		if err != nil {
			return
		}
		if n := tok.Count("ab é\n"); n < 0 || n > 6 {
			t.Errorf("%d tokens of 6 bytes", n)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	var want reference
	read(b, "testdata/counts.json", &want)
	tok := load(b, changed(b, func(file, _ map[string]any) { file["pre_tokenizer"] = want.Kinds[1].PreTokenizer }))
	data, err := os.ReadFile("../holmes.txt")
	if err != nil {
		b.Fatal(err)
	}
	text := string(data[:20_000])
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		tok.Count(text)
	}
}
