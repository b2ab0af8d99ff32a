package dataset_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// numbered is a file of n rows that say their numbers.
func numbered(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "{\"text\":\"%d\"}\n", i)
	}
	return out.String()
}

// sampled opens a file in a random order.
func sampled(tb testing.TB, sampling dataset.Sampling, format dataset.Format, file string, seed byte) *dataset.Dataset {
	tb.Helper()
	c := config(format, file)
	c.Sampling = sampling
	d, err := dataset.Open(c, dataset.Options{Seed: [32]byte{seed}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	return d
}

func TestShufflingAsksEachOnceInAPassAndInAnotherOrderInTheNext(t *testing.T) {
	t.Parallel()
	const n = 500
	want := strings.Fields(strings.NewReplacer(`{"text":"`, "", `"}`, "").Replace(numbered(n)))
	slices.Sort(want)
	for _, test := range []struct{ name, file string }{
		{"by an index", written(t, "a.jsonl", numbered(n))},
		{"in a window, as compressed files need it", written(t, "a.jsonl.gz", zipped(t, numbered(n)))},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := sampled(t, dataset.Shuffle, dataset.SingleTurn, test.file, 1)
			var passes [3][]string
			for i := range passes {
				passes[i] = texts(t, d, n)
				if diff := cmp.Diff(want, slices.Sorted(slices.Values(passes[i]))); diff != "" {
					t.Errorf("pass %d (-want +got):\n%s", i, diff)
				}
			}
			if cmp.Equal(passes[0], passes[1]) || cmp.Equal(passes[1], passes[2]) || slices.IsSorted(passes[0]) {
				t.Error("passes have the same order")
			}
			if again := texts(t, sampled(t, dataset.Shuffle, dataset.SingleTurn, test.file, 1), n); !cmp.Equal(again, passes[0]) {
				t.Error("the same seed gives another order")
			}
			if other := texts(t, sampled(t, dataset.Shuffle, dataset.SingleTurn, test.file, 2), n); cmp.Equal(other, passes[0]) {
				t.Error("another seed gives the same order")
			}
		})
	}
}

func TestRandomOrderAsksAnyAtAnyTime(t *testing.T) {
	t.Parallel()
	const n, draws = 50, 20000
	for _, test := range []struct{ name, file string }{
		{"by an index", written(t, "a.jsonl", numbered(n))},
		{"in a window, as compressed files need it", written(t, "a.jsonl.gz", zipped(t, numbered(n)))},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			counts := map[string]int{}
			got := texts(t, sampled(t, dataset.Random, dataset.SingleTurn, test.file, 1), draws)
			for _, text := range got {
				counts[text]++
			}
			if len(counts) != n {
				t.Errorf("%d of %d were asked", len(counts), n)
			}
			// By chance alone a count is further than 6 standard deviations from its mean in one of a billion.
			const mean, bound = draws / n, 120
			for text, count := range counts {
				if count < mean-bound || count > mean+bound {
					t.Errorf("%s was asked %d times of %d", text, count, draws)
				}
			}
			if again := slices.Sorted(maps.Keys(distinct(got[:n]))); len(again) == n {
				t.Error("none was asked twice among the first: this is a shuffle")
			}
		})
	}
}

func distinct(list []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true
	}
	return out
}

func TestRowsOfASessionAreBroughtTogetherInEveryOrder(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	for turn := range 3 {
		for session := range 100 {
			fmt.Fprintf(&content, "{\"session_id\":\"%d\",\"text\":\"%d.%d\"}\n", session, session, turn)
		}
		content.WriteString("{\"text\":\"between\"}\n")
	}
	want := []string{"between", "between", "between"}
	for session := range 100 {
		want = append(want, fmt.Sprintf("%d.0+%[1]d.1+%[1]d.2", session))
	}
	slices.Sort(want)
	for _, sampling := range []dataset.Sampling{dataset.Sequential, dataset.Shuffle} {
		for _, file := range []string{written(t, "a.jsonl", content.String()), written(t, "a.jsonl.gz", zipped(t, content.String()))} {
			got := texts(t, sampled(t, sampling, dataset.SingleTurn, file, 1), len(want))
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", sampling, file, diff)
			}
		}
	}
}

func TestSessionThatGoesOnBehindTheWindowBeginsAnewAndIsCounted(t *testing.T) {
	t.Parallel()
	content := "{\"session_id\":\"a\",\"text\":\"1\"}\n" + strings.Repeat("{\"text\":\"x\"}\n", 100) + "{\"session_id\":\"a\",\"text\":\"2\"}\n" +
		strings.Repeat("{\"text\":\"x\"}\n", 16384) + "{\"session_id\":\"a\",\"text\":\"3\"}\n"
	c := config(dataset.SingleTurn, written(t, "a.jsonl", content))
	d := open(t, c)
	got := distinct(texts(t, d, 16384+102))
	if diff := cmp.Diff(map[string]bool{"1+2": true, "x": true, "3": true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.Split() != 1 {
		t.Errorf("split %d sessions", d.Split())
	}
	if summary, errs := dataset.Check(c, 1); summary.Split != 1 || len(errs) > 0 {
		t.Error(summary, errs)
	}
}

func TestFileThatChangedUnderAnIndexIsSkippedAndNotTrusted(t *testing.T) {
	t.Parallel()
	path := written(t, "a.jsonl", numbered(100))
	d := sampled(t, dataset.Shuffle, dataset.SingleTurn, path, 1)
	if err := os.WriteFile(path, []byte(strings.Repeat("#", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Next(); err == nil || !strings.HasSuffix(err.Error(), "holds nothing that can be asked") {
		t.Errorf("got %v", err)
	}
	if d.Skipped() == 0 {
		t.Error("nothing was counted")
	}
}

// TestDrawingFromPoolsLeavesThemAsTheyAre draws again and again from pools that are held in memory.
func TestDrawingFromPoolsLeavesThemAsTheyAre(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{"a.jsonl.gz": `{"text":"a","extra":{"k":1}}`, "b.jsonl.gz": `{"text":"b","extra":{"l":2}}`} {
		if err := os.WriteFile(folder+"/"+name, []byte(zipped(t, content)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := texts(t, sampled(t, dataset.Random, dataset.RandomPool, folder, 1), 3)
	if diff := cmp.Diff([]string{"a b", "a b", "a b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPoolsOfAFolderAreDrawnFromEachByItself(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{"queries.jsonl": numbered(20), "passages.jsonl": strings.ReplaceAll(numbered(20), `:"`, `:"p`)} {
		if err := os.WriteFile(folder+"/"+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := sampled(t, "", dataset.RandomPool, folder, 1)
	got := texts(t, d, 400)
	if n := len(distinct(got)); n < 200 {
		t.Errorf("%d different pairs of 400: the pools are not independent", n)
	}
	for _, pair := range got[:20] {
		if passage, query, ok := strings.Cut(pair, " "); !ok || !strings.HasPrefix(passage, "p") || strings.HasPrefix(query, "p") {
			t.Errorf("got %q", pair)
		}
	}
}

func TestFileOfTooManyRowsForAnIndexIsShuffledInAWindow(t *testing.T) {
	t.Parallel()
	file := written(t, "a.csv", "Timestamp,Request tokens,Response tokens\n"+strings.Repeat("1,1,1\n", 1<<20+1))
	d := sampled(t, dataset.Shuffle, dataset.BurstGPTTrace, file, 1)
	last := 0
	for range 1000 {
		c, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		last = max(last, c.Rows[0].Line)
	}
	if last < 8000 || last > 16384+1002 {
		t.Errorf("asked up to line %d", last)
	}
}
