package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// suspicious judges by the two checks that must stay silent about everything that somebody may want to read.
func suspicious(tb testing.TB, text []byte) []Failure {
	tb.Helper()
	checks, err := NewChecks([]Expect{{NoRepetition: true, NoGarbage: true}})
	if err != nil {
		tb.Fatal(err)
	}
	return checks.Judge(&Answer{Transcript: &Transcript{Text: text, Reasoning: text}})
}

func TestHealthyTextPasses(t *testing.T) {
	t.Parallel()
	for name, text := range healthySamples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Also where the limit of tokens cuts it, in the middle of a character too.
			for end := len(text); end > 0; end -= 1 + len(text)/40 {
				if got := suspicious(t, text[:end]); len(got) > 0 {
					t.Fatalf("%d bytes of it: %v\n%q", end, got, text[:end])
				}
			}
		})
	}
}

// healthySamples are answers in many languages and shapes.
func healthySamples(tb testing.TB) map[string][]byte {
	tb.Helper()
	out := map[string][]byte{"records in JSON": records(), "words of our prompts": salad(tb, "../workload/words.txt")}
	files, err := filepath.Glob("testdata/healthy/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		for i, text := range bytes.Split(read(tb, file), []byte("\n%%\n")) {
			out[fmt.Sprintf("%s %d", filepath.Base(file), i+1)] = text
		}
	}
	sources, err := filepath.Glob("../*/*.go")
	if err != nil || len(sources) == 0 {
		tb.Fatalf("no sources: %v", err)
	}
	for _, file := range sources {
		if !strings.HasSuffix(file, "_test.go") { // tests have sick text on purpose
			out[file] = read(tb, file)
		}
	}
	return out
}

// records is a list that differs only in a few values, as models are asked for.
func records() []byte {
	random := rand.New(rand.NewPCG(1, 1))
	type record struct {
		ID     int      `json:"id"`
		Kind   string   `json:"kind"`
		Active bool     `json:"active"`
		Score  float64  `json:"score"`
		Tags   []string `json:"tags"`
	}
	all := make([]record, 300)
	for i := range all {
		all[i] = record{ID: i, Kind: "user", Active: true, Score: float64(random.IntN(10)) / 10, Tags: []string{"a", "b"}}
	}
	raw, _ := json.MarshalIndent(all, "", "  ") // cannot fail
	return raw
}

// salad is words in random order, as a model of random weights writes them.
func salad(tb testing.TB, file string) []byte {
	tb.Helper()
	words := strings.Fields(string(read(tb, file)))
	random := rand.New(rand.NewPCG(2, 2))
	var out []byte
	for range 5000 {
		out = append(append(out, words[random.IntN(len(words))]...), ' ')
	}
	return out
}

func read(tb testing.TB, file string) []byte {
	tb.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}
