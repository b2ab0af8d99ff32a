package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// ofBlocks makes blocks as a workload without anything learned does.
func ofBlocks(tb testing.TB) (*recorded, *draft) {
	tb.Helper()
	c := DefaultConfig()
	w, err := New(&c, nil, 1, "a")
	if err != nil {
		tb.Fatal(err)
	}
	o, err := newOpener(w)
	if err != nil {
		tb.Fatal(err)
	}
	return &recorded{opener: *o, blockFit: 0.175}, &draft{ruler: ruler{perByte: 0.175}, blockFit: 0.175}
}

// goldenBlock must not change: caches of servers may be warm with it.
const goldenBlock = " Four design thousand speed land though pick story protect. Tale"

func TestBlocksAreThoseOfTheirFile(t *testing.T) {
	t.Parallel()
	r, d := ofBlocks(t)
	text := func(file string) string {
		named, err := r.blocks(&dataset.Row{File: file, InputTokens: 100, HashIDs: []uint64{1}, BlockSize: 100}, d)
		if err != nil {
			t.Fatal(err)
		}
		return named.text[:64]
	}
	if got := text("/data/a/trace.jsonl"); got != goldenBlock {
		t.Errorf("block 1 begins %q, was %q", got, goldenBlock)
	}
	if text("/data/a/trace.jsonl") == text("/data/b/trace.jsonl") {
		t.Error("files of one name in two folders have the same blocks")
	}
}

func TestAPromptIsCutIntoMessagesBehindItsBlocks(t *testing.T) {
	t.Parallel()
	r, d := ofBlocks(t)
	asked := func(row *dataset.Row, head string) []string {
		row.File, row.BlockSize, row.SelfContained = "a", 50, true
		texts, err := r.made(&conversation{row: row}, d, head, float64(row.InputTokens))
		if err != nil {
			t.Fatal(err)
		}
		return texts
	}
	for _, head := range []string{"", "0123456789abcdef"} {
		first := asked(&dataset.Row{InputTokens: 100, HashIDs: []uint64{1, 2}}, head)
		second := asked(&dataset.Row{InputTokens: 150, HashIDs: []uint64{1, 2, 3}, Splits: []int{2}}, head)
		third := asked(&dataset.Row{InputTokens: 290, HashIDs: []uint64{1, 2, 3, 4}, Splits: []int{2, 3}}, head)
		rest := asked(&dataset.Row{InputTokens: 290, HashIDs: []uint64{1, 2, 3, 4}, Splits: []int{2, 3, 4}}, head)
		shrunk := asked(&dataset.Row{InputTokens: 100, HashIDs: []uint64{1, 5}, Splits: []int{1}}, head)
		if len(first) != 1 || len(second) != 2 || len(third) != 3 || len(rest) != 4 || len(shrunk) != 2 {
			t.Fatalf("%d, %d, %d, %d and %d messages, want 1, 2, 3, 4 and 2", len(first), len(second), len(third), len(rest), len(shrunk))
		}
		if diff := cmp.Diff(first[0], second[0]); diff != "" || !strings.HasPrefix(first[0], head) {
			t.Errorf("the first message changes with what follows (-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(second, third[:2]); diff != "" {
			t.Errorf("what was said before changes (-second +third):\n%s", diff)
		}
		if diff := cmp.Diff(third[:2], rest[:2]); diff != "" || strings.Join(third[2:], " ") != strings.Join(rest[2:], " ") {
			t.Errorf("another split is another text: %q and %q", third[2:], rest[2:])
		}
		if !strings.HasPrefix(first[0], shrunk[0]) {
			t.Errorf("what is left of a prompt is not its beginning: %q", shrunk[0])
		}
	}
	if got := asked(&dataset.Row{InputTokens: 101, HashIDs: []uint64{1, 2}, Splits: []int{2}}, "0123456789abcdef"); len(got) != 1 {
		t.Errorf("no room for a word makes an empty message: %q", got)
	}
}

func TestOnlyPromptsOfOneMessageTeachTheirLength(t *testing.T) {
	t.Parallel()
	r, d := ofBlocks(t)
	for splits, want := range map[int]bool{0: true, 1: false} {
		row := &dataset.Row{File: "a", InputTokens: 100, HashIDs: []uint64{1, 2}, BlockSize: 50, SelfContained: true, Splits: []int{1}[:splits]}
		var turn Turn
		if err := r.whole(&conversation{row: row}, d, &turn); err != nil {
			t.Fatal(err)
		}
		if got := turn.PromptBytes > 0; got != want || len(turn.Prompt.Messages) != splits+1 || turn.Prompt.Messages[0].Role != prompt.User {
			t.Errorf("with %d splits %d messages, of which %d bytes teach", splits, len(turn.Prompt.Messages), turn.PromptBytes)
		}
	}
}

func TestMoreBlocksThanThePromptHoldsAreAnError(t *testing.T) {
	t.Parallel()
	r, d := ofBlocks(t)
	for length, want := range map[int]string{
		100: "2 hash ids of 100 tokens are more than the 100 tokens of the prompt: wrong block_size or broken trace",
		101: "",
		200: "",
		201: "",
	} {
		row := &dataset.Row{File: "a", InputTokens: length, HashIDs: []uint64{1, 2}, BlockSize: 100}
		named, err := r.blocks(row, d)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || named.fresh != (length == 201) {
			t.Errorf("%d tokens: %q, fresh %v; want %q", length, got, named.fresh, want)
		}
	}
}
