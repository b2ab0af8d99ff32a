package dataset_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// written makes a file of its own for a test.
func written(tb testing.TB, name, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// zipped compresses a text.
func zipped(tb testing.TB, content string) string {
	tb.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(content)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func open(tb testing.TB, c *dataset.Config) *dataset.Dataset {
	tb.Helper()
	d, err := dataset.Open(c, dataset.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	return d
}

// texts are the first texts of the rows of the next n conversations, joined by + within one.
func texts(tb testing.TB, d *dataset.Dataset, n int) []string {
	tb.Helper()
	out := make([]string, n)
	for i := range out {
		c, err := d.Next()
		if err != nil {
			tb.Fatal(err)
		}
		var rows []string
		for j := range c.Rows {
			rows = append(rows, c.Rows[j].Prompt.Text())
		}
		out[i] = strings.Join(rows, "+")
	}
	return out
}

func TestLinesAreReadHoweverTheyEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, content string }{
		{"with line feeds", "a.jsonl", "{\"text\":\"1\"}\n{\"text\":\"2\"}\n"},
		{"with carriage returns", "a.jsonl", "{\"text\":\"1\"}\r\n{\"text\":\"2\"}\r\n"},
		{"without an end of the last line", "a.jsonl", "{\"text\":\"1\"}\n{\"text\":\"2\"}"},
		{"with blank lines around them", "a.jsonl", "\n \t\r\n{\"text\":\"1\"}\n\n\n{\"text\":\"2\"}\n\n \n"},
		{"behind a byte order mark", "a.jsonl", "\ufeff{\"text\":\"1\"}\n{\"text\":\"2\"}\n"},
		{"compressed", "a.jsonl.gz", zipped(t, "{\"text\":\"1\"}\n{\"text\":\"2\"}")},
		{"compressed in two members", "a.jsonl.gz", zipped(t, "{\"text\":\"1\"}\n") + zipped(t, "{\"text\":\"2\"}\n")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := texts(t, open(t, config(dataset.SingleTurn, written(t, test.file, test.content))), 5)
			if diff := cmp.Diff([]string{"1", "2", "1", "2", "1"}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatCannotBeOpenedIsSaid(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, test := range []struct {
		name   string
		format dataset.Format
		file   string
		want   string
	}{
		{"a file that is not there", dataset.SingleTurn, filepath.Join(folder, "a"), "a: no such file or directory"},
		{"a folder where the format has none", dataset.SingleTurn, folder, ": is a folder, the format single_turn needs a file"},
		{"a folder without files of the format", dataset.RawPayload, folder, ": has no files that end in .jsonl"},
		{"a device", dataset.SingleTurn, "/dev/null", "/dev/null: is not a regular file"},
		{"an empty file", dataset.SingleTurn, written(t, "a.jsonl", "\n\n"), "a.jsonl: holds nothing that can be asked"},
		{"a first row that is wrong", dataset.SingleTurn, written(t, "a.jsonl", "\n{}\n{\"text\":\"1\"}"), "a.jsonl:2: has nothing to say: needs one of text, image, audio, video or their plurals"},
		{"a header alone", dataset.BurstGPTTrace, written(t, "a.csv", "Timestamp,Request tokens,Response tokens\n"), "a.csv: holds nothing that can be asked"},
		{"a wrong header", dataset.BurstGPTTrace, written(t, "a.csv", "Timestamp,Response tokens\n1,2\n"), "a.csv:1: the header has no column \"Request tokens\""},
		{"a wrong row behind a header", dataset.BurstGPTTrace, written(t, "a.csv", "Timestamp,Request tokens,Response tokens\n1,2,x\n"), "a.csv:2: Response tokens: must be a number, got \"x\""},
		{"a file that is not compressed", dataset.SingleTurn, written(t, "a.gz", "{\"text\":\"1\"}"), "a.gz: decompress: gzip: invalid header"},
		{"a document without the list", dataset.InputsJSON, written(t, "a.json", `{"date":[]}`), "a.json:1: has no list \"data\""},
		{"a document with something else in its place", dataset.InputsJSON, written(t, "a.json", "{\n\"data\":{}}"), "a.json:2: is not JSON of this format: expected '[', got '{'"},
		{"an empty document", dataset.InputsJSON, written(t, "a.json", ``), "a.json:1: is not JSON: it ends too early"},
		{"an empty list", dataset.ShareGPT, written(t, "a.json", ` [ ] `), "a.json: holds nothing that can be asked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := dataset.Open(config(test.format, test.file), dataset.Options{})
			if err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got %v, want …%s", err, test.want)
			}
		})
	}
}

func TestNothingWithinTheLimitsIsAnErrorAndNotAnEndlessSearch(t *testing.T) {
	t.Parallel()
	for _, sampling := range []dataset.Sampling{dataset.Sequential, dataset.Shuffle, dataset.Random} {
		c := config(dataset.MooncakeTrace, written(t, "a.jsonl", `{"input_length":10}`))
		c.MaxInputTokens, c.Sampling = 9, sampling
		d, err := dataset.Open(c, dataset.Options{})
		if err == nil {
			_, err = d.Next()
		}
		if err == nil || !strings.HasSuffix(err.Error(), "a.jsonl: holds nothing that can be asked") {
			t.Errorf("%s: got %v", sampling, err)
		}
	}
}

func TestLineThatIsTooLongIsPassedOver(t *testing.T) {
	t.Parallel()
	long := `{"text":"` + strings.Repeat("a", 64<<20) + `"}`
	c := config(dataset.SingleTurn, written(t, "a.jsonl", "{\"text\":\"1\"}\n"+long+"\n{\"text\":\"2\"}\n"))
	if got, want := texts(t, open(t, c), 3), []string{"1", "2", "1"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	_, errs := dataset.Check(c, 10)
	if len(errs) != 1 || !strings.HasSuffix(errs[0].Error(), "a.jsonl:2: the line is longer than 64 MiB") {
		t.Error(errs)
	}
	c = config(dataset.ShareGPT, written(t, "a.json", "["+good+",\n"+long+","+good+"]"))
	summary, errs := dataset.Check(c, 10)
	if len(errs) != 1 || !strings.HasSuffix(errs[0].Error(), "a.json:2: is longer than 64 MiB") || summary.Conversations != 2 {
		t.Error(errs, summary)
	}
}

const good = `{"id":"c1","conversations":[{"from":"human","value":"What is dew, really?"},{"from":"gpt","value":"Water that condenses."}]}`

func TestCompressedFileThatIsCutOffGivesWhatItHas(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&content, "{\"text\":\"%d\"}\n", i*i)
	}
	whole := zipped(t, content.String())
	c := config(dataset.SingleTurn, written(t, "a.jsonl.gz", whole[:len(whole)/2]))
	summary, errs := dataset.Check(c, 10)
	if len(errs) != 1 || !strings.HasSuffix(errs[0].Error(), ": read: unexpected EOF") {
		t.Error(errs)
	}
	if summary.Conversations < 5000 {
		t.Errorf("got %d conversations", summary.Conversations)
	}
	if got := texts(t, open(t, c), 3); !cmp.Equal(got, []string{"0", "1", "4"}) {
		t.Error(got)
	}
}

func TestFilesOfAFolderAreReadByName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"b.jsonl": "", "c/d.jsonl": `{"messages":[],"model":"d"}`, "a.jsonl": `{"messages":[],"model":"a"}`, "e.txt": "{}",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, config(dataset.RawPayload, folder))
	var got []string
	for range 3 {
		c, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Session+" "+c.Rows[0].Model+" "+filepath.Base(c.Rows[0].Position()))
	}
	if diff := cmp.Diff([]string{"a a a.jsonl:1", "d d d.jsonl:1", "a a a.jsonl:1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOnlyWhatIsAskedIsRead puts a mistake behind the place up to which a reader may look: as long as nobody gets there, nobody sees it.
// Behind the mistake the file goes on for a terabyte.
func TestOnlyWhatIsAskedIsRead(t *testing.T) {
	t.Parallel()
	const row = "{\"input_length\":1000,\"hash_ids\":[1,2]}\n"
	for _, test := range []struct {
		name   string
		format dataset.Format
		first  string
		rows   int
	}{
		{"a format of which each row stands alone", dataset.BurstGPTTrace, "Timestamp,Request tokens,Response tokens\n1,2,3\n", 0},
		{"a format of sessions, in a row without one", dataset.MooncakeTrace, row, 0},
		{"a format of sessions", dataset.MooncakeTrace, "{\"session_id\":\"a\",\"input_length\":1}\n", 16384},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := written(t, "a", test.first+strings.Repeat(row, test.rows)+"mistake\n")
			if err := os.Truncate(path, 1<<40); err != nil {
				t.Skipf("no sparse files: %v", err)
			}
			d := open(t, config(test.format, path))
			if _, err := d.Next(); err != nil {
				t.Fatal(err)
			}
			if n := d.Skipped(); n != 0 {
				t.Errorf("read on to the mistake: skipped %d rows", n)
			}
		})
	}
}

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	row := `{"session_id":"%d","timestamp":%d,"input_length":100000,"hash_ids":[` + strings.TrimSuffix(strings.Repeat("1234567,", 190), ",") + "]}\n"
	var content strings.Builder
	for i := range 24000 { // 38 MiB
		fmt.Fprintf(&content, row, i/2, i)
	}
	path := written(t, "a.jsonl", content.String())
	content.Reset()
	c := config(dataset.MooncakeTrace, path)
	d := open(t, c)
	r, err := d.Recording()
	if err != nil {
		t.Fatal(err)
	}
	before := held()
	most := uint64(0)
	for i := range 20000 {
		_, err := d.Next()
		if err == nil {
			_, err = r.Next()
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%5000 == 0 {
			most = max(most, held())
		}
	}
	if grown := most - min(most, before); grown > 72<<20 { // two windows of 16 MiB of text, of which the numbers alone are the double
		t.Errorf("holds %d MiB", grown>>20)
	}
}

// held is the memory that is in use.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestRowThatWouldGrowInMemoryIsRefused(t *testing.T) {
	t.Parallel()
	many := func(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	var keys strings.Builder
	for i := range 4097 {
		fmt.Fprintf(&keys, `,"%d":0`, i)
	}
	for _, test := range []struct{ name, row, want string }{
		{"by messages", `{"messages":[` + many(`{"role":"user"}`, 65537) + `]}`, "messages: has more than 65536 elements"},
		{"by blocks", `{"input_length":1000000,"hash_ids":[` + many("1", 1<<20+1) + `]}`, "hash_ids: has more than 1048576 elements"},
		{"by keys", `{"input_length":1` + keys.String() + `}`, "has more than 4096 keys"},
		{"by fields for the body", `{"input_length":1,"extra":{"a":[` + many("1", 1<<19) + `]}}`, "extra: is longer than 1 MiB"},
		{"by the name of its session", `{"input_length":1,"session_id":"` + strings.Repeat("a", 1025) + `"}`, "session_id: is longer than 1024 bytes"},
		{"by the prompt that is made of it", `{"input_length":10000001}`, "input_length: must be at most 10000000 tokens, got 10000001"},
		{"by depth", `{"input_length":1,"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "is not JSON: invalid character '[' exceeded max depth"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := dataset.Open(config(dataset.MooncakeTrace, written(t, "a", test.row)), dataset.Options{})
			if err == nil || !strings.HasSuffix(err.Error(), "a:1: "+test.want) {
				t.Errorf("got %v, want …%s", err, test.want)
			}
		})
	}
}

func TestMediaOfARowAreBounded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 33<<20)...)
	if err := os.WriteFile(filepath.Join(folder, "a.png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		format    dataset.Format
		row, want string
	}{
		{dataset.SingleTurn, `{"image":"a.png"}`, ""},
		{dataset.SingleTurn, `{"image":"` + folder + `/a.png"}`, ""},
		{dataset.SingleTurn, `{"images":["a.png","a.png"]}`, "images[1]: the media of a turn are larger than 64 MiB"},
		{dataset.MultiTurn, `{"turns":[{"image":"a.png"},{"image":"a.png"}]}`, "turns[1]: the media of the conversation are larger than 64 MiB"},
		{dataset.SingleTurn, `{"image":"link"}`, `image: file "link": path escapes from parent`},
	} {
		file := filepath.Join(folder, "rows")
		if err := os.WriteFile(file, []byte(test.row), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := dataset.Open(config(test.format, file), dataset.Options{})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasSuffix(err.Error(), "rows:1: "+test.want)) {
			t.Errorf("%s: got %v, want %s", test.row, err, test.want)
		}
	}
}
