package endpoint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

func newCodec(tb testing.TB, cfg endpoint.Config) endpoint.Codec {
	tb.Helper()
	cfg.MaxTokensField = endpoint.FieldAuto
	codec, err := endpoint.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return codec
}

func saying(parts ...prompt.Part) *prompt.Prompt {
	return &prompt.Prompt{Messages: []prompt.Message{{Role: prompt.User, Parts: parts}}}
}

func conversation() *prompt.Prompt {
	return &prompt.Prompt{Messages: []prompt.Message{
		prompt.TextMessage(prompt.User, "a"), prompt.TextMessage(prompt.Assistant, "b"), prompt.TextMessage(prompt.User, "c"),
	}}
}

func TestProtocolsRefuseWhatTheyCannotSay(t *testing.T) {
	t.Parallel()
	text := prompt.Part{Text: "a"}
	image := prompt.Part{Kind: prompt.Image, MediaType: "image/png", Data: []byte("x")}
	elsewhere := prompt.Part{Kind: prompt.Image, URL: "https://example.com/a.png"}
	clip := prompt.Part{Kind: prompt.Audio, MediaType: "audio/wav", Data: []byte("x")}
	for _, c := range []struct {
		name   string
		cfg    endpoint.Config
		prompt *prompt.Prompt
		extra  map[string]any
		want   string
	}{
		{"no text to embed", endpoint.Config{Type: endpoint.Embeddings}, saying(image), nil, "prompt has no text"},
		{"nothing to embed", endpoint.Config{Type: endpoint.NIMEmbeddings}, saying(), nil, "prompt has no text"},
		{"more texts than images", endpoint.Config{Type: endpoint.NIMEmbeddings}, saying(text, text, image), nil, "prompt has 2 texts and 1 images, an input takes one of each"},
		{"neither text nor image", endpoint.Config{Type: endpoint.NVCLIP}, saying(clip), nil, "prompt has neither text nor image"},
		{"a conversation about pictures", endpoint.Config{Type: endpoint.NVCLIP}, conversation(), nil, "prompt is a conversation"},
		{"no query", endpoint.Config{Type: endpoint.NIMRankings}, saying(text), nil, `prompt has no text named "query"`},
		{"no passages", endpoint.Config{Type: endpoint.CohereRankings}, saying(prompt.Part{Name: prompt.Query, Text: "q"}), nil, `prompt has no texts named "passages"`},
		{"nothing to go on with", endpoint.Config{Type: endpoint.TGI}, saying(), nil, "prompt has no text"},
		{"nothing to generate from", endpoint.Config{Type: endpoint.TritonGenerate}, saying(), nil, "prompt has no text"},
		{"nothing to infer from", endpoint.Config{Type: endpoint.KServe}, saying(), nil, "prompt has no text"},
		{
			"a tensor of an object",
			endpoint.Config{Type: endpoint.KServe},
			saying(text),
			map[string]any{"x": map[string]any{}},
			`parameter "x": a tensor takes strings, numbers or booleans, of one kind`,
		},
		{
			"a tensor of two kinds",
			endpoint.Config{Type: endpoint.KServe},
			saying(text),
			map[string]any{"x": []any{"a", 1}},
			`parameter "x": a tensor takes strings, numbers or booleans, of one kind`,
		},
		{"an empty tensor", endpoint.Config{Type: endpoint.KServe}, saying(text), map[string]any{"x": []any{}}, `parameter "x": a tensor must not be empty`},
		{"no image to edit", endpoint.Config{Type: endpoint.ImageEdit}, saying(text), nil, "prompt has no image"},
		{"no instruction", endpoint.Config{Type: endpoint.ImageEdit}, saying(image), nil, "prompt has no text"},
		{
			"a broken data URI",
			endpoint.Config{Type: endpoint.ImageEdit},
			saying(text, prompt.Part{Kind: prompt.Image, URL: "data:image/png;base64"}), nil,
			"image 1: data URI has no comma",
		},
		{
			"bad base64",
			endpoint.Config{Type: endpoint.ImageEdit},
			saying(text, prompt.Part{Kind: prompt.Image, URL: "data:image/png;base64,*"}), nil,
			"image 1: data URI: illegal base64 data at input byte 0",
		},
		{"no image to search", endpoint.Config{Type: endpoint.ImageRetrieval}, saying(text), nil, "prompt has no image"},
		{"an image elsewhere", endpoint.Config{Type: endpoint.ImageRetrieval}, saying(image, elsewhere), nil, "image 2: must be inline, this one is elsewhere"},
		{"a conversation", endpoint.Config{Type: endpoint.Embeddings}, conversation(), nil, "prompt is a conversation"},
		{"a conversation about images", endpoint.Config{Type: endpoint.ImageRetrieval}, conversation(), nil, "prompt is a conversation"},
		{"a conversation about documents", endpoint.Config{Type: endpoint.TEIRankings}, conversation(), nil, "prompt is a conversation"},
		{"a conversation to write down", endpoint.Config{Type: endpoint.AudioTranscription}, conversation(), nil, "prompt is a conversation"},
		{
			"a message of another protocol",
			endpoint.Config{Type: endpoint.TGI},
			&prompt.Prompt{Messages: []prompt.Message{{Raw: []byte(`{"role":"user","content":"a"}`)}}}, nil, "prompt is a message of another protocol",
		},
		{"no clip", endpoint.Config{Type: endpoint.AudioTranscription}, saying(text), nil, "prompt has 0 audio clips, a transcription takes one"},
		{"two clips", endpoint.Config{Type: endpoint.AudioTranscription}, saying(clip, clip), nil, "prompt has 2 audio clips, a transcription takes one"},
		{
			"a clip elsewhere",
			endpoint.Config{Type: endpoint.AudioTranscription},
			saying(prompt.Part{Kind: prompt.Audio, URL: "https://example.com/a.wav"}), nil,
			"audio clip: must be inline, this one is elsewhere",
		},
		{"no recorded body", endpoint.Config{Type: endpoint.Raw}, saying(text), nil, "prompt has no recorded body, which the raw protocol sends"},
		{
			"a template that makes no JSON",
			endpoint.Config{Type: endpoint.Template, Template: `{"q": {{.text}}}`},
			saying(text), nil,
			"template does not render to JSON, write values as {{toJson .text}}",
		},
		{
			"a template that makes no object, with extra",
			endpoint.Config{Type: endpoint.Template, Template: `[]`},
			saying(text),
			map[string]any{"a": 1},
			"template renders to something else than an object, extra has no place in it",
		},
		{
			"a variable that is none",
			endpoint.Config{Type: endpoint.Template, Template: `{"q": {{toJson .txt}}}`},
			saying(text), nil,
			`map has no entry for key "txt"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := newCodec(t, c.cfg).Encode([]byte("before"), &endpoint.Turn{Model: "m", Prompt: c.prompt, Extra: c.extra})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
			if string(got) != "before" {
				t.Errorf("dst is %q after an error", got)
			}
		})
	}
}

func TestRecordedBodiesAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	const payload = `{ "a": [1,  2], "stream": true }`
	for _, cfg := range ownConfigs() {
		turn := endpoint.Turn{Model: "m", Prompt: &prompt.Prompt{Payload: []byte(payload)}, MaxOutputTokens: 5, Extra: map[string]any{"x": 1}}
		body, media, err := newCodec(t, cfg).Encode([]byte("before"), &turn)
		if err != nil || string(body) != "before"+payload || media != "application/json" {
			t.Errorf("%s: %q of type %q, error %v", cfg.Type, body, media, err)
		}
	}
}

// ownConfigs has a configuration of each type that is tested here.
func ownConfigs() []endpoint.Config {
	return []endpoint.Config{
		{Type: endpoint.Embeddings},
		{Type: endpoint.ChatEmbeddings},
		{Type: endpoint.NIMEmbeddings},
		{Type: endpoint.NVCLIP},
		{Type: endpoint.NIMRankings},
		{Type: endpoint.Rankings},
		{Type: endpoint.CohereRankings},
		{Type: endpoint.TEIRankings},
		{Type: endpoint.TGI},
		{Type: endpoint.TritonGenerate},
		{Type: endpoint.Generate},
		{Type: endpoint.KServe},
		{Type: endpoint.ImageGeneration},
		{Type: endpoint.ImageEdit},
		{Type: endpoint.ImageRetrieval},
		{Type: endpoint.AudioTranscription},
		{Type: endpoint.SolidoRAG},
		{Type: endpoint.Raw},
		{Type: endpoint.Raw, ResponseField: "a.b"},
		{Type: endpoint.Template, Template: "{}"},
		{Type: endpoint.Template, Template: "{}", ResponseField: "a.b"},
	}
}

func TestLogProbabilitiesOfTGIAreKept(t *testing.T) {
	t.Parallel()
	want := []answer.Logprob{
		{Token: "I", Value: -0.5},
		{Token: " am", Value: -0.25, Top: []answer.Alternative{{Token: " am", Value: -0.25}, {Token: " was", Value: -2}}},
	}
	var kept answer.Transcript
	decoder := newCodec(t, endpoint.Config{Type: endpoint.TGI}).Decoder(&kept)
	for _, data := range []string{
		`{"token":{"text":"I","logprob":-0.5,"special":false}}`,
		`{"token":{"text":" am","logprob":-0.25},"top_tokens":[{"text":" was","logprob":-2},{"text":" am","logprob":-0.25},{"text":"?"}]}`,
		`{"token":{"text":"</s>","logprob":-1,"special":true},"generated_text":"I am"}`,
	} {
		if err := decoder.Event(nil, []byte(data), new(endpoint.Chunk)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, kept.Logprobs); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}

	want[1].Top = nil
	kept = answer.Transcript{}
	const whole = `{"generated_text":"I am","details":{"tokens":[{"text":"I","logprob":-0.5},{"text":" am","logprob":-0.25},{"text":"</s>","logprob":-1,"special":true}]}}`
	if err := newCodec(t, endpoint.Config{Type: endpoint.TGI}).Decoder(&kept).Body([]byte(whole), new(endpoint.Chunk)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, kept.Logprobs); diff != "" {
		t.Errorf("whole answer (-want +got):\n%s", diff)
	}
}

func TestErrorBodiesOfServersBeyondOpenAI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		status   int
		body     string
		want     endpoint.ServerError
		overflow bool
	}{
		{
			"TGI refuses a prompt that is too long", 422,
			"{\"error\":\"Input validation error: `inputs` must have less than 1024 tokens. Given: 1025\",\"error_type\":\"validation\"}",
			endpoint.ServerError{Message: "Input validation error: `inputs` must have less than 1024 tokens. Given: 1025", Type: "validation"},
			true,
		},
		{
			"TGI is overloaded", 429, `{"error":"Model is overloaded","error_type":"overloaded"}`,
			endpoint.ServerError{Message: "Model is overloaded", Type: "overloaded"},
			false,
		},
		{
			"TEI refuses a batch", 413, `{"error":"batch size 64 > maximum allowed batch size 32","error_type":"Validation"}`,
			endpoint.ServerError{Message: "batch size 64 > maximum allowed batch size 32", Type: "Validation"},
			false,
		},
		{
			"Triton and KServe have a bare string", 400, `{"error":"Request for unknown model: 'm' is not found"}`,
			endpoint.ServerError{Message: "Request for unknown model: 'm' is not found"},
			false,
		},
		{
			"NIM as FastAPI", 422, `{"detail":[{"type":"missing","loc":["body","input"],"msg":"Field required"}]}`,
			endpoint.ServerError{Message: "body.input: Field required"},
			false,
		},
		{
			"NIM embeddings", 400, `{"object":"error","message":"Input length 600 exceeds maximum allowed token size 512","detail":{},"type":"invalid_request_error"}`,
			endpoint.ServerError{Message: "Input length 600 exceeds maximum allowed token size 512", Type: "invalid_request_error"},
			true,
		},
		{
			"NIM as vLLM", 404, `{"object":"error","message":"The model ` + "`m`" + ` does not exist.","type":"NotFoundError","param":null,"code":404}`,
			endpoint.ServerError{Message: "The model `m` does not exist.", Type: "NotFoundError", Code: "404"},
			false,
		},
		{
			"Cohere", 400, `{"message":"invalid request: list of documents must not be empty"}`,
			endpoint.ServerError{Message: "invalid request: list of documents must not be empty"},
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := endpoint.DecodeError([]byte(c.body))
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := endpoint.ContextOverflow(c.status, got); got != c.overflow {
				t.Errorf("ContextOverflow is %v, want %v", got, c.overflow)
			}
		})
	}
}
