package genai_test

import (
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
)

// TestEachProtocolHasItsNames looks at spans, whose names and attributes are those of instruments.
func TestEachProtocolHasItsNames(t *testing.T) {
	t.Parallel()
	for endpointType, want := range map[endpoint.Type]struct{ operation, provider string }{
		endpoint.Chat:               {"chat", "openai"},
		endpoint.Multimodal:         {"chat", "openai"},
		endpoint.Vision:             {"chat", "openai"},
		endpoint.Responses:          {"chat", "openai"},
		endpoint.Messages:           {"chat", "anthropic"},
		endpoint.SolidoRAG:          {"chat", "solido"},
		endpoint.Completions:        {"text_completion", "openai"},
		endpoint.TGI:                {"text_completion", "huggingface"},
		endpoint.TritonGenerate:     {"text_completion", "nvidia.triton"},
		endpoint.Generate:           {"text_completion", "nvidia.triton"},
		endpoint.KServe:             {"text_completion", "kserve"},
		endpoint.ImageGeneration:    {"generate_content", "openai"},
		endpoint.ImageEdit:          {"generate_content", "openai"},
		endpoint.Embeddings:         {"embeddings", "openai"},
		endpoint.ChatEmbeddings:     {"embeddings", "openai"},
		endpoint.NIMEmbeddings:      {"embeddings", "nvidia.nim"},
		endpoint.NVCLIP:             {"embeddings", "nvidia.nim"},
		endpoint.NIMRankings:        {"rerank", "nvidia.nim"},
		endpoint.Rankings:           {"rerank", "nvidia.nim"},
		endpoint.CohereRankings:     {"rerank", "cohere"},
		endpoint.TEIRankings:        {"rerank", "huggingface"},
		endpoint.ImageRetrieval:     {"image_retrieval", "nvidia.nim"},
		endpoint.AudioTranscription: {"audio_transcription", "openai"},
		endpoint.Raw:                {"raw", "openai"},
		endpoint.Template:           {"template", "openai"},
		"of a day to come":          {"of a day to come", "openai"},
	} {
		got := attributesOf(t, genai.Target{EndpointType: string(endpointType), Model: "m"})
		if got["name"] != want.operation+" m" || got["gen_ai.operation.name"] != want.operation || got["gen_ai.provider.name"] != want.provider {
			t.Errorf("%s is %v, want %v", endpointType, got, want)
		}
	}
}

func TestWhereAServerIs(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]string{
		"http://vllm:8000":              {"vllm", "8000"},
		"https://api.example/v1":        {"api.example", "443"},
		"http://api.example":            {"api.example", "80"},
		"10.0.0.1:8000":                 {"10.0.0.1", "8000"},
		"localhost":                     {"localhost", "80"},
		"http://[fd00::1]:8000/v1":      {"fd00::1", "8000"},
		"https://u:p@api.example/?k=v1": {"api.example", "443"},
		"http://%":                      {},
		"":                              {},
	} {
		got := attributesOf(t, genai.Target{URL: address, EndpointType: "chat"})
		if got["server.address"] != want[0] || got["server.port"] != want[1] {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}

func TestAConfiguredProviderWins(t *testing.T) {
	t.Parallel()
	got := attributesOf(t, genai.Target{EndpointType: "messages", Provider: "aws.bedrock"})
	if _, model := got["gen_ai.request.model"]; model || got["name"] != "chat" || got["gen_ai.provider.name"] != "aws.bedrock" {
		t.Errorf("got %v", got)
	}
}

// attributesOf are the attributes of a span of the target, and its name.
func attributesOf(t *testing.T, target genai.Target) map[string]string {
	t.Helper()
	span := spansOf(t, "1.41", target, metrics.NewSystemClock(), but(func(r *metrics.Record) { r.Trace = sampled }))[0]
	out := map[string]string{"name": span.Name}
	for _, kv := range span.Attributes {
		out[string(kv.Key)] = kv.Value.String()
	}
	return out
}
