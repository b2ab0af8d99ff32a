package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// start serves script on loopback until the test ends and gives the base URL.
func start(t *testing.T, s script) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = newServer(s).serve(listener)
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return "http://" + listener.Addr().String()
}

func post(t *testing.T, url, id, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Request-ID", id)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func read(t *testing.T, url string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStreamSaysWhatTheTruthSays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, body string
		script     script
		wantEvents []string // what each data line contains
		wantTokens int
	}{
		"chat opens with a role and ends with usage and the marker": {
			path: "/v1/chat/completions", body: `{"model":"m","stream":true,"max_tokens":2,"messages":[],"stream_options":{"include_usage":true}}`,
			script: script{chunk: 1, batch: 1, role: true},
			wantEvents: []string{
				`"role":"assistant"`, `"content":"word "`, `"finish_reason":"length"`, `"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2`, "[DONE]",
			},
			wantTokens: 2,
		},
		"completions bundle tokens and tell the usage so far": {
			path: "/v1/completions", body: `{"model":"m","stream":true,"max_tokens":5,"prompt":"x","stream_options":{"continuous_usage_stats":true}}`,
			script:     script{chunk: 3, batch: 1, role: true, continuous: true},
			wantEvents: []string{`"text":"word word word ","logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":1,"completion_tokens":3`, `"completion_tokens":5`, "[DONE]"},
			wantTokens: 5,
		},
		"all clients get the same where the usage so far is not told": {
			path: "/v1/completions", body: `{"model":"m","stream":true,"max_tokens":2,"prompt":"x","stream_options":{"continuous_usage_stats":true}}`,
			script:     script{chunk: 1, batch: 1},
			wantEvents: []string{`"finish_reason":null}]}`, `"finish_reason":"length"}]}`, "[DONE]"},
			wantTokens: 2,
		},
		"chunks that share a write are events of their own": {
			path: "/v1/completions", body: `{"model":"m","stream":true,"max_tokens":5,"prompt":"x"}`,
			script: script{chunk: 2, batch: 2},
			wantEvents: []string{
				`"text":"word word ","logprobs":null,"finish_reason":null`, `"text":"word word ","logprobs":null,"finish_reason":null`,
				`"text":"word ","logprobs":null,"finish_reason":"length"`, "[DONE]",
			},
			wantTokens: 5,
		},
		"max_completion_tokens beats max_tokens": {
			path: "/v1/chat/completions", body: `{"model":"m","stream":true,"max_tokens":5,"max_completion_tokens":1,"messages":[]}`,
			script:     script{chunk: 1, batch: 1},
			wantEvents: []string{`"finish_reason":"length"`, "[DONE]"},
			wantTokens: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := start(t, test.script)
			resp := post(t, base+test.path, "request-1", test.body)
			defer resp.Body.Close()
			var events []string
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					events = append(events, data)
				}
			}
			if len(events) != len(test.wantEvents) {
				t.Fatalf("got events %q, want %d", events, len(test.wantEvents))
			}
			for i, want := range test.wantEvents {
				if !strings.Contains(events[i], want) {
					t.Errorf("event %d is %s, want %s in it", i, events[i], want)
				}
				if !json.Valid([]byte(events[i])) && events[i] != "[DONE]" {
					t.Errorf("event %d is not JSON: %s", i, events[i])
				}
			}

			var got row
			if err := json.Unmarshal(bytes.TrimSpace(read(t, base+"/truth/requests")), &got); err != nil {
				t.Fatal(err)
			}
			want := row{ID: "request-1", OutputTokens: test.wantTokens}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(row{}, "Arrived", "TTFT", "ITL", "Latency")); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
			if got.Latency < got.TTFT || got.TTFT <= 0 {
				t.Errorf("latency %v and TTFT %v are out of order", got.Latency, got.TTFT)
			}
		})
	}
}

func TestDelaysAreAtLeastThoseOfTheScript(t *testing.T) {
	t.Parallel()
	base := start(t, script{firstToken: 20 * time.Millisecond, gap: 5 * time.Millisecond, chunk: 1, batch: 1})
	resp := post(t, base+"/v1/completions", "", `{"stream":true,"max_tokens":4,"prompt":"x"}`)
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	var known report
	if err := json.Unmarshal(read(t, base+"/truth"), &known); err != nil {
		t.Fatal(err)
	}
	var got row
	if err := json.Unmarshal(bytes.TrimSpace(read(t, base+"/truth/requests")), &got); err != nil {
		t.Fatal(err)
	}
	same := func(v float64) distribution { return distribution{v, v, v} }
	want := report{
		Requests: 1, Completed: 1, PeakOpen: 1, OutputTokens: 4, First: got.Arrived, Last: got.Arrived,
		TTFT: same(got.TTFT), ITL: same(got.ITL), Latency: same(got.Latency),
	}
	if diff := cmp.Diff(want, known, cmpopts.IgnoreFields(report{}, "Timeline")); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	sent := int64(0)
	for _, n := range known.Timeline.Chunks {
		sent += n
	}
	if sent != 4 {
		t.Errorf("the timeline has %d chunks, want 4", sent)
	}
	if got.TTFT < .020 || got.Latency < .035 {
		t.Errorf("got TTFT %v and latency %v, want at least 0.020 and 0.035", got.TTFT, got.Latency)
	}
	if between := got.Latency - got.TTFT; math.Abs(got.ITL-between/3) > 1e-9 {
		t.Errorf("ITL is %v, want a third of %v", got.ITL, between)
	}
}

func TestRefusalsAreJSON(t *testing.T) {
	t.Parallel()
	base := start(t, script{chunk: 1, batch: 1})
	for name, test := range map[string]struct {
		path, body string
		want       int
	}{
		"unknown path":    {"/v2/nothing", `{}`, http.StatusNotFound},
		"broken body":     {"/v1/completions", `{`, http.StatusBadRequest},
		"no token at all": {"/v1/completions", `{"stream":true,"max_tokens":0}`, http.StatusBadRequest},
		"no stream":       {"/v1/completions", `{"max_tokens":1}`, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := post(t, base+test.path, "", test.body)
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != test.want || !json.Valid(b) {
				t.Errorf("got %d %s, want %d and JSON", resp.StatusCode, b, test.want)
			}
		})
	}
}

func TestDistribution(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []float64
		want   distribution
	}{
		"the median of an odd number is the one in the middle": {[]float64{30, 10, 20}, distribution{Mean: 20, P50: 20, P99: 29.8}},
		"that of an even number is between two":                {[]float64{40, 10, 30, 20}, distribution{Mean: 25, P50: 25, P99: 39.7}},
		"that of none is 0":                                    {nil, distribution{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, newDistribution(test.values), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimelineCountsChunksByTheStepInWhichTheyWereSent(t *testing.T) {
	t.Parallel()
	var known truth
	for _, sent := range []struct {
		after  time.Duration
		chunks int
	}{{0, 1}, {timelineStep - 1, 1}, {3 * timelineStep, 8}, {timelineSteps * timelineStep, 5}} {
		known.sent(known.start.Add(sent.after), sent.chunks, sent.chunks)
	}
	got := known.report().Timeline.Chunks
	if diff := cmp.Diff([]int64{2, 0, 0, 8}, got[:4]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if last := got[len(got)-1]; len(got) != timelineSteps || last != 5 {
		t.Errorf("got %d steps, the last with %d chunks, want %d and the 5 that came after the end", len(got), last, timelineSteps)
	}
}

// The clock of a server starts when a gateway has passed the request on, so its page tells less than the truth.
func TestPageTellsWhatThePartsOfTheFirstTokenAre(t *testing.T) {
	t.Parallel()
	s := newServer(script{firstToken: 30 * time.Millisecond, front: 10 * time.Millisecond, queue: 5 * time.Millisecond, chunk: 1, batch: 1})
	g := generation{arrived: time.Now()}
	if err := s.generate(io.Discard, &g, []byte(`{"stream":true,"max_tokens":3,"prompt":"12345678901234"}`)); err != nil {
		t.Fatal(err)
	}
	page := map[string]float64{}
	for line := range strings.Lines(string(s.page())) {
		name, rest, _ := strings.Cut(line, "{")
		if _, value, ok := strings.Cut(rest, "} "); ok {
			page[name], _ = strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	known := s.truth.report()
	for name, want := range map[string]float64{
		"vllm:time_to_first_token_seconds_sum":   known.TTFT.Mean - .010,
		"vllm:request_queue_time_seconds_sum":    .005,
		"vllm:request_prefill_time_seconds_sum":  known.TTFT.Mean - .015,
		"vllm:inter_token_latency_seconds_sum":   2 * known.ITL.Mean,
		"vllm:inter_token_latency_seconds_count": 2,
		"vllm:prompt_tokens_total":               4,
		"vllm:prefix_cache_hits_total":           1,
		"vllm:generation_tokens_total":           3,
	} {
		if got := page[name]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
