package dataset_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// lengths is what is asked of a file: the lengths and delays of the rows of each conversation.
func lengths(t *testing.T, c *dataset.Config) []string {
	t.Helper()
	var out []string
	for _, conversation := range everything(t, c) {
		var rows []string
		for _, row := range conversation.Rows {
			rows = append(rows, fmt.Sprintf("%d/%d+%v", row.InputTokens, row.OutputTokens, row.Delay))
		}
		out = append(out, strings.Join(rows, " "))
	}
	return out
}

func TestLimitsLeaveOutAndShorten(t *testing.T) {
	t.Parallel()
	content := `{"input_length":100,"output_length":10,"session_id":"a","delay":5}
{"input_length":200,"output_length":20,"session_id":"a","delay":3000}
{"input_length":300,"output_length":30,"session_id":"b"}
{"payload":{"max_tokens":40,"a":1}}
`
	for _, test := range []struct {
		name string
		set  func(*dataset.Config)
		want []string
		left int64
	}{
		{"without any", func(*dataset.Config) {}, []string{"100/10+0s 200/20+3s", "300/30+0s", "0/40+0s"}, 0},
		{"of the prompt", func(c *dataset.Config) { c.MaxInputTokens = 199 }, []string{"100/10+0s", "0/40+0s"}, 2},
		{"of the prompt, of the first turn", func(c *dataset.Config) { c.MaxInputTokens = 99 }, []string{"0/40+0s"}, 3},
		{"of the answer, but not of a recorded body", func(c *dataset.Config) { c.MaxOutputTokens = 15 }, []string{"100/10+0s 200/15+3s", "300/15+0s", "0/40+0s"}, 0},
		{"of the context, history included", func(c *dataset.Config) { c.MaxContextTokens = 330 }, []string{"100/10+0s 200/20+3s", "300/30+0s", "0/40+0s"}, 0},
		{"of the context, one token less", func(c *dataset.Config) { c.MaxContextTokens = 329 }, []string{"0/40+0s"}, 3},
		{"without delays", func(c *dataset.Config) { c.IgnoreDelays = true }, []string{"100/10+0s 200/20+0s", "300/30+0s", "0/40+0s"}, 0},
		{"of delays", func(c *dataset.Config) { c.DelayCap = 2 * time.Second }, []string{"100/10+0s 200/20+2s", "300/30+0s", "0/40+0s"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := config(dataset.MooncakeTrace, written(t, "a", content))
			test.set(c)
			if diff := cmp.Diff(test.want, lengths(t, c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if summary, _ := dataset.Check(c, 1); summary.Filtered != test.left {
				t.Errorf("left out %d rows, want %d", summary.Filtered, test.left)
			}
		})
	}
}

func TestContextOfATurnThatRepeatsItsHistoryIsItsOwn(t *testing.T) {
	t.Parallel()
	row := `{"chat_id":%d,"parent_chat_id":%d,"timestamp":1,"input_length":%d,"output_length":10,"turn":%d}` + "\n"
	c := config(dataset.BailianTrace, written(t, "a", fmt.Sprintf(row, 1, -1, 100, 1)+fmt.Sprintf(row, 2, 1, 200, 2)))
	summary, errs := dataset.Check(c, 1)
	if len(errs) > 0 || summary.MaxContext != 210 {
		t.Error(summary, errs)
	}
}

func TestSampleKeepsWholeSessionsAndAlwaysTheSame(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&content, "{\"timestamp\":%d,\"session_id\":\"s%d\",\"input_length\":1}\n", i, i%2000)
	}
	c := config(dataset.MooncakeTrace, written(t, "a", content.String()))
	c.SessionSampleRatio = .25
	summary, errs := dataset.Check(c, 1)
	if len(errs) > 0 || summary.Turns != 2*summary.Conversations || summary.Filtered != int64(4000-summary.Turns) {
		t.Errorf("%+v %v", summary, errs)
	}
	if got := float64(summary.Conversations); math.Abs(got-500) > 100 { // five standard deviations
		t.Errorf("kept %v of 2000 sessions", got)
	}
	kept := map[string]bool{}
	for _, conversation := range everything(t, c) {
		kept[conversation.Session] = true
	}
	r, err := open(t, c).Recording()
	if err != nil {
		t.Fatal(err)
	}
	for range summary.Turns {
		row, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !kept[row.Session] {
			t.Errorf("the recording has session %s, the conversations have not", row.Session)
		}
	}
}

func TestCheckCountsWhatADatasetHolds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format dataset.Format
		file   string
		want   dataset.Summary
	}{
		{dataset.MooncakeTrace, "testdata/good/mooncake_trace.jsonl", dataset.Summary{
			Conversations: 8, Turns: 10, InputTokens: 1100 + 1536 + 600 + 512 + 1000 + 512 + 100, OutputTokens: 60 + 1 + 4 + 8 + 50, MaxContext: 1537,
			PayloadStreams: 1, Timed: true, Span: 500 * ms, Untimely: 7,
		}},
		{dataset.RawPayload, "testdata/good/raw_payload.jsonl", dataset.Summary{
			Conversations: 2, Turns: 2, OutputTokens: 4, MaxContext: 4, PayloadStreams: 1, PayloadsWhole: 1,
		}},
		{dataset.BurstGPTTrace, "testdata/good/burst_gpt_trace.csv", dataset.Summary{
			Conversations: 2, Turns: 2, InputTokens: 320, OutputTokens: 50, MaxContext: 345, Timed: true, Span: 1750 * ms, Filtered: 1,
		}},
		{dataset.BailianTrace, "testdata/good/bailian_trace.jsonl", dataset.Summary{
			Conversations: 5, Turns: 8, InputTokens: 40 + 16 + 80 + 70 + 90 + 95 + 5 + 5, OutputTokens: 40, MaxContext: 100, Timed: true, Span: 5750 * ms,
		}},
	} {
		t.Run(string(test.format), func(t *testing.T) {
			t.Parallel()
			got, errs := dataset.Check(config(test.format, test.file), 0)
			if diff := cmp.Diff(test.want, got); diff != "" || len(errs) > 0 {
				t.Errorf("%v (-want +got):\n%s", errs, diff)
			}
		})
	}
}

func TestCheckGivesNoMoreErrorsThanAskedForAndCountsAll(t *testing.T) {
	t.Parallel()
	summary, errs := dataset.Check(config(dataset.MooncakeTrace, "testdata/bad/mooncake_trace.jsonl"), 3)
	if len(errs) != 3 || summary.Skipped != 23 {
		t.Errorf("got %d errors of %d", len(errs), summary.Skipped)
	}
}
