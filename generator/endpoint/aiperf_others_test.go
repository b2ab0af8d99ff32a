package endpoint_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// aiperfCases are the inputs of the bodies in testdata/aiperf_others.txt, which the endpoint classes of AIPerf 0.13.0 have made of the same
// ones.
func aiperfCases() map[string]aiperfCase {
	text := func(s string) prompt.Part { return prompt.Part{Text: s} }
	image := prompt.Part{Kind: prompt.Image, MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}
	ranking := saying(
		prompt.Part{Name: prompt.Query, Text: "q"}, prompt.Part{Name: prompt.Passages, Text: "a"}, prompt.Part{Name: prompt.Passages, Text: "b"},
	)
	extra := func(name string, value any) map[string]any { return map[string]any{name: value} }
	return map[string]aiperfCase{
		"embeddings, two texts": {
			endpoint.Config{Type: endpoint.Embeddings, Extra: extra("encoding_format", "float")},
			endpoint.Turn{Prompt: saying(text("a"), text("b"))},
		},
		"chat_embeddings, text and image": {endpoint.Config{Type: endpoint.ChatEmbeddings}, endpoint.Turn{Prompt: saying(text("a"), image), Stream: true}},
		"nim_embeddings, text and image":  {endpoint.Config{Type: endpoint.NIMEmbeddings}, endpoint.Turn{Prompt: saying(text("a"), image)}},
		"nim_embeddings, images":          {endpoint.Config{Type: endpoint.NIMEmbeddings}, endpoint.Turn{Prompt: saying(image, image)}},
		"nim_rankings":                    {endpoint.Config{Type: endpoint.NIMRankings, Extra: extra("truncate", "END")}, endpoint.Turn{Prompt: ranking}},
		"cohere_rankings":                 {endpoint.Config{Type: endpoint.CohereRankings}, endpoint.Turn{Prompt: ranking}},
		"hf_tei_rankings":                 {endpoint.Config{Type: endpoint.TEIRankings}, endpoint.Turn{Prompt: ranking}},
		// Unlike AIPerf we also ask for details, where the server's counts are. Here usage is not wanted.
		"huggingface_generate, streaming": {
			endpoint.Config{Type: endpoint.TGI, Extra: extra("temperature", 0.5)},
			endpoint.Turn{Prompt: saying(text("a"), text("b")), Stream: true, MaxOutputTokens: 64},
		},
		"image_generation, streaming": {
			endpoint.Config{Type: endpoint.ImageGeneration, Extra: extra("size", "512x512")},
			endpoint.Turn{Prompt: saying(text("a cat")), Stream: true},
		},
		"image_generation, whole": {endpoint.Config{Type: endpoint.ImageGeneration}, endpoint.Turn{Prompt: saying(text("a cat"))}},
		"image_edit, an image": {
			endpoint.Config{Type: endpoint.ImageEdit, Extra: map[string]any{"size": "512x512", "mask": "x"}},
			endpoint.Turn{Prompt: saying(text("blue"), image)},
		},
		"image_edit, an image elsewhere": {
			endpoint.Config{Type: endpoint.ImageEdit},
			endpoint.Turn{Prompt: saying(text("blue"), prompt.Part{Kind: prompt.Image, URL: "https://h/i.png"})},
		},
		"image_retrieval": {endpoint.Config{Type: endpoint.ImageRetrieval}, endpoint.Turn{Prompt: saying(image)}},
		"audio_transcription": {
			endpoint.Config{Type: endpoint.AudioTranscription, Extra: extra("language", "en")},
			endpoint.Turn{Prompt: saying(prompt.Part{Kind: prompt.Audio, MediaType: "audio/wav", Data: []byte("RIFF")})},
		},
		"solido_rag": {endpoint.Config{Type: endpoint.SolidoRAG}, endpoint.Turn{Prompt: saying(text("a"), text("b")), Stream: true}},
	}
}

type aiperfCase struct {
	cfg  endpoint.Config
	turn endpoint.Turn
}

func TestBodiesOfOtherTypesAreThoseOfAIPerf(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/aiperf_others.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases, lines := aiperfCases(), strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) != 2*len(cases) {
		t.Fatalf("%d lines for %d cases", len(lines), len(cases))
	}
	for i := 0; i < len(lines); i += 2 {
		name, theirs := lines[i], lines[i+1]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cases[name]
			c.turn.Model = "m"
			ours, media, err := newCodec(t, c.cfg).Encode(nil, &c.turn)
			if err != nil {
				t.Fatal(err)
			}
			if media == "application/json" {
				if diff := cmp.Diff(theirs, string(ours)); diff != "" {
					t.Errorf("-AIPerf +ours:\n%s", diff)
				}
				return
			}
			if diff := cmp.Diff(aiperfForm(t, theirs), form(t, media, ours)); diff != "" {
				t.Errorf("-AIPerf +ours:\n%s", diff)
			}
		})
	}
}

// aiperfForm reads a form as AIPerf writes it down before it is sent: values as text, as aiohttp sends them, and files as objects.
func aiperfForm(t *testing.T, written string) map[string]string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(written), &fields); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, raw := range fields {
		var file struct {
			Data     []byte `json:"b64_data"`
			Filename string
			Type     string `json:"content_type"`
		}
		switch {
		case json.Unmarshal(raw, &file) == nil:
			out[name] = file.Filename + " " + file.Type + " " + string(file.Data)
		default:
			out[name] = strings.Trim(string(raw), `"`)
		}
	}
	return out
}

func form(t *testing.T, media string, body []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, part := range parts(t, media, body) {
		out[part.Name] = part.Value
		if part.File != "" {
			out[part.Name] = part.File + " " + part.MediaType + " " + string(part.Data)
		}
	}
	return out
}
