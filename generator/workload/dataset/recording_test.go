package dataset_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// pass reads one pass of a recording: instant, delay and session of each row.
func pass(t *testing.T, r *dataset.Recording) []string {
	t.Helper()
	var out []string
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		at := "-"
		if row.HasAt {
			at = row.At.String()
		}
		out = append(out, fmt.Sprintf("%s +%v %s:%d", at, row.Delay, row.Session, row.Line))
	}
}

func TestRecordingIsInTheOrderOfTimeFromItsFirstRow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		format  dataset.Format
		content string
		want    []string
	}{
		{
			"rows out of order and rows at the same instant", dataset.MooncakeTrace,
			`{"timestamp":1500,"input_length":1}` + "\n" + `{"timestamp":1000.5,"input_length":1}` + "\n" + `{"timestamp":1500,"input_length":2}` + "\n",
			[]string{"0s +0s :2", "499.5ms +0s :1", "499.5ms +0s :3"},
		},
		{
			"rows of a session without an instant follow it", dataset.MooncakeTrace,
			`{"timestamp":2000,"session_id":"a","input_length":1,"delay":7}` + "\n" + `{"session_id":"a","input_length":1,"delay":50}` + "\n" +
				`{"timestamp":1000,"session_id":"b","input_length":1}` + "\n" + `{"timestamp":3000,"session_id":"a","input_length":1}` + "\n",
			[]string{"0s +0s b:3", "1s +0s a:1", "- +50ms a:2", "2s +0s a:4"},
		},
		{
			"turns of one row", dataset.MultiTurn,
			`{"session_id":"a","turns":[{"text":"1","timestamp":5000},{"text":"2","timestamp":6000}]}` + "\n" + `{"turns":[{"text":"3","timestamp":5500},{"text":"4","delay":9}]}`,
			[]string{"0s +0s a:1", "500ms +0s recording:2:2", "- +9ms recording:2:2", "1s +0s a:1"},
		},
		{
			"seconds of a table", dataset.BurstGPTTrace,
			"Timestamp,Request tokens,Response tokens\n100,1,1\n100.25,1,1\n",
			[]string{"0s +0s :2", "250ms +0s :3"},
		},
		{
			"requests of conversations keep their instants", dataset.BailianTrace,
			`{"chat_id":1,"parent_chat_id":-1,"timestamp":1,"input_length":1,"output_length":1,"turn":1}` + "\n" +
				`{"chat_id":2,"parent_chat_id":-1,"timestamp":2,"input_length":1,"output_length":1,"turn":1}` + "\n" +
				`{"chat_id":3,"parent_chat_id":1,"timestamp":3,"input_length":1,"output_length":1,"turn":2}`,
			[]string{"0s +0s 1:1", "1s +0s 2:2", "2s +0s 1:3"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, config(test.format, written(t, "recording", test.content)))
			r, err := d.Recording()
			if err != nil {
				t.Fatal(err)
			}
			for n := range 2 {
				if diff := cmp.Diff(test.want, pass(t, r)); diff != "" {
					t.Errorf("pass %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

func TestWhatHasNoInstantsIsNotReplayed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		format dataset.Format
		file   string
		want   string
	}{
		{"a format without times", dataset.RawPayload, "testdata/good/raw_payload.jsonl", "raw_payload.jsonl: cannot be replayed: the format raw_payload has no instants"},
		{"a file without times", dataset.MooncakeTrace, written(t, "a", `{"input_length":1}`), "a:1: has no instants to replay: the first row has no timestamp"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := open(t, config(test.format, test.file)).Recording(); err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got %v, want …%s", err, test.want)
			}
		})
	}
}

func TestRowsWithoutAPlaceInTheRecordingAreNamed(t *testing.T) {
	t.Parallel()
	row := func(at int) string { return fmt.Sprintf("{\"timestamp\":%d,\"input_length\":1}\n", at) }
	content := row(1000) + `{"input_length":1}` + "\n" + strings.Repeat(row(2000), 16384) + row(1999) + row(3000)
	c := config(dataset.MooncakeTrace, written(t, "a.jsonl", content))
	var told []string
	d, err := dataset.Open(c, dataset.Options{OnSkip: func(err error) { told = append(told, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, err := d.Recording()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n := len(pass(t, r)); n != 16386 {
			t.Errorf("got %d rows", n)
		}
	}
	path := c.File
	want := []string{
		path + ":2: the row has no place in the recording: it has no timestamp, and no row of its session stands before it",
		path + ":16387: the row has no place in the recording: it is 1ms earlier than one that stands more than the look-ahead before it",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	summary, errs := dataset.Check(c, 10)
	if len(errs) > 0 || !summary.Timed || summary.Untimely != 2 || len(summary.UntimelyErrors) != 2 || summary.Span != 2*time.Second {
		t.Errorf("%+v %v", summary, errs)
	}
}

func TestSessionOfTwoMannersIsNotReplayed(t *testing.T) {
	t.Parallel()
	c := config(dataset.MooncakeTrace, written(t, "a", `{"timestamp":1,"session_id":"a","input_length":1}`+"\n"+`{"timestamp":2,"session_id":"a","payload":{"b":1}}`))
	d := open(t, c)
	r, err := d.Recording()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0s +0s a:1"}, pass(t, r)); diff != "" || d.Skipped() != 1 {
		t.Errorf("skipped %d (-want +got):\n%s", d.Skipped(), diff)
	}
}
