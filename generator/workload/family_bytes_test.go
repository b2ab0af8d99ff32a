package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// TestWhatWasAskedIsHeldOnce: in the history, and no more among the rows that are still to be asked.
func TestWhatWasAskedIsHeldOnce(t *testing.T) {
	t.Parallel()
	const size = 10_000
	text := strings.Repeat("x", size)
	file := filepath.Join(t.TempDir(), "m.jsonl")
	turn := `{"text":"` + text + `"}`
	if err := os.WriteFile(file, []byte(`{"turns":[`+strings.Join([]string{turn, turn, turn}, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.Dataset.Format, c.Dataset.File = dataset.MultiTurn, file
	w, err := New(&c, nil, 1, "a")
	if err != nil {
		t.Fatal(err)
	}
	for asked := range 3 {
		turn, err := w.Next(Pick{})
		if err != nil {
			t.Fatal(err)
		}
		w.Done(turn, End{OK: true})
		want := 3 * size
		if asked == 2 {
			want = 0
		}
		if got := w.sessions.bytes; got < want || got > want+size/2 {
			t.Errorf("after turn %d %d bytes are held, want about %d", asked, got, want)
		}
	}
}
