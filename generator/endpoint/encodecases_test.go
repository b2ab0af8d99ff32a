package endpoint

import (
	"encoding/json"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// encodeCases are the turns whose bodies stand in testdata/encode.txt.
var encodeCases = []struct {
	name   string
	cfg    Config
	turn   Turn
	limit  int  // OutputLimit
	stream bool // Streams
}{
	{
		name: "chat streams with usage and a limit", cfg: Config{Type: Chat}, limit: 64, stream: true,
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64, Stream: true, IncludeUsage: true},
	},
	{
		name: "chat without a stream never sends stream_options", cfg: Config{Type: Chat, ContinuousUsage: true}, limit: 64,
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64, IncludeUsage: true},
	},
	{
		name: "chat without a limit sends none", cfg: Config{Type: Chat, IgnoreEOS: true}, stream: true,
		turn: Turn{Model: "m", Prompt: asking("hi"), Stream: true},
	},
	{
		name: "chat for older servers", cfg: Config{Type: Chat, MaxTokensField: FieldMaxTokens}, limit: 64, stream: true,
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64, Stream: true},
	},
	{
		name: "a prompt is sent as it is", cfg: Config{Type: Chat},
		turn: Turn{Model: `org/"m"`, Prompt: asking("<b>\"a\" & 'b'</b>\n\\ \x00 é 😀 \xff")},
	},
	{
		name: "usage in each chunk", cfg: Config{Type: Chat, ContinuousUsage: true}, stream: true,
		turn: Turn{Model: "m", Prompt: asking("hi"), Stream: true, IncludeUsage: true},
	},
	{
		name: "a server that refuses usage gets no stream_options at all", cfg: Config{Type: Chat, ContinuousUsage: true}, stream: true,
		turn: Turn{Model: "m", Prompt: asking("hi"), Stream: true},
	},
	{
		name: "exact length", cfg: Config{Type: Chat, IgnoreEOS: true}, limit: 64,
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64},
	},
	{
		name: "exact length follows the author's limit", cfg: Config{Type: Completions, IgnoreEOS: true}, limit: 10,
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64, Extra: map[string]any{"max_tokens": 10}},
	},
	{
		name: "exact length as the author says", cfg: Config{Type: Chat, IgnoreEOS: true}, limit: 64,
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64, Extra: map[string]any{"ignore_eos": false, "min_tokens": 1}},
	},
	{
		name: "extra is appended in alphabetical order", cfg: Config{Type: Chat},
		turn: Turn{Model: "m", Prompt: asking("hi"), Extra: map[string]any{
			"top_p": 0.9, "temperature": 0, "stop": []any{"a", "b"}, "chat_template_kwargs": map[string]any{"z": nil, "enable_thinking": false},
		}},
	},
	{
		name: "extra replaces fields where they stand", cfg: Config{Type: Chat}, limit: 7,
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64, Extra: map[string]any{"model": "other", "max_completion_tokens": 7}},
	},
	{
		name: "extra replaces maps whole", cfg: Config{Type: Chat, ContinuousUsage: true}, stream: true,
		turn: Turn{
			Model: "m", Prompt: asking("hi"), Stream: true, IncludeUsage: true,
			Extra: map[string]any{"stream_options": map[string]any{"x": true}, "messages": []any{}},
		},
	},
	{
		name: "extra switches the stream on, and usage with it", cfg: Config{Type: Chat}, stream: true,
		turn: Turn{Model: "m", Prompt: asking("hi"), IncludeUsage: true, Extra: map[string]any{"stream": true}},
	},
	{
		name: "extra switches the stream off, and usage with it", cfg: Config{Type: Chat},
		turn: Turn{Model: "m", Prompt: asking("hi"), Stream: true, IncludeUsage: true, Extra: map[string]any{"stream": false}},
	},
	{
		name: "extra lifts the limit", cfg: Config{Type: Chat, IgnoreEOS: true},
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64, Extra: map[string]any{"max_completion_tokens": nil}},
	},
	{
		name: "a limit from a data set is a float", cfg: Config{Type: Chat}, limit: 12,
		turn: Turn{Model: "m", Prompt: asking("hi"), Extra: map[string]any{"max_completion_tokens": 12.0}},
	},
	{
		name: "the other limit field is sent but does not count", cfg: Config{Type: Chat}, limit: 64,
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64, Extra: map[string]any{"max_tokens": int64(5)}},
	},
	{
		name: "completions stream with usage and a limit", cfg: Config{Type: Completions}, limit: 64, stream: true,
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64, Stream: true, IncludeUsage: true},
	},
	{
		name: "completions with one prompt in token ids", cfg: Config{Type: Completions}, stream: true,
		turn: Turn{Model: "m", Prompt: asking(""), Stream: true, Extra: map[string]any{"prompt": []any{1, 2, 3}}},
	},
	{
		name: "completions with one prompt in a list", cfg: Config{Type: Completions}, stream: true,
		turn: Turn{Model: "m", Prompt: asking(""), Stream: true, Extra: map[string]any{"prompt": []any{"a"}}},
	},
	{
		name: "completions with several prompts, not streamed", cfg: Config{Type: Completions},
		turn: Turn{Model: "m", Prompt: asking(""), Extra: map[string]any{"prompt": []any{"a", "b"}}},
	},
	{
		name: "completions put the system prompt before each text", cfg: Config{Type: Completions},
		turn: Turn{
			Model: "m", Prompt: &prompt.Prompt{System: "s", Messages: saying(prompt.Part{Text: "a"}, prompt.Part{Text: "b"}).Messages},
		},
	},
	{
		name: "completions take the system message of a dataset with the question", cfg: Config{Type: Completions},
		turn: Turn{Model: "m", Prompt: &prompt.Prompt{Messages: []prompt.Message{
			{Raw: json.RawMessage(`{"role":"system","content":"s"}`)},
			prompt.TextMessage(prompt.User, "a"),
		}}},
	},
	{
		name: "the endpoint's extra goes below that of the turn", cfg: Config{Type: Chat, Extra: map[string]any{"a": 1, "b": 1, "stream": false}}, limit: 3,
		turn: Turn{Model: "m", Prompt: asking("hi"), Stream: true, Extra: map[string]any{"b": 2, "c": 3, "max_completion_tokens": 3}},
	},
	{
		name: "the endpoint's extra has the limit", cfg: Config{Type: Chat, Extra: map[string]any{"max_completion_tokens": 9}}, limit: 9,
		turn: Turn{Model: "m", Prompt: asking("hi"), MaxOutputTokens: 64},
	},
	{
		name: "a recorded body is sent as it is", cfg: Config{Type: Chat, Extra: map[string]any{"a": 1}}, limit: 7, stream: true,
		turn: Turn{
			Model: "m", Prompt: &prompt.Prompt{Payload: []byte(`{"stream":false, "max_tokens":7,"x":{"max_completion_tokens":1},"stream" : true}`)},
			MaxOutputTokens: 64, IncludeUsage: true, Extra: map[string]any{"b": 1, "stream": false},
		},
	},
	{
		name: "a recorded body without a stream", cfg: Config{Type: Completions}, limit: 0,
		turn: Turn{Model: "m", Prompt: &prompt.Prompt{Payload: []byte(`{"prompt":"a"}`)}, MaxOutputTokens: 64, Stream: true, IncludeUsage: true},
	},
	{
		name: "a recorded body of responses", cfg: Config{Type: Responses}, limit: 5,
		turn: Turn{Model: "m", Prompt: &prompt.Prompt{Payload: []byte(`{"max_output_tokens":5}`)}, Stream: true},
	},
	{
		name: "a recorded body of messages has no limit but its own", cfg: Config{Type: Messages}, stream: true,
		turn: Turn{Model: "m", Prompt: &prompt.Prompt{Payload: []byte(`{"stream":true}`)}},
	},
	{
		name: "messages of a dataset are sent as they are", cfg: Config{Type: Chat},
		turn: Turn{Model: "m", Prompt: &prompt.Prompt{Messages: []prompt.Message{
			{Raw: json.RawMessage(`{"role":"system","name":"n","content":"<s>"}`)},
			{Raw: json.RawMessage(`{"role":"tool","tool_call_id":"call_1","content":[]}`)},
		}}},
	},
	{
		name: "system messages of a dataset are joined to the system prompt", cfg: Config{Type: Chat},
		turn: Turn{Model: "m", Prompt: &prompt.Prompt{System: "s", Messages: []prompt.Message{
			prompt.TextMessage(prompt.System, "a"),
			{Raw: json.RawMessage(`{"role":"system","content":"b"}`)},
			{Raw: json.RawMessage(`{"role":"system","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}`)},
			prompt.TextMessage(prompt.User, "hi"),
			prompt.TextMessage(prompt.System, "a later one stays"),
		}}},
	},
	{
		name: "a system message that cannot be joined stays", cfg: Config{Type: Chat},
		turn: Turn{Model: "m", Prompt: &prompt.Prompt{System: "s", Messages: []prompt.Message{
			{Raw: json.RawMessage(`{"role":"system","content":7}`)}, {Raw: json.RawMessage(`{"role":7}`)},
		}}},
	},
	{
		name: "media in the order of their kinds, with names for the server's cache", cfg: Config{Type: Vision},
		turn: Turn{Model: "m", Prompt: saying(
			prompt.Part{Kind: prompt.Video, Data: []byte("vid"), MediaType: "video/webm", ID: "v"},
			prompt.Part{Kind: prompt.Image, ID: "known"},
			prompt.Part{Kind: prompt.Image, URL: "https://h/a.png", ID: "a"},
			prompt.Part{Kind: prompt.Audio, Data: []byte("snd"), MediaType: "audio/mpeg"},
			prompt.Part{Kind: prompt.Audio, URL: "data:audio/x-wav;base64,c25k"},
			prompt.Part{Text: ""},
			prompt.Part{Text: "b"},
		)},
	},
	{
		name: "nothing at all is an empty text", cfg: Config{Type: Chat},
		turn: Turn{Model: "m", Prompt: saying(prompt.Part{Text: ""}, prompt.Part{Text: ""})},
	},
	{
		name: "chat with tools, before the limit", cfg: Config{Type: Chat}, limit: 5,
		turn: Turn{Model: "m", Prompt: withTools(`[ {"type": "function"} ]`), MaxOutputTokens: 5},
	},
	{
		name: "responses with everything", cfg: Config{Type: Responses}, limit: 5, stream: true,
		turn: Turn{
			Model: "m", Prompt: &prompt.Prompt{
				System: "s", Tools: json.RawMessage(`[{"type":"function","name":"f"}]`), Messages: []prompt.Message{
					prompt.TextMessage(prompt.User, "one"),
					{Role: prompt.Assistant, Parts: []prompt.Part{{Text: "two"}, {Text: "halves"}}},
					{Raw: json.RawMessage(`{"type":"reasoning","id":"rs_1"}`)},
					{Raw: json.RawMessage(`{"type":"function_call_output","call_id":"call_1","output":"3"}`)},
					{Role: prompt.User, Parts: []prompt.Part{{Text: "look"}, {Kind: prompt.Image, URL: "https://h/a.png"}}},
				},
			},
			MaxOutputTokens: 5, Stream: true, IncludeUsage: true, PreviousID: "resp_1",
		},
	},
	{
		name: "responses that the server keeps only get what is new", cfg: Config{Type: Responses},
		turn: Turn{
			Model: "m", Prompt: &prompt.Prompt{System: "s", Messages: []prompt.Message{
				prompt.TextMessage(prompt.User, "one"),
				{Raw: json.RawMessage(`{"type":"message","role":"assistant","content":"two"}`)},
				prompt.TextMessage(prompt.User, "three"),
				prompt.TextMessage(prompt.User, "four"),
			}},
			PreviousID: "resp_1", Extra: map[string]any{"store": true},
		},
	},
	{
		name: "the first of the responses that the server keeps", cfg: Config{Type: Responses, Extra: map[string]any{"store": true}},
		turn: Turn{Model: "m", Prompt: asking("one")},
	},
	{
		name: "messages with everything", cfg: Config{Type: Messages}, limit: 5, stream: true,
		turn: Turn{
			Model: "m", Prompt: &prompt.Prompt{
				System: "s", Tools: json.RawMessage(`[{"name":"f"}]`), Messages: []prompt.Message{
					prompt.TextMessage(prompt.System, "t"),
					prompt.TextMessage(prompt.User, "one"),
					{Raw: json.RawMessage(`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]}`)},
					{Role: prompt.User, Parts: []prompt.Part{{Kind: prompt.Image, Data: []byte("img"), MediaType: "image/png"}, {Text: "look"}}},
				},
			},
			MaxOutputTokens: 5, Stream: true, IncludeUsage: true, Extra: map[string]any{"temperature": 0},
		},
	},
	{
		name: "messages without a limit still send one", cfg: Config{Type: Messages}, limit: 1024,
		turn: Turn{Model: "m", Prompt: asking("hi")},
	},
	{
		name: "messages with the author's limit", cfg: Config{Type: Messages, Extra: map[string]any{"max_tokens": 9}}, limit: 9,
		turn: Turn{Model: "m", Prompt: asking("hi")},
	},
}
