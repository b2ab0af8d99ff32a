package generator_test

import (
	"bytes"
	"encoding/json"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// figuresOf computes what a record says, in ms.
func figuresOf(r *metrics.Record) figures {
	m := metrics.Measure(r)
	f := figures{
		Outcome: r.Outcome, Class: r.Class, Finish: r.Finish,
		TTFT: inMS(m.TTFT), TTFO: inMS(m.TTFO), Latency: inMS(m.RequestLatency), ITL: inMS(m.ITL),
		ISL: value(m.InputTokens, 1), OSL: value(m.OutputTokens, 1), Reasoning: value(m.ReasoningTokens, 1),
		Coalesced: r.Coalesced, KeepAlives: r.KeepAlives,
	}
	for i := 1; i < len(r.Content); i++ {
		f.ICL = append(f.ICL, float64(r.Content[i]-r.Content[i-1])/1e6)
	}
	return f
}

func inMS(v metrics.Value) float64 { return value(v, 1e3) }

func value(v metrics.Value, factor float64) float64 {
	if !v.Defined {
		return none
	}
	return v.V * factor
}

var approximately = cmpopts.EquateApprox(0, 1e-6)

// content are the instants of the content events, after the start of the script.
func (f *figures) content() []time.Duration {
	if f.TTFT == none {
		return nil
	}
	at := f.TTFT
	out := []time.Duration{millis(at)}
	for _, gap := range f.ICL {
		at += gap
		out = append(out, millis(at))
	}
	return out
}

func millis(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}

// TestOpenCases sends one request per case to a server that answers with the exact bytes at the exact instants.
func TestOpenCases(t *testing.T) {
	t.Parallel()
	for _, tc := range openCases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inTime(t, func() []string { return runOpenCase(t, &tc) })
		})
	}
}

// runOpenCase runs a case and says what did not come in time.
func runOpenCase(t *testing.T, tc *openCase) (late []string) {
	t.Helper()
	server := startScriptServer(t, func(*scriptRequest) script { return tc.script })
	rig := newRig(t, server.url)
	if tc.configure != nil {
		tc.configure(&rig.config)
	}
	got := rig.once(t.Context(), t)
	request, writes := server.wait(t, 0)
	if limit := tc.longestSilence; limit > 0 {
		for i := 1; i < len(writes); i++ {
			if silence := writes[i].after.Sub(writes[i-1].before); silence > limit {
				return []string{"the server was silent for " + silence.String()}
			}
		}
	}
	if tc.longestSilence > 0 && got.record.Class == metrics.ErrTimeoutIdle {
		return []string{"the server was not silent, but: " + got.record.Detail}
	}
	// What does not depend on the machine, with the scripted instants in place of the real ones.
	if diff := cmp.Diff(tc.want, figuresOf(idealize(tc, &got.record)), approximately); diff != "" {
		t.Fatalf("figures (-want +got):\n%s\ndetail: %s", diff, got.record.Detail)
	}
	checkSeries(t, rig, tc, got.record.Coalesced)
	checkRequest(t, rig, request)
	return checkInstants(t, rig, tc, &got.record, request, writes)
}

// checkInstants compares the instants of a record with those at which the server had the request and wrote, and says what was late.
func checkInstants(t *testing.T, rig *rig, tc *openCase, r *metrics.Record, request *scriptRequest, writes []written) (late []string) {
	t.Helper()
	if r.Time.Start > rig.clock.At(request.read) || r.Time.Header > r.Time.FirstEvent || r.Time.FirstEvent > r.Time.End {
		t.Errorf("the instants are not in order, the server had the request at %d: %+v", rig.clock.At(request.read), r.Time)
	}
	late = rig.misplaced("header", r.Time.Header, r.Time.Start, writes[0], writes[0])
	want := tc.want.content()
	for i, at := range want {
		last := i
		for last+1 < len(want) && r.Content[last+1] == r.Content[i] {
			last++
		}
		began, ended := wroteAt(t, tc, writes, at), wroteAt(t, tc, writes, want[last])
		late = append(late, rig.misplaced("content event", r.Content[i], r.Time.Start, began, ended)...)
		if at == millis(tc.want.TTFO) {
			late = append(late, rig.misplaced("first output", r.Time.FirstOutput, r.Time.Start, began, ended)...)
		}
	}
	return late
}

// wroteAt finds the write of a step.
func wroteAt(t *testing.T, tc *openCase, writes []written, at time.Duration) written {
	t.Helper()
	for i, step := range tc.script.steps {
		if step.at == at && i < len(writes) {
			return writes[i]
		}
	}
	t.Fatalf("the server wrote nothing at %v", at)
	return written{}
}

// idealize copies a record with the scripted instants in place of those that were measured.
func idealize(tc *openCase, r *metrics.Record) *metrics.Record {
	const start = int64(time.Hour)
	want := tc.want.content()
	if len(r.Content) != len(want) {
		return r
	}
	out := *r
	out.Content = nil
	out.Time.Start = start
	for _, at := range want {
		out.Content = append(out.Content, start+int64(at))
	}
	if r.Time.FirstOutput != 0 && tc.want.TTFO != none {
		out.Time.FirstOutput = start + int64(millis(tc.want.TTFO))
	}
	// A client that was late has taken more events in one read than the server put into one write.
	out.Coalesced = min(r.Coalesced, tc.want.Coalesced)
	return &out
}

// checkSeries wants a sample in the distributions of successes from a success, and from nothing else.
func checkSeries(t *testing.T, rig *rig, tc *openCase, coalesced int64) {
	t.Helper()
	want := map[string]float64{}
	events := float64(len(tc.want.content()))
	success := tc.want.Outcome == metrics.Success
	set := func(name string, defined bool, n float64) {
		if !success || !defined {
			n = 0
		}
		want[name] = n
	}
	set("aiperf_time_to_first_token_seconds", true, 1)
	set("aiperf_effective_latency_seconds", true, 1)
	set("aiperf_inter_token_latency_seconds", tc.want.ITL != none, 1)
	set("aiperf_inter_chunk_latency_seconds", true, events-1)
	set("aiperf_content_events_total", true, events)
	set("aiperf_sse_coalesced_events_total", true, float64(coalesced))
	set("aiperf_good_requests_total", true, 1)
	want["aiperf_slo_requests_total"] = 1
	want["aiperf_sse_keepalives_total"] = float64(tc.want.KeepAlives)
	want["aiperf_invalid_records_total"] = 0
	got := map[string]float64{}
	for name := range want {
		got[name] = rig.series(t, name)
	}
	want["outcome"], got["outcome"] = 1, rig.series(t, "aiperf_requests_total", "outcome", string(tc.want.Outcome))
	if !success {
		want["class"], got["class"] = 1, rig.series(t, "aiperf_request_errors_total", "error_class", string(tc.want.Class))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// checkRequest looks at what was asked.
func checkRequest(t *testing.T, rig *rig, request *scriptRequest) {
	t.Helper()
	wantPath, limit := "/v1/chat/completions", "max_completion_tokens"
	if rig.config.Endpoint.Type != "chat" {
		wantPath, limit = "/v1/completions", "max_tokens"
	}
	if request.path != wantPath {
		t.Errorf("path %q, want %q", request.path, wantPath)
	}
	var body map[string]any
	if err := json.NewDecoder(bytes.NewReader(request.body)).Decode(&body); err != nil {
		t.Fatalf("request body: %v", err)
	}
	if body["stream"] != true {
		t.Errorf("stream is %v, want true", body["stream"])
	}
	if want := rig.config.Workload.OutputTokens.Mean; body[limit] != want {
		t.Errorf("%s is %v, want %v", limit, body[limit], want)
	}
	if got := request.header.Get("Accept-Encoding"); got != "identity" {
		t.Errorf("Accept-Encoding %q: a decompressing reader would lose the instants", got)
	}
}

// TestLongLinesLeaveNoMemoryBehind is the rest of that case: 50 such requests in sequence. It is not parallel because it looks at the heap.
func TestLongLinesLeaveNoMemoryBehind(t *testing.T) {
	text := content(longText)
	answer := stream(at(0, content("x")), step{bytes: text[:len(text)/2]}, step{bytes: text[len(text)/2:]}, at(0, finish("stop"), usage(5, 1002), done))
	for _, tc := range []struct {
		name      string
		configure func(*generator.TargetConfig)
		want      metrics.Outcome
	}{
		{"lines below the limit", func(*generator.TargetConfig) {}, metrics.Success},
		{"lines over the limit", func(cfg *generator.TargetConfig) { cfg.Client.MaxEventBytes = 1 << 20 }, metrics.Failure},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := startScriptServer(t, func(*scriptRequest) script { return answer })
			rig := newRig(t, server.url, tc.configure)
			target := rig.target(t)
			var before uint64
			const requests, warm, slack = 50, 10, 2 << 20
			for i := range requests {
				if i == warm {
					before = heap()
				}
				target.Once(t.Context())
			}
			after := heap()
			for i, o := range rig.records() {
				if o.record.Outcome != tc.want {
					t.Fatalf("request %d: %s %s: %s", i, o.record.Outcome, o.record.Class, o.record.Detail)
				}
			}
			if after > before+slack {
				t.Errorf("the heap grew from %d to %d bytes over %d requests", before, after, requests-warm)
			}
		})
	}
}

// heap is the number of bytes that are in use. Two collections, because the first only moves pooled memory to where the second frees it.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
