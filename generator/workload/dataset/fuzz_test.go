package dataset_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

func FuzzSingleTurn(f *testing.F) { fuzzFormat(f, dataset.SingleTurn) }
func FuzzMultiTurn(f *testing.F)  { fuzzFormat(f, dataset.MultiTurn) }
func FuzzRandomPool(f *testing.F) { fuzzFormat(f, dataset.RandomPool) }
func FuzzMooncake(f *testing.F)   { fuzzFormat(f, dataset.MooncakeTrace) }
func FuzzBailian(f *testing.F)    { fuzzFormat(f, dataset.BailianTrace) }
func FuzzBurstGPT(f *testing.F)   { fuzzFormat(f, dataset.BurstGPTTrace) }
func FuzzRawPayload(f *testing.F) { fuzzFormat(f, dataset.RawPayload) }
func FuzzInputsJSON(f *testing.F) { fuzzFormat(f, dataset.InputsJSON) }
func FuzzShareGPT(f *testing.F)   { fuzzFormat(f, dataset.ShareGPT) }
func FuzzSageMaker(f *testing.F)  { fuzzFormat(f, dataset.SageMakerDataCapture) }
func FuzzWeka(f *testing.F)       { fuzzFormat(f, dataset.WekaTrace) }
func FuzzTraceLab(f *testing.F)   { fuzzFormat(f, dataset.TraceLab) }
func FuzzSpeedBench(f *testing.F) { fuzzFormat(f, dataset.SpeedBench) }

// fuzzFormat reads any bytes as a file of a format. Whatever they are, each error names the file, and what can be read can be read again in
// every order.
func fuzzFormat(f *testing.F, format dataset.Format) {
	f.Helper()
	seeds, err := filepath.Glob("testdata/*/" + string(format) + ".[jc]*")
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, seed := range seeds {
		data, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		if filepath.Ext(seed) == ".json" {
			f.Add(data)
			continue
		}
		lines := bytes.SplitAfter(data, []byte("\n")) // few of them together: the engine takes long to cut down large inputs
		for line := range slices.Chunk(lines, 2) {
			f.Add(slices.Concat(lines[0], bytes.Join(line, nil)))
		}
	}
	path := filepath.Join(f.TempDir(), "fuzzed")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c := config(format, path)
		c.Sampling = dataset.Sequential
		summary, errs := dataset.Check(c, 1000)
		for _, err := range slices.Concat(errs, summary.UntimelyErrors) {
			var positioned *dataset.Error
			if !errors.As(err, &positioned) || positioned.File != path {
				t.Fatalf("%v has no place", err)
			}
		}
		if summary.Turns < summary.Conversations || summary.InputTokens < 0 || summary.OutputTokens < 0 {
			t.Fatalf("%+v", summary)
		}
		var passes [2][]string
		for i, sampling := range []dataset.Sampling{dataset.Sequential, dataset.Shuffle} {
			c.Sampling = sampling
			passes[i] = asked(t, c, summary.Conversations)
			slices.Sort(passes[i])
		}
		if diff := cmp.Diff(passes[0], passes[1]); passes[0] != nil && diff != "" {
			t.Fatalf("shuffled, other rows are asked (-sequential +shuffled):\n%s", diff)
		}
		if summary.Timed {
			replayed(t, c, summary)
		}
	})
}

// asked is where the first rows of n conversations stand, nil if the first record of the file is wrong.
func asked(t *testing.T, c *dataset.Config, n int) []string {
	t.Helper()
	d, err := dataset.Open(c, dataset.Options{})
	if err != nil {
		return nil
	}
	defer d.Close()
	var out []string
	for range n {
		conversation, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, conversation.Rows[0].Position())
	}
	return out
}

// replayed reads a recording to its end.
func replayed(t *testing.T, c *dataset.Config, summary dataset.Summary) {
	t.Helper()
	d, err := dataset.Open(c, dataset.Options{})
	if err != nil {
		return
	}
	defer d.Close()
	r, err := d.Recording()
	if err != nil {
		return
	}
	rows, last := 0, int64(0)
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if rows++; row.HasAt && int64(row.At) < last {
			t.Fatalf("%s goes back in time", row.Position())
		}
		if row.HasAt {
			last = int64(row.At)
		}
	}
	if int64(rows)+summary.Untimely < int64(summary.Turns) {
		t.Fatalf("%d of %d rows were replayed, %d have no place", rows, summary.Turns, summary.Untimely)
	}
}
