package workload

import (
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

func TestMoreBlocksThanThePromptHoldsAreAnError(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	w, err := New(&c, 1, "a")
	if err != nil {
		t.Fatal(err)
	}
	o, err := newOpener(w)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{opener: *o, blockFit: 0.175}
	d := draft{ruler: ruler{perByte: 0.175}, blockFit: 0.175}
	for length, want := range map[int]string{
		100: "2 hash ids of 100 tokens are more than the 100 tokens of the prompt: wrong block_size or broken trace",
		101: "",
		200: "",
		201: "",
	} {
		row := &dataset.Row{File: "a", InputTokens: length, HashIDs: []uint64{1, 2}, BlockSize: 100}
		_, fresh, err := r.blocks(row, &d)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || fresh != (length == 201) {
			t.Errorf("%d tokens: %q, fresh %v; want %q", length, got, fresh, want)
		}
	}
}
