package answer

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func BenchmarkJudge(b *testing.B) {
	for name, expect := range map[string]Expect{
		"contains":      {Contains: "not in there"},
		"ignore_case":   {Contains: "not in there", IgnoreCase: true},
		"regex":         {Regex: `\bfrance\b.*\bparis\b`},
		"no_repetition": {NoRepetition: true},
		"no_garbage":    {NoGarbage: true},
		"finish_reason": {FinishReason: []metrics.FinishReason{"stop"}},
	} {
		for _, size := range []int{2_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				text := salad(b, "../workload/words.txt")
				a := said(string(bytes.Repeat(text, 1+size/len(text))[:size]))
				benchmark(b, expect, a)
			})
		}
	}
	for _, size := range []int{2_000, 1_000_000} {
		b.Run(fmt.Sprintf("json_schema/%d", size), func(b *testing.B) {
			list := append(bytes.Repeat([]byte(`{"id":1,"kind":"user","active":true},`), size/37), "{}]"...)
			schema := map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{"id": map[string]any{"minimum": 0}}}}
			benchmark(b, Expect{JSONSchema: schema}, said("["+string(list)))
		})
	}
}

func benchmark(b *testing.B, expect Expect, a *Answer) {
	b.Helper()
	checks, err := NewChecks([]Expect{expect})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(a.Text)))
	b.ReportAllocs()
	for b.Loop() {
		checks.Judge(a)
	}
}

func BenchmarkNote(b *testing.B) {
	f := newTestFingerprint(b, nil)
	t := model{weights: 1, length: 64, logprobs: true}.answer("a", newRandom(1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Note(1, t); err != nil {
			b.Fatal(err)
		}
	}
}
