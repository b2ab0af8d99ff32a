package endpoint

import (
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
)

const (
	benchPrefix = `{"id":"chatcmpl-7f0e5d1c9a3b4d2e8f","object":"chat.completion.chunk","created":1755000000,` +
		`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[`
	benchRole    = benchPrefix + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`
	benchContent = benchPrefix + `{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`
	benchFinish  = benchPrefix + `{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"length","stop_reason":null}]}`
	benchUsage   = benchPrefix + `],"usage":{"prompt_tokens":128,"total_tokens":192,"completion_tokens":64,"prompt_tokens_details":null}}`
	benchTool    = benchPrefix + `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\""}}]},"logprobs":null,` +
		`"finish_reason":null}]}`
	benchContinuous = benchPrefix + `{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}],` +
		`"usage":{"prompt_tokens":128,"total_tokens":192,"completion_tokens":64}}`

	benchTextPrefix = `{"id":"cmpl-7f0e5d1c9a3b4d2e8f","object":"text_completion","created":1755000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[`
	benchText       = benchTextPrefix + `{"index":0,"text":" token","logprobs":null,"finish_reason":null,"stop_reason":null}]}`
	benchTextFinish = benchTextPrefix + `{"index":0,"text":" token","logprobs":null,"finish_reason":"length","stop_reason":null}]}`
	benchTextUsage  = benchTextPrefix + `],"usage":{"prompt_tokens":128,"total_tokens":192,"completion_tokens":64}}`
)

const (
	benchResponsesPrefix = `{"item_id":"msg_67c9fdcf37fc8190ba82116e33fb28c507b8b0ad4e5eb","output_index":0,"content_index":0,"sequence_number":42,`
	benchResponsesDelta  = benchResponsesPrefix + `"type":"response.output_text.delta","delta":" token","logprobs":[],"obfuscation":"9f8e7d6c5b"}`
	benchResponsesDone   = benchResponsesPrefix + `"type":"response.output_text.done","text":" token token token"}`
	benchResponsesTool   = benchResponsesPrefix + `"type":"response.function_call_arguments.delta","delta":"{\"city\""}`
	benchResponsesWhole  = `{"id":"resp_67c9fdcecf488190bdd9a0409de3a1ec","object":"response","created_at":1755000000,"status":"completed","error":null,` +
		`"incomplete_details":null,"instructions":null,"model":"gpt-4.1-2025-04-14","output":[{"type":"message","id":"msg_1","status":"completed",` +
		`"role":"assistant","content":[{"type":"output_text","text":" token token token","annotations":[]}]}],"usage":{"input_tokens":128,` +
		`"input_tokens_details":{"cached_tokens":0},"output_tokens":64,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":192}}`
	benchResponsesCompleted = `{"type":"response.completed","response":` + benchResponsesWhole + `,"sequence_number":43}`
	benchResponsesCreated   = `{"type":"response.created","response":` + benchResponsesWhole + `,"sequence_number":0}`

	benchMessagesStart = `{"type":"message_start","message":{"id":"msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY","type":"message","role":"assistant",` +
		`"content":[],"model":"claude-opus-4-20250514","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":1}}}`
	benchMessagesText  = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" token"}}`
	benchMessagesTool  = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\""}}`
	benchMessagesDelta = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}`
	benchMessagesStop  = `{"type":"message_stop"}`
	benchMessagesWhole = `{"id":"msg_013Zva2CMHLNnXjNJJKqJ2EF","type":"message","role":"assistant","model":"claude-opus-4-20250514","content":[{"type":"text",` +
		`"text":" token token token"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":2095,"output_tokens":503}}`
)

// benchAnswer is what a server sends at a time, and what it may cost to decode.
type benchAnswer struct {
	name   string
	of     Type
	body   bool // a whole answer, not an event
	data   string
	allocs float64
}

func benchAnswers() []benchAnswer {
	words := strings.Repeat(" token", 250)
	usage := `],"usage":{"prompt_tokens":128,"total_tokens":378,"completion_tokens":250}}`
	return []benchAnswer{
		{"role", Chat, false, benchRole, 0},
		{"content", Chat, false, benchContent, 0},
		{"tool", Chat, false, benchTool, 0},
		{"continuous usage", Chat, false, benchContinuous, 0},
		{"finish", Chat, false, benchFinish, 1}, // the model's name, once for each answer that has one
		{"usage", Chat, false, benchUsage, 0},
		{"done", Chat, false, "[DONE]", 0},
		{"1.5 MB content", Chat, false, benchPrefix + `{"index":0,"delta":{"content":"` + strings.Repeat("a", 1_500_000) + `"}}]}`, 0},
		{"1.5 MB escaped content", Chat, false, benchPrefix + `{"index":0,"delta":{"content":"` + strings.Repeat(`word\n\"`, 187_500) + `"}}]}`, 0},
		{"whole answer", Chat, true, strings.Replace(benchPrefix, ".chunk", "", 1) + `{"index":0,"message":{"role":"assistant","content":"` + words +
			`","reasoning_content":null,"tool_calls":[]},"logprobs":null,"finish_reason":"length"}` + usage, 1},

		{"content", Completions, false, benchText, 0},
		{"finish", Completions, false, benchTextFinish, 1},
		{"usage", Completions, false, benchTextUsage, 0},
		{"done", Completions, false, "[DONE]", 0},
		{"whole answer", Completions, true, benchTextPrefix + `{"index":0,"text":"` + words + `","logprobs":null,"finish_reason":"length"}` + usage, 1},

		{"created", Responses, false, benchResponsesCreated, 0},
		{"text", Responses, false, benchResponsesDelta, 0},
		{"text done", Responses, false, benchResponsesDone, 0},
		{"tool", Responses, false, benchResponsesTool, 0},
		{"completed", Responses, false, benchResponsesCompleted, 1},
		{"whole answer", Responses, true, benchResponsesWhole, 1},

		{"start", Messages, false, benchMessagesStart, 1},
		{"text", Messages, false, benchMessagesText, 0},
		{"tool", Messages, false, benchMessagesTool, 0},
		{"delta", Messages, false, benchMessagesDelta, 0},
		{"stop", Messages, false, benchMessagesStop, 0},
		{"whole answer", Messages, true, benchMessagesWhole, 1},
	}
}

// decoder gives a function that decodes the answer once.
func (a *benchAnswer) decoder(tb testing.TB) func() {
	tb.Helper()
	codec := newCodec(tb, Config{Type: a.of, MaxTokensField: FieldAuto})
	data := []byte(a.data)
	decoder := codec.Decoder(nil)
	decode := func(c *Chunk) error { return decoder.Event(nil, data, c) }
	if a.body {
		decode = func(c *Chunk) error { return decoder.Body(data, c) }
	}
	var c Chunk
	return func() {
		c = Chunk{}
		if err := decode(&c); err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, a := range benchAnswers() {
		b.Run(string(a.of)+"/"+a.name, func(b *testing.B) {
			decode := a.decoder(b)
			b.ReportAllocs()
			b.SetBytes(int64(len(a.data)))
			for b.Loop() {
				decode()
			}
		})
	}
}

// BenchmarkDecodeKept decodes events whose text somebody wants to look at.
func BenchmarkDecodeKept(b *testing.B) {
	for name, data := range map[Type]string{Chat: benchContent, Completions: benchText, Responses: benchResponsesDelta, Messages: benchMessagesText} {
		b.Run(string(name), func(b *testing.B) {
			var keep answer.Transcript
			decoder := newCodec(b, Config{Type: name, MaxTokensField: FieldAuto}).Decoder(&keep)
			event := []byte(data)
			b.ReportAllocs()
			b.SetBytes(int64(len(event)))
			var c Chunk
			for b.Loop() {
				c = Chunk{}
				if err := decoder.Event(nil, event, &c); err != nil || !c.Text {
					b.Fatal(c, err)
				}
				keep.Text = keep.Text[:0]
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	codec := newCodec(b, Config{Type: Chat, MaxTokensField: FieldAuto})
	turn := Turn{
		Model: "m", Prompt: asking(strings.Repeat("word ", 128)), MaxOutputTokens: 64, Stream: true, IncludeUsage: true,
		Extra: map[string]any{"temperature": 0},
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, _, err = codec.Encode(dst[:0], &turn); err != nil {
			b.Fatal(err)
		}
	}
}

func TestEventsOfAStreamDoNotAllocate(t *testing.T) { // not parallel: AllocsPerRun counts those of other goroutines
	for _, a := range benchAnswers() {
		if got := testing.AllocsPerRun(20, a.decoder(t)); got != a.allocs {
			t.Errorf("%s of %s: %v allocations, want %v", a.name, a.of, got, a.allocs)
		}
	}
}
