package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJoinPutsTheSidesTogetherByRequest(t *testing.T) {
	t.Parallel()
	const truth = `{"id":"a","arrived_ns":2000250000,"ttft":0.05,"itl":0.01,"latency":0.08,"output_tokens":4}` + "\n"
	const ours = `{"metadata":{"x_request_id":"a","request_start_ns":2000000000},"metrics":{"time_to_first_token":{"value":50.5},"inter_token_latency":{"value":10.1},` +
		`"request_latency":{"value":80.8},"output_sequence_length":{"value":4}}}` + "\n"
	for name, test := range map[string]struct {
		truth, ours string
		want        []pair
		wantErr     string
	}{
		"milliseconds on both sides": {
			truth: truth, ours: ours,
			want: []pair{{truth: latencies{50, 10, 80}, ours: latencies{50.5, 10.1, 80.8}, there: .25, back: .25}},
		},
		"a request that was not recorded": {truth: truth + truth, ours: ours, wantErr: "the server knows 2 requests, the exporter recorded 1"},
		"a request that was never sent":   {truth: truth, ours: strings.Replace(ours, `"a"`, `"b"`, 1), wantErr: `the server had no request "b"`},
		"tokens that were not sent":       {truth: truth, ours: strings.Replace(ours, `"value":4}`, `"value":5}`, 1), wantErr: `request "a": 5 output tokens recorded, 4 sent`},
		"nothing at all":                  {wantErr: "the server knows 0 requests, the exporter recorded 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(test.truth)) }))
			defer server.Close()
			records := filepath.Join(t.TempDir(), "records.jsonl")
			if err := os.WriteFile(records, []byte(test.ours), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := join(t.Context(), server.URL, records, 0)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if message != test.wantErr {
				t.Fatalf("got error %q, want %q", message, test.wantErr)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(pair{}, latencies{})); diff != "" {
				t.Errorf("pairs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTableShowsTheErrorOfTheDistributionAndOfSingleRequests(t *testing.T) {
	t.Parallel()
	run := []pair{
		{truth: latencies{ttft: 10}, ours: latencies{ttft: 12}},
		{truth: latencies{ttft: 20}, ours: latencies{ttft: 18}},
	}
	var out strings.Builder
	if err := table(&out, run, run); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{
		{"TTFT", "mean", "15.000", "15.000", "+0.000"},
		{"TTFT", "p99", "19.900", "17.940", "-1.960"},
		{"TTFT", "p50", "of", "|error|", "2.000"},
	} {
		if !has(out.String(), want) {
			t.Errorf("no line with %q in\n%s", want, out.String())
		}
	}
}

// has tells whether a line begins with the words.
func has(text string, words []string) bool {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) >= len(words) && cmp.Equal(fields[:len(words)], words) {
			return true
		}
	}
	return false
}
