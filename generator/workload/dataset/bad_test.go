package dataset_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMistakesAreNamedWithFileAndLine reads one file of mistakes for each format; beside it stands what is said about them.
func TestMistakesAreNamedWithFileAndLine(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob("testdata/bad/*.[jc]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		format, _, _ := strings.Cut(filepath.Base(name), ".")
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			summary, errs := dataset.Check(config(dataset.Format(format), name), 100)
			if int(summary.Skipped) != len(errs) {
				t.Errorf("skipped %d rows and gave %d errors", summary.Skipped, len(errs))
			}
			var got strings.Builder
			for _, err := range errs {
				got.WriteString(strings.TrimPrefix(err.Error(), "testdata/bad/") + "\n")
			}
			golden := filepath.Join("testdata/bad", format+".err")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			runsOn(t, config(dataset.Format(format), name), len(errs))
		})
	}
}

// runsOn reads a file with mistakes as a running exporter does: it goes on, counts each, and tells of each once.
func runsOn(t *testing.T, c *dataset.Config, mistakes int) {
	t.Helper()
	if _, err := dataset.Open(c, dataset.Options{}); err != nil {
		return // the first row is wrong
	}
	summary, _ := dataset.Check(c, 0)
	c.Sampling = dataset.Sequential
	told := 0
	d, err := dataset.Open(c, dataset.Options{OnSkip: func(error) { told++ }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for range 3*summary.Conversations + 1 {
		if _, err := d.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if told != mistakes {
		t.Errorf("told of %d rows, want %d", told, mistakes)
	}
	if got := d.Skipped(); got < 3*int64(mistakes) {
		t.Errorf("counted %d in three passes over %d mistakes", got, mistakes)
	}
}
