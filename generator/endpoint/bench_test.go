package endpoint

import (
	"strings"
	"testing"
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
)

// events are the kinds of events of a stream, with the allocations that each may cost.
func benchEvents() []struct {
	name   string
	data   string
	allocs float64
} {
	return []struct {
		name   string
		data   string
		allocs float64
	}{
		{"role", benchRole, 0},
		{"content", benchContent, 0},
		{"tool", benchTool, 0},
		{"continuous usage", benchContinuous, 0},
		{"finish", benchFinish, 1}, // the model's name
		{"usage", benchUsage, 0},
		{"done", "[DONE]", 0},
		{"1.5 MB content", benchPrefix + `{"index":0,"delta":{"content":"` + strings.Repeat("a", 1_500_000) + `"}}]}`, 0},
		{"1.5 MB escaped content", benchPrefix + `{"index":0,"delta":{"content":"` + strings.Repeat(`word\n\"`, 187_500) + `"}}]}`, 0},
	}
}

func BenchmarkDecodeEvent(b *testing.B) {
	codec := newCodec(b, Config{Type: Chat, MaxTokensField: FieldAuto})
	for _, event := range benchEvents() {
		b.Run(event.name, func(b *testing.B) {
			data := []byte(event.data)
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			var c Chunk
			for b.Loop() {
				c = Chunk{}
				if err := codec.DecodeEvent(nil, data, &c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	codec := newCodec(b, Config{Type: Chat, MaxTokensField: FieldAuto})
	turn := Turn{
		Model: "m", Prompt: strings.Repeat("word ", 128), MaxOutputTokens: 64, Stream: true, IncludeUsage: true,
		Extra: map[string]any{"temperature": 0},
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, err = codec.Encode(dst[:0], &turn); err != nil {
			b.Fatal(err)
		}
	}
}

func TestEventsOfAStreamDoNotAllocate(t *testing.T) { // not parallel: AllocsPerRun counts those of other goroutines
	codec := newCodec(t, Config{Type: Chat, MaxTokensField: FieldAuto})
	for _, event := range benchEvents() {
		data := []byte(event.data)
		var c Chunk
		got := testing.AllocsPerRun(20, func() {
			c = Chunk{}
			if err := codec.DecodeEvent(nil, data, &c); err != nil {
				t.Fatal(err)
			}
		})
		if got != event.allocs {
			t.Errorf("%s: %v allocations, want %v", event.name, got, event.allocs)
		}
	}
}
