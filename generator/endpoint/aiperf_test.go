package endpoint

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// aiperfCases are the inputs of the bodies in testdata/aiperf.txt, which the endpoint classes of AIPerf 0.13.0 have made of the same ones.
var aiperfCases = map[string]struct {
	cfg  Config
	turn Turn
}{
	"chat, streaming": {Config{Type: Chat}, Turn{Prompt: asking("hi"), MaxOutputTokens: 64, Stream: true}},
	"chat, whole":     {Config{Type: Chat}, Turn{Prompt: asking("hi"), MaxOutputTokens: 64}},
	"chat, images and audio with a system prompt, a user context and the older limit": {
		Config{Type: Multimodal, MaxTokensField: FieldMaxTokens},
		Turn{
			Prompt: &prompt.Prompt{System: "Be brief.", Messages: []prompt.Message{prompt.TextMessage(prompt.User, "I am here."), {
				Role: prompt.User, Parts: []prompt.Part{
					{Kind: prompt.Video, URL: "https://h/v.webm"},
					{Kind: prompt.Audio, Data: []byte("sound"), MediaType: "audio/wav"},
					{Kind: prompt.Image, Data: []byte("img"), MediaType: "image/png"},
					{Text: "look"},
				},
			}}},
			MaxOutputTokens: 64, Stream: true,
		},
	},
	"chat, the third message of a conversation": {Config{Type: Chat}, Turn{Prompt: talk("", "one", "Two.", "three"), MaxOutputTokens: 64, Stream: true}},
	"chat, exact length through extra inputs": {
		Config{Type: Chat, Extra: map[string]any{"min_tokens": 64, "ignore_eos": true}},
		Turn{Prompt: asking("hi"), MaxOutputTokens: 64, Stream: true},
	},
	"chat, usage in each chunk": {Config{Type: Chat, ContinuousUsage: true}, Turn{Prompt: asking("hi"), MaxOutputTokens: 64, Stream: true}},
	"chat, tools": {
		Config{Type: Chat},
		Turn{Prompt: withTools(`[{"type":"function","function":{"name":"f"}}]`), MaxOutputTokens: 64},
	},
	"completions, streaming": {Config{Type: Completions}, Turn{Prompt: asking("hi"), MaxOutputTokens: 64, Stream: true}},
	"completions, several texts": {
		Config{Type: Completions},
		Turn{Prompt: saying(prompt.Part{Text: "a"}, prompt.Part{Text: "b"}), MaxOutputTokens: 64},
	},
	"responses, streaming": {Config{Type: Responses}, Turn{Prompt: asking("hi"), MaxOutputTokens: 64, Stream: true}},
	// Left out on purpose: the end of such a stream always has usage, and the vendor's own server refuses the field.
	"responses, with server token counts": {
		Config{Type: Responses, Extra: map[string]any{"stream_options": map[string]any{"include_usage": true}}},
		Turn{Prompt: asking("hi"), MaxOutputTokens: 64, Stream: true},
	},
	"responses, instructions, image and audio": {
		Config{Type: Responses},
		Turn{
			Prompt: &prompt.Prompt{System: "Be brief.", Messages: saying(
				prompt.Part{Text: "look"},
				prompt.Part{Kind: prompt.Image, Data: []byte("img"), MediaType: "image/png"},
				prompt.Part{Kind: prompt.Audio, Data: []byte("sound"), MediaType: "audio/wav"},
			).Messages},
			MaxOutputTokens: 64, Stream: true,
		},
	},
	"responses, chained": {
		Config{Type: Responses, Extra: map[string]any{"store": true}},
		Turn{Prompt: talk("Be brief.", "one", "Two.", "three"), PreviousID: "resp_1", MaxOutputTokens: 64, Stream: true},
	},
	"messages, streaming":              {Config{Type: Messages}, Turn{Prompt: asking("hi"), MaxOutputTokens: 64, Stream: true}},
	"messages, whole, without a limit": {Config{Type: Messages}, Turn{Prompt: asking("hi")}},
	"messages, system and images": {
		Config{Type: Messages},
		Turn{
			Prompt: &prompt.Prompt{System: "Be brief.", Messages: saying(
				prompt.Part{Text: "look"},
				prompt.Part{Kind: prompt.Image, URL: "data:image/png;base64,aW1n"},
				prompt.Part{Kind: prompt.Image, URL: "https://h/i.png"},
			).Messages},
			MaxOutputTokens: 64, Stream: true,
		},
	},
	"messages, tools": {Config{Type: Messages}, Turn{Prompt: withTools(`[{"name":"f","input_schema":{}}]`), MaxOutputTokens: 64}},
}

func TestBodiesSayWhatThoseOfAIPerfSay(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/aiperf.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2*len(aiperfCases) {
		t.Fatalf("%d lines for %d cases", len(lines), len(aiperfCases))
	}
	for i := 0; i < len(lines); i += 2 {
		name, theirs := lines[i], lines[i+1]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ok := aiperfCases[name]
			if !ok {
				t.Fatal("no such case")
			}
			if c.cfg.MaxTokensField == "" {
				c.cfg.MaxTokensField = FieldAuto
			}
			c.turn.Model, c.turn.IncludeUsage = "m", true
			ours, _, err := newCodec(t, c.cfg).Encode(nil, &c.turn)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := json.Unmarshal([]byte(theirs), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(ours, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-AIPerf +ours:\n%s", diff)
			}
		})
	}
}

// talk is a conversation of user and assistant in turn.
func talk(system string, texts ...string) *prompt.Prompt {
	p := &prompt.Prompt{System: system}
	for i, text := range texts {
		role := prompt.User
		if i%2 == 1 {
			role = prompt.Assistant
		}
		p.Messages = append(p.Messages, prompt.TextMessage(role, text))
	}
	return p
}

// saying is the prompt of one message with these parts.
func saying(parts ...prompt.Part) *prompt.Prompt {
	return &prompt.Prompt{Messages: []prompt.Message{{Role: prompt.User, Parts: parts}}}
}

func withTools(tools string) *prompt.Prompt {
	p := asking("hi")
	p.Tools = json.RawMessage(tools)
	return p
}
