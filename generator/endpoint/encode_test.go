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

func TestBodiesAreThoseOfTheGoldenFile(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	for _, c := range encodeCases {
		if c.cfg.MaxTokensField == "" {
			c.cfg.MaxTokensField = FieldAuto
		}
		codec := newCodec(t, c.cfg)
		body, media, err := codec.Encode([]byte("before"), &c.turn)
		if err != nil || media != "application/json" {
			t.Errorf("%s: media type %q, error %v", c.name, media, err)
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
		{
			"several prompts in one stream", Completions,
			Turn{Prompt: asking(""), Stream: true, Extra: map[string]any{"prompt": []any{"a", "b"}}},
			"prompt: several prompts",
		},
		{
			"several prompts in token ids in one stream", Completions,
			Turn{Prompt: asking(""), Stream: true, Extra: map[string]any{"prompt": []any{[]any{1}, []any{2}}}},
			"prompt: several prompts",
		},
		{
			"several texts in one stream", Completions,
			Turn{Prompt: saying(prompt.Part{Text: "a"}, prompt.Part{Text: "b"}), Stream: true},
			"prompt: several prompts",
		},
		{"a conversation", Completions, Turn{Prompt: talk("", "a", "b", "c")}, "has no conversations"},
		{
			"a message of another protocol", Completions,
			Turn{Prompt: &prompt.Prompt{Messages: []prompt.Message{{Raw: json.RawMessage(`{"role":"user"}`)}}}},
			"of another protocol",
		},
		{"an image", Completions, Turn{Prompt: saying(prompt.Part{Kind: prompt.Image})}, "only takes text"},
		{"audio from elsewhere", Chat, Turn{Prompt: saying(prompt.Part{Kind: prompt.Audio, URL: "https://h/a.wav"})}, "audio: must be inline"},
		{
			"a message that is no JSON", Chat,
			Turn{Prompt: &prompt.Prompt{Messages: []prompt.Message{{Raw: json.RawMessage(`{`)}}}},
			`encode field "messages"`,
		},
		{"tools that are no JSON", Messages, Turn{Prompt: withTools(`[`)}, `encode field "tools"`},
		{"a video", Responses, Turn{Prompt: saying(prompt.Part{Kind: prompt.Video})}, "takes no video"},
		{
			"audio from elsewhere in responses", Responses,
			Turn{Prompt: saying(prompt.Part{Kind: prompt.Audio, URL: "https://h/a.wav"})},
			"audio: must be inline",
		},
		{
			"an image that was an answer", Responses,
			Turn{Prompt: &prompt.Prompt{Messages: []prompt.Message{{Role: prompt.Assistant, Parts: []prompt.Part{{Kind: prompt.Image, URL: "https://h/a.png"}}}}}},
			"nothing but text",
		},
		{"audio in messages", Messages, Turn{Prompt: saying(prompt.Part{Kind: prompt.Audio})}, "neither audio nor video"},
		{"a video in messages", Messages, Turn{Prompt: saying(prompt.Part{Kind: prompt.Video})}, "neither audio nor video"},
		{"an image that is no data URI", Messages, Turn{Prompt: saying(prompt.Part{Kind: prompt.Image, URL: "data:image/png"})}, "data URI"},
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
