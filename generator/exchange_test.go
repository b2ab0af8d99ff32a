package generator

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const (
	ms = int64(1e6)
	// origin keeps instants away from 0, which means "did not happen".
	origin = 1000 * ms
)

// step is one event of a scripted stream, at ms after the start.
type step struct {
	at      int64
	data    string
	comment bool
	read    int64 // 0 = a read of its own
}

func chatDelta(at int64, delta string) step {
	return step{at: at, data: `{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`}
}

func text(at int64, s string) step { return chatDelta(at, fmt.Sprintf(`{"content":%q}`, s)) }
func role(at int64) step           { return chatDelta(at, `{"role":"assistant","content":""}`) }
func reasoning(at int64) step      { return chatDelta(at, `{"reasoning_content":"a"}`) }
func done(at int64) step           { return step{at: at, data: "[DONE]"} }
func finish(at int64, why string) step {
	return step{at: at, data: `{"choices":[{"index":0,"delta":{},"finish_reason":"` + why + `"}]}`}
}

func usage(at int64, in, out, reasoning int) step {
	return step{at: at, data: fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"completion_tokens_details":{"reasoning_tokens":%d}}}`, in, out, reasoning)}
}

func bundle(at int64, s string, in, out int) step {
	return step{at: at, data: fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, s, in, out)}
}

func tool(at int64, function string) step {
	return chatDelta(at, `{"tool_calls":[{"index":0,"function":`+function+`}]}`)
}

// play hands a scripted stream to an exchange and returns its record and measures.
func play(t *testing.T, steps []step, endAt int64, answer transport.Answer) (*metrics.Record, metrics.Measures) {
	t.Helper()
	codec, err := endpoint.New(endpoint.Config{Type: "chat", MaxTokensField: endpoint.FieldAuto})
	if err != nil {
		t.Fatal(err)
	}
	r := &metrics.Record{}
	r.Time = metrics.Timeline{Sched: origin, Issue: origin, Start: origin, Header: origin + 5*ms}
	x := &exchange{decoder: codec.Decoder(nil), record: r, flight: unwatched{}}
	for i, s := range steps {
		read := s.read
		if read == 0 {
			read = int64(1000 + i)
		}
		ev := transport.Event{Data: []byte(s.data), Comment: s.comment, At: origin + s.at*ms, Read: read}
		if x.Event(&ev) == transport.Stop {
			break
		}
	}
	r.Time.End = origin + endAt*ms
	x.finish(&answer)
	if invalid := metrics.Invalid(r); invalid != "" {
		t.Fatalf("record is invalid: %s", invalid)
	}
	return r, metrics.Measure(r)
}

func streamed() transport.Answer {
	return transport.Answer{Status: 200, Stream: true, ConnObtained: true}
}

// withUsage puts a usage chunk before the end marker: the golden examples give counts that the stream itself does not tell.
func withUsage(steps []step, in, out int) []step {
	last := steps[len(steps)-1]
	return append(steps[:len(steps)-1:len(steps)-1], usage(last.at, in, out, 0), last)
}

func TestGoldenStreamsGiveTheFiguresOfTheSpecification(t *testing.T) {
	t.Parallel()
	undef := math.NaN()
	type want struct {
		ttft, ttfo, ttst, rl, itl float64 // ms
		gaps                      []int64 // ms
		out                       int64
		class                     metrics.ErrorClass
	}
	tests := []struct {
		name  string
		steps []step
		end   int64
		want  want
	}{
		{
			"plain",
			[]step{role(40), text(250, "a"), text(300, "a"), text(350, "a"), text(400, "a"), finish(401, "stop"), usage(402, 100, 4, 0), done(403)},
			403,
			want{250, 250, 50, 400, 50, []int64{50, 50, 50}, 4, ""},
		},
		{
			"bundled",
			[]step{bundle(200, "abcd", 64, 4), bundle(300, "efgh", 64, 8), bundle(420, "ij", 64, 10), done(421)},
			421,
			want{200, 200, 100, 420, 220. / 6, []int64{100, 120}, 10, ""},
		},
		{
			"bundled, usage only at the end", withUsage([]step{text(200, "abcd"), text(300, "efgh"), text(420, "ij"), done(421)}, 64, 10), 421,
			want{200, 200, 100, 420, 220. / 9, []int64{100, 120}, 10, ""},
		},
		{
			"reasoning",
			[]step{role(30), reasoning(120), reasoning(140), reasoning(160), reasoning(180), reasoning(200), text(230, "a"), text(260, "a"), text(290, "a"), usage(292, 50, 8, 5), done(293)},
			293,
			want{120, 230, 20, 290, 170. / 7, []int64{20, 20, 20, 20, 30, 30, 30}, 8, ""},
		},
		{
			"one token", withUsage([]step{text(180, "only"), finish(181, "length"), done(182)}, 20, 1), 182,
			want{180, 180, undef, 180, undef, nil, 1, ""},
		},
		{
			"coalesced", withUsage([]step{text(100, "a"), {at: 150, data: text(0, "b").data, read: 7}, {at: 150, data: text(0, "c").data, read: 7}, {at: 150, data: text(0, "d").data, read: 7}, text(260, "e"), done(261)}, 10, 5), 261,
			want{100, 100, 50, 260, 40, []int64{50, 0, 0, 110}, 5, ""},
		},
		{
			"empty",
			[]step{role(100), usage(120, 9, 0, 0), done(121)},
			121,
			want{undef, undef, undef, undef, undef, nil, 0, metrics.ErrEmpty},
		},
		{
			"tool call", withUsage([]step{chatDelta(90, `{"role":"assistant","content":null}`), tool(140, `{"name":"f"}`), tool(160, `{"arguments":"{"}`), tool(180, `{"arguments":"}"}`), finish(181, "tool_calls"), done(182)}, 30, 8), 182,
			want{140, 140, 20, 180, 40. / 7, []int64{20, 20}, 8, ""},
		},
		{
			"no terminator",
			[]step{{at: 50, comment: true}, text(100, "a"), text(150, "b")},
			150,
			want{100, 100, 50, 150, undef, []int64{50}, 2, metrics.ErrTruncated},
		},
		{
			"error frame",
			[]step{text(100, "a"), {at: 150, data: `{"error":{"message":"engine died","type":"internal","code":500}}`}, done(151)},
			150,
			want{100, 100, undef, 100, undef, nil, 1, metrics.ErrStream},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, m := play(t, tt.steps, tt.end, streamed())
			check := func(what string, got metrics.Value, wantMs float64) {
				t.Helper()
				if math.IsNaN(wantMs) == got.Defined || got.Defined && math.Abs(got.V*1e3-wantMs) > 1e-9*wantMs {
					t.Errorf("%s = %+v s, want %v ms", what, got, wantMs)
				}
			}
			check("TTFT", m.TTFT, tt.want.ttft)
			check("TTFO", m.TTFO, tt.want.ttfo)
			check("second token gap", m.TTST, tt.want.ttst)
			check("latency", m.RequestLatency, tt.want.rl)
			check("ITL", m.ITL, tt.want.itl)
			var gaps []int64
			for i := 1; i < len(r.Content); i++ {
				gaps = append(gaps, (r.Content[i]-r.Content[i-1])/ms)
			}
			if diff := cmp.Diff(tt.want.gaps, gaps); diff != "" {
				t.Errorf("gaps in ms (-want +got):\n%s", diff)
			}
			if r.Usage.Output.N != tt.want.out {
				t.Errorf("output tokens = %d, want %d", r.Usage.Output.N, tt.want.out)
			}
			if r.Class != tt.want.class {
				t.Errorf("class = %q (%s), want %q", r.Class, r.Detail, tt.want.class)
			}
			if wantOutcome := map[bool]metrics.Outcome{true: metrics.Success, false: metrics.Failure}[tt.want.class == ""]; r.Outcome != wantOutcome {
				t.Errorf("outcome = %q, want %q", r.Outcome, wantOutcome)
			}
		})
	}
}

func TestOutcomeOfAnAnswer(t *testing.T) {
	t.Parallel()
	whole := []step{text(10, "a"), finish(20, "stop"), usage(21, 3, 1, 0), done(22)}
	refusal := func(status int, body string) transport.Answer {
		return transport.Answer{Status: status, ConnObtained: true, ErrorBody: []byte(body)}
	}
	failed := func(class metrics.ErrorClass) transport.Answer {
		a := streamed()
		a.Class, a.Err = class, fmt.Errorf("scripted %s", class)
		return a
	}
	tests := []struct {
		name    string
		steps   []step
		answer  transport.Answer
		outcome metrics.Outcome
		class   metrics.ErrorClass
	}{
		{"a whole stream is a success", whole, streamed(), metrics.Success, ""},
		{"a finish reason alone ends a stream", whole[:2], streamed(), metrics.Success, ""},
		{"an end marker alone ends a stream", []step{text(10, "a"), done(20)}, streamed(), metrics.Success, ""},
		{"a connection that breaks after the end marker changes nothing", whole, failed(metrics.ErrTruncated), metrics.Success, ""},
		{"an answer that is too large is a failure even after the end marker", whole, failed(metrics.ErrResponseTooLarge), metrics.Failure, metrics.ErrResponseTooLarge},
		{"a connection that breaks before it is a failure", whole[:1], failed(metrics.ErrTruncated), metrics.Failure, metrics.ErrTruncated},
		{"a timeout keeps its class", whole[:1], failed(metrics.ErrTimeoutIdle), metrics.Failure, metrics.ErrTimeoutIdle},
		{"one event that is not the protocol spoils the answer", []step{text(10, "a"), {at: 11, data: "<html>"}, done(12)}, streamed(), metrics.Failure, metrics.ErrParse},
		{"a cancelled request is not a failure", whole[:1], transport.Answer{Cancelled: true}, metrics.Cancelled, ""},
		{"301", nil, refusal(301, ""), metrics.Failure, metrics.ErrHTTP3xx},
		{"401", nil, refusal(401, `{"error":{"message":"no key"}}`), metrics.Failure, metrics.ErrHTTP4xx},
		{"429", nil, refusal(429, `{"error":{"message":"slow down"}}`), metrics.Failure, metrics.ErrHTTP429},
		{"500 with a page", nil, refusal(500, `<html><title>Bad</title></html>`), metrics.Failure, metrics.ErrHTTP5xx},
		{"400 that tells of the context length", nil, refusal(400, `{"error":{"message":"This model's maximum context length is 4096 tokens.","code":"context_length_exceeded"}}`), metrics.Failure, metrics.ErrContextOverflow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := play(t, tt.steps, 30, tt.answer)
			if r.Outcome != tt.outcome || r.Class != tt.class {
				t.Errorf("outcome %q class %q (%s), want %q %q", r.Outcome, r.Class, r.Detail, tt.outcome, tt.class)
			}
		})
	}
}

func TestSourceOfTokenCounts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		steps   []step
		output  metrics.TokenSource
		count   int64
		missing bool
	}{
		{"usage in an event of its own", []step{text(10, "a"), usage(20, 3, 1, 0), done(21)}, metrics.SourceUsage, 1, false},
		{"usage on the event with the finish reason", []step{text(10, "a"), {at: 20, data: `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`}}, metrics.SourceUsage, 1, false},
		{"cumulative usage in the chunks only", []step{bundle(10, "a", 3, 1), bundle(20, "b", 3, 2), done(21)}, metrics.SourceUsageChunk, 2, false},
		{"no usage: the number of content events", []step{text(10, "a"), text(20, "b"), done(21)}, metrics.SourceEvents, 2, true},
		{"usage in the opening chunk only", []step{usage(5, 3, 0, 0), text(10, "a"), text(20, "b"), done(21)}, metrics.SourceEvents, 2, true},
		{"null usage is no usage", []step{{at: 10, data: `{"choices":[{"delta":{"content":"a"}}],"usage":null}`}, done(21)}, metrics.SourceEvents, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := play(t, tt.steps, 30, streamed())
			if r.OutputSource != tt.output || r.Usage.Output.N != tt.count || r.UsageMissing != tt.missing {
				t.Errorf("source %q count %d missing %v, want %q %d %v", r.OutputSource, r.Usage.Output.N, r.UsageMissing, tt.output, tt.count, tt.missing)
			}
		})
	}
}

func TestKeepAlivesAreCountedAndMoveNothing(t *testing.T) {
	t.Parallel()
	r, m := play(t, []step{{at: 1, comment: true}, {at: 2, comment: true}, text(100, "a"), done(110)}, 110, streamed())
	if r.KeepAlives != 2 {
		t.Errorf("keep-alives = %d, want 2", r.KeepAlives)
	}
	if want := (metrics.Value{V: .1, Defined: true}); m.FirstEvent != want || m.TTFT != want {
		t.Errorf("first event %v, TTFT %v, want both 0.1 s", m.FirstEvent, m.TTFT)
	}
}

func TestEventsThatShareAReadAreCountedAsCoalesced(t *testing.T) {
	t.Parallel()
	var steps []step
	for _, s := range []string{"a", "b", "c", "d"} {
		steps = append(steps, step{at: 40, data: text(0, s).data, read: 9})
	}
	r, _ := play(t, append(steps, done(40)), 40, streamed())
	if r.Coalesced != 3 {
		t.Errorf("coalesced = %d, want 3", r.Coalesced)
	}
}
