package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

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
}

func TestBodiesAreThoseOfTheGoldenFile(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	for _, c := range encodeCases {
		if c.cfg.MaxTokensField == "" {
			c.cfg.MaxTokensField = FieldAuto
		}
		codec := newCodec(t, c.cfg)
		body, _, err := codec.Encode([]byte("before"), &c.turn)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		body, found := bytes.CutPrefix(body, []byte("before"))
		if !found || !json.Valid(body) {
			t.Errorf("%s: not appended, or not JSON: %q", c.name, body)
		}
		if got := codec.OutputLimit(&c.turn); got != c.limit {
			t.Errorf("%s: OutputLimit is %d, want %d", c.name, got, c.limit)
		}
		if got := codec.Streams(&c.turn); got != c.stream {
			t.Errorf("%s: Streams is %v, want %v", c.name, got, c.stream)
		}
		fmt.Fprintf(&got, "%s\n%s\n", c.name, body)
	}
	compareGolden(t, "testdata/encode.txt", got.Bytes())
}

func TestWhatCannotBeSentIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		of   Type
		turn Turn
		want string
	}{
		{"not a number", Chat, Turn{Prompt: asking(""), Extra: map[string]any{"temperature": math.NaN()}}, `encode field "temperature"`},
		{"several prompts in one stream", Completions, Turn{Prompt: asking(""), Stream: true, Extra: map[string]any{"prompt": []any{"a", "b"}}}, "prompt: several prompts"},
		{
			"several prompts in token ids in one stream", Completions,
			Turn{Prompt: asking(""), Stream: true, Extra: map[string]any{"prompt": []any{[]any{1}, []any{2}}}},
			"prompt: several prompts",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := newCodec(t, Config{Type: c.of, MaxTokensField: FieldAuto}).Encode([]byte("before"), &c.turn)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
			if string(got) != "before" {
				t.Errorf("dst is %q after an error", got)
			}
		})
	}
}

func TestNumbersOfFilesAndDataSetsAreLimits(t *testing.T) {
	t.Parallel()
	codec := newCodec(t, Config{Type: Completions, MaxTokensField: FieldAuto})
	for _, c := range []struct {
		value any
		want  int
	}{
		{5, 5},
		{int64(5), 5},
		{uint64(5), 5},
		{5.0, 5},
		{5.5, 0},
		{-1, 0},
		{nil, 0},
		{"5", 0},
		{math.Inf(1), 0},
	} {
		if got := codec.OutputLimit(&Turn{MaxOutputTokens: 64, Extra: map[string]any{"max_tokens": c.value}}); got != c.want {
			t.Errorf("limit of %v is %d, want %d", c.value, got, c.want)
		}
	}
}

// asking is the prompt of one text.
func asking(text string) *prompt.Prompt {
	p := prompt.OfText(text)
	return &p
}
