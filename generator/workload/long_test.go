package workload_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// converse asks all turns of a conversation, one after the other, and gives how long the last ten took, each.
func converse(b *testing.B, w *workload.Workload, turns int) time.Duration {
	b.Helper()
	end := says(0, strings.Repeat("answer ", 50))
	var began time.Time
	for i := range turns {
		if i == turns-10 {
			began = time.Now()
		}
		w.Done(pick(b, w, workload.Pick{}), end)
	}
	return time.Since(began) / 10
}

// BenchmarkLongConversation tells what whole conversations cost, and by last-ns/turn whether their turns cost the more the later they come.
func BenchmarkLongConversation(b *testing.B) {
	images := func(turns float64) *workload.Config {
		c := conversing(turns)
		c.Images.Count, c.Images.Width, c.Images.Height = 1, 256, 256
		return c
	}
	long := func(turns float64) *workload.Config {
		c := conversing(turns)
		c.InputTokens.Mean = 100_000 / turns
		return c
	}
	counted := ofBlocks(b, 30, 100_000)
	counted.Tokenizer.File = tokenizerFile
	for _, test := range []struct {
		name   string
		turns  int
		config *workload.Config
	}{
		{"texts", 25, conversing(25)},
		{"texts", 250, conversing(250)},
		{"images", 25, images(25)},
		{"images", 250, images(250)},
		{"100k tokens", 30, long(30)},
		{"100k tokens of blocks", 30, ofBlocks(b, 30, 100_000)},
		{"100k tokens of blocks, counted", 30, counted},
	} {
		b.Run(fmt.Sprintf("%s/%d turns", test.name, test.turns), func(b *testing.B) {
			b.ReportAllocs()
			w := newWorkload(b, test.config, 1)
			var last time.Duration
			n := 0
			for b.Loop() {
				last += converse(b, w, test.turns)
				n++
			}
			b.ReportMetric(float64(last.Nanoseconds())/float64(n), "last-ns/turn")
		})
	}
}

// ofBlocks is a recorded agent whose prompts grow to so many tokens.
func ofBlocks(b *testing.B, turns, tokens int) *workload.Config {
	b.Helper()
	var calls []string
	for i := 1; i <= turns; i++ {
		blocks := tokens * i / turns / 64
		ids := make([]string, blocks)
		for j := range ids {
			ids[j] = fmt.Sprint(j)
		}
		calls = append(calls, fmt.Sprintf(`{"t":%d,"type":"s","in":%d,"out":50,"hash_ids":[%s]}`, i, blocks*64, strings.Join(ids, ",")))
	}
	c := recordedConfig(b, dataset.WekaTrace, "w.json", `{"id":"p","block_size":64,"hash_id_scope":"local","requests":[`+strings.Join(calls, ",")+`]}`)
	c.Dataset.IgnoreDelays = true
	return c
}
