package dataset_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// completion is a row of a trace with all columns that are read, and one that is not.
type completion struct {
	At       *int64   `parquet:"timestamp_start_unix_ms,optional"`
	Prompt   *string  `parquet:"prompt,optional"`
	Input    *int64   `parquet:"input_tokens,optional"`
	Output   *int64   `parquet:"output_tokens,optional"`
	Session  *string  `parquet:"provided_session_id,optional"`
	Poor     *int64   `parquet:"poor_man_session_id,optional"`
	Duration *float64 `parquet:"duration_e2e_ms,optional"`
	Hashes   []uint64 `parquet:"total_hashes,list"`
	Block    *int32   `parquet:"block_size,optional"`
	Cached   *int64   `parquet:"cached_tokens_reference,optional"`
}

const epoch = 1_700_000_000_000 // milliseconds

// asks is a row at an instant in milliseconds.
func asks(at int64, text string, input, output int64) completion {
	return completion{At: new(epoch + at), Prompt: &text, Input: &input, Output: &output}
}

// in makes the row one of a session, answered after so many milliseconds.
func (c completion) in(session string, took float64) completion {
	c.Session, c.Duration = &session, &took
	return c
}

// hinted gives the row the blocks of its prompt.
func (c completion) hinted(size int32, ids ...uint64) completion {
	c.Hashes, c.Block = ids, &size
	return c
}

// parquetBytes is a Parquet file of these rows.
func parquetBytes[T any](tb testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out, options...)
	_, err := w.Write(rows)
	if err = errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func completions(tb testing.TB, rows ...completion) string {
	tb.Helper()
	return written(tb, "t.parquet", string(parquetBytes(tb, rows)))
}

func TestRecordedCompletionsAreAskedVerbatim(t *testing.T) {
	t.Parallel()
	path := completions(t,
		asks(0, "Q: 2+2?", 6, 3).in("s9", 400).hinted(64, 5, 1<<63+1),
		asks(100, "alone", 2, 0),
		asks(1500, "Q: 3+3?", 8, 2).in("s9", 100).hinted(64, 5, 1<<63+1, 7),
		asks(1550, "too early", 9, 2).in("s9", 100),
	)
	row := func(at time.Duration, text string, input, output int, extra map[string]any) told {
		extra["min_tokens"] = output
		return told{At: epoch*ms + at, HasAt: true, Prompt: said(text), SelfContained: true, InputTokens: input, OutputTokens: output, Extra: extra}
	}
	first := row(0, "Q: 2+2?", 6, 3, map[string]any{"hash_ids": []uint64{5, 1<<63 + 1}, "block_size": int64(64)})
	second := row(1500*ms, "Q: 3+3?", 8, 2, map[string]any{"hash_ids": []uint64{5, 1<<63 + 1, 7}, "block_size": int64(64)})
	second.Delay = 1100 * ms
	third := row(1550*ms, "too early", 9, 2, map[string]any{})
	rows := []told{first, second, third}
	for i := range rows {
		rows[i].Session = "s9"
	}
	want := append([]talk{{Session: "s9", Rows: rows}}, standing(row(100*ms, "alone", 2, 1, map[string]any{}))...)
	c := config(dataset.BasetenTrace, path)
	got := everything(t, c)
	if diff := cmp.Diff(want, got, placeless()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := got[0].Rows[1].Position(); at != path+":3" {
		t.Errorf("the third row stands at %q", at)
	}

	c.ForceMinTokens, c.KVHints = false, false
	for _, row := range everything(t, c)[0].Rows {
		if len(row.Extra) != 0 {
			t.Errorf("with neither hints nor forced lengths the body has %v", row.Extra)
		}
	}
	c.ForceMinTokens, c.MaxOutputTokens = true, 2
	if row := everything(t, c)[0].Rows[0]; row.OutputTokens != 2 || row.Extra["min_tokens"] != 2 {
		t.Errorf("at most 2 tokens are asked for and at least %v", row.Extra["min_tokens"])
	}
}

func TestSessionsAreThoseOfTheFirstColumnThatThereIs(t *testing.T) {
	t.Parallel()
	type poor struct {
		At     int64    `parquet:"timestamp_start_unix_ms"`
		Prompt string   `parquet:"prompt"`
		Input  int32    `parquet:"input_tokens"`
		Output uint32   `parquet:"output_tokens"`
		Poor   *float64 `parquet:"poor_man_session_id,optional"`
	}
	rows := []poor{{At: 1, Prompt: "a", Poor: new(7.)}, {At: 2, Prompt: "b"}, {At: 3, Prompt: "c", Poor: new(7.)}}
	var got []string
	for _, c := range everything(t, config(dataset.BasetenTrace, written(t, "t.parquet", string(parquetBytes(t, rows))))) {
		got = append(got, fmt.Sprintf("%s %d", c.Session, len(c.Rows)))
	}
	if want := []string{"7 2", " 1"}; !cmp.Equal(want, got) {
		t.Errorf("got %q, want %q", got, want)
	}
	both := []completion{asks(1, "a", 1, 1).in("x", 1), asks(2, "b", 1, 1), asks(3, "c", 1, 1)}
	both[1].Poor, both[2].Poor = new(int64(4)), new(int64(4))
	if got := everything(t, config(dataset.BasetenTrace, completions(t, both...))); len(got) != 3 {
		t.Errorf("got %d sessions, want 3: the provided ids go before the others", len(got))
	}
}

func TestTurnsAreReplayedAsTheTimingSays(t *testing.T) {
	t.Parallel()
	path := completions(t,
		asks(1000, "1", 1, 1).in("a", 300), asks(1200, "2", 1, 1).in("b", 100), asks(2000, "3", 1, 1).in("a", 300),
		asks(1900, "4", 1, 1), asks(2100, "5", 1, 1).in("a", 300),
	)
	for timing, want := range map[dataset.TurnTiming][]string{
		dataset.TurnsRecorded: {"1 a 0s", "2 b 200ms", "4  900ms", "3 a 1s", "5 a 1.1s"},
		dataset.TurnsStrict:   {"1  0s", "2  200ms", "4  900ms", "3  1s", "5  1.1s"},
		dataset.TurnsPaused:   {"1 a 0s", "3 a after 700ms", "5 a after 0s", "2 b 200ms", "4  900ms"},
	} {
		t.Run(string(timing), func(t *testing.T) {
			t.Parallel()
			c := config(dataset.BasetenTrace, path)
			c.TurnTiming = timing
			if errs := c.Validate("dataset"); errs != nil {
				t.Fatal(errs)
			}
			r, err := open(t, c).Recording()
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				var got []string
				for range want {
					row, err := r.Next()
					if err != nil {
						t.Fatal(err)
					}
					when := "after " + row.Delay.String()
					if row.HasAt {
						when = row.At.String()
					}
					got = append(got, fmt.Sprintf("%s %s %s", row.Prompt.Text(), row.Session, when))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if _, err := r.Next(); !errors.Is(err, io.EOF) {
					t.Errorf("behind the last row stands %v", err)
				}
			}
		})
	}
	c := config(dataset.MooncakeTrace, path)
	c.TurnTiming = dataset.TurnsPaused
	if errs := c.Validate("dataset"); len(errs) != 1 {
		t.Errorf("a timing for another format gives %v, want one error", errs)
	}
}

func TestRowsOfATraceThatAreWrongAreNamedByNumber(t *testing.T) {
	t.Parallel()
	good := asks(0, "ok", 1, 1)
	with := func(change func(*completion)) completion {
		row := asks(0, "ok", 1, 1).in("s", 1).hinted(64, 1)
		change(&row)
		return row
	}
	path := completions(t, good,
		with(func(c *completion) { c.At = nil }),
		with(func(c *completion) { c.At = new(int64(-1)) }),
		with(func(c *completion) { c.At = new(int64(1) << 62) }),
		with(func(c *completion) { c.Prompt = nil }),
		with(func(c *completion) { c.Prompt = new("\xff") }),
		with(func(c *completion) { c.Input = nil }),
		with(func(c *completion) { c.Output = new(int64(-4)) }),
		with(func(c *completion) { c.Duration = new(-1.) }),
		with(func(c *completion) { c.Duration = new(1.5) }),
		with(func(c *completion) { c.Block = new(int32(0)) }),
		good,
	)
	summary, errs := dataset.Check(config(dataset.BasetenTrace, path), 100)
	var got []string
	for _, err := range errs {
		got = append(got, strings.TrimPrefix(err.Error(), path+":"))
	}
	want := []string{
		"2: timestamp_start_unix_ms: is missing",
		"3: timestamp_start_unix_ms: must be between 0 and 9223372036854, got -1",
		"4: timestamp_start_unix_ms: must be between 0 and 9223372036854, got 4611686018427387904",
		"5: prompt: is missing or empty",
		"6: prompt: is not UTF-8",
		"7: input_tokens: is missing",
		"8: output_tokens: must be between 0 and 10000000, got -4",
		"9: duration_e2e_ms: must be between 0 and 2592000000, got -1",
		`10: column "duration_e2e_ms": 1.5 is not a whole number`,
		"11: block_size: must be positive, got 0",
	}
	if diff := cmp.Diff(want, got); diff != "" || summary.Turns != 2 {
		t.Errorf("%d turns are left, want 2; errors (-want +got):\n%s", summary.Turns, diff)
	}
}

func TestFilesThatAreNoTracesAreRefused(t *testing.T) {
	t.Parallel()
	type other struct {
		Prompt string `parquet:"prompt"`
		Input  struct {
			A, B int64
		} `parquet:"input_tokens"`
	}
	for name, test := range map[string]struct{ content, want string }{
		"other columns": {
			string(parquetBytes(t, []other{{}})),
			`column "timestamp_start_unix_ms" is missing, column "input_tokens" is a structure, not a value or a list of values, column "output_tokens" is missing`,
		},
		"an Arrow file": {"ARROW1\x00\x00 and more", "convert it to Parquet"},
		"lines of JSON": {`{"prompt":"x"}` + "\n", `corrupt Parquet file: it begins with "{\"pr" instead of "PAR1"`},
		"nothing":       {"", "0 bytes are too few"},
		"no rows":       {string(parquetBytes(t, []completion{})), "holds nothing that can be asked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := written(t, "t.parquet", test.content)
			_, err := dataset.Open(config(dataset.BasetenTrace, path), dataset.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestRowGroupThatIsCorruptIsPassedOver(t *testing.T) {
	t.Parallel()
	var rows []completion
	for i := range 30 {
		rows = append(rows, asks(int64(i), fmt.Sprintf("prompt number %d", i), 1, 1))
	}
	data := parquetBytes(t, rows, parquet.MaxRowsPerRowGroup(10), parquet.Compression(&parquet.Snappy))
	copy(data[secondGroup(t, data):], "\xff\xff\xff\xff")
	path := written(t, "t.parquet", string(data))
	summary, errs := dataset.Check(config(dataset.BasetenTrace, path), 100)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "t.parquet:11: ") || !strings.Contains(errs[0].Error(), "up to 20 are passed over") {
		t.Errorf("got %v, want one error about rows 11 to 20", errs)
	}
	if summary.Turns != 20 {
		t.Errorf("%d rows are left, want 20", summary.Turns)
	}
}

// secondGroup is a place in the body of the page of prompts of the second row group.
func secondGroup(t *testing.T, data []byte) int {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	prompts := f.Metadata().RowGroups[1].Columns[1].MetaData
	return int(prompts.DataPageOffset + prompts.TotalCompressedSize - 20)
}

// The file is pyarrow's: see testdata/good/baseten_trace.py.
func TestForeignTracesAreRead(t *testing.T) {
	t.Parallel()
	c := config(dataset.BasetenTrace, "testdata/good/baseten_trace.parquet")
	got := everything(t, c)
	var rows []told
	for _, c := range got {
		rows = append(rows, c.Rows...)
	}
	if len(got) != 7 || len(rows) != 40 {
		t.Fatalf("got %d sessions and %d rows, want 7 and 40", len(got), len(rows))
	}
	want := told{
		Session: "s1", At: (epoch + 8000) * ms, HasAt: true, Delay: 5900 * ms, Prompt: said("prompt 8 é"), SelfContained: true, InputTokens: 8, OutputTokens: 8,
		Extra: map[string]any{"min_tokens": 8, "hash_ids": []uint64{1, 2, 3, 4, 5, 6, 7, 8}, "block_size": int64(64)},
	}
	if diff := cmp.Diff(want, got[1].Rows[1], placeless()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnyOrderOfATraceAsksAllOfIt(t *testing.T) {
	t.Parallel()
	c := config(dataset.BasetenTrace, "testdata/good/baseten_trace.parquet")
	c.Sampling = dataset.Shuffle
	d := open(t, c)
	got := map[string]int{}
	for range 14 {
		conversation, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		got[conversation.Session] += len(conversation.Rows)
	}
	want := map[string]int{"s0": 12, "s1": 12, "s2": 12, "s3": 12, "s4": 12, "s5": 10, "s6": 10}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("two passes ask (-want +got):\n%s", diff)
	}
}

func FuzzBaseten(f *testing.F) {
	f.Add(parquetBytes(f, []completion{asks(0, "a", 1, 1).in("s", 1).hinted(64, 1), asks(5, "b", 1, 0)}))
	f.Add(parquetBytes(f, []completion{asks(0, "a", 1, 1), {}}, parquet.DataPageVersion(1), parquet.Compression(&parquet.Snappy)))
	path := filepath.Join(f.TempDir(), "fuzzed")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := dataset.Open(config(dataset.BasetenTrace, path), dataset.Options{})
		for range 3 {
			if err != nil {
				break
			}
			_, err = d.Next()
		}
		var positioned *dataset.Error
		if err != nil && (!errors.As(err, &positioned) || positioned.File != path) {
			t.Fatalf("%v has no place", err)
		}
		if d != nil {
			_ = d.Close()
		}
	})
}

func BenchmarkBaseten(b *testing.B) {
	rows := make([]completion, 5000)
	text := strings.Repeat("word ", 2000)
	for i := range rows {
		rows[i] = asks(int64(i), fmt.Sprint(i, text), 2000, 100).in(fmt.Sprint("s", i/5), 10).hinted(64, 1, 2, 3, 4, 5, 6, 7, 8)
	}
	d := open(b, config(dataset.BasetenTrace, completions(b, rows...)))
	r, err := d.Recording()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := r.Next(); err != nil && !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}
