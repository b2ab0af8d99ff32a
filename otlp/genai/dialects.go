package genai

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
)

// dialect is what the conventions call the requests of a type of endpoint.
type dialect struct {
	operation genaiconv.OperationNameAttr
	provider  genaiconv.ProviderNameAttr // whose protocol it is, which a server of one's own speaks as well
	// ranks: nothing is generated, but something given is turned into numbers.
	ranks bool
}

// Operations and providers for which the conventions have no word.
const (
	rerank genaiconv.OperationNameAttr = "rerank"

	huggingFace genaiconv.ProviderNameAttr = "huggingface"
	nim         genaiconv.ProviderNameAttr = "nvidia.nim"
	triton      genaiconv.ProviderNameAttr = "nvidia.triton"
	kserve      genaiconv.ProviderNameAttr = "kserve"
	solido      genaiconv.ProviderNameAttr = "solido"
)

var dialects = map[string]dialect{
	"chat":                 {genaiconv.OperationNameChat, genaiconv.ProviderNameOpenAI, false},
	"multimodal":           {genaiconv.OperationNameChat, genaiconv.ProviderNameOpenAI, false},
	"vision":               {genaiconv.OperationNameChat, genaiconv.ProviderNameOpenAI, false},
	"responses":            {genaiconv.OperationNameChat, genaiconv.ProviderNameOpenAI, false},
	"messages":             {genaiconv.OperationNameChat, genaiconv.ProviderNameAnthropic, false},
	"solido_rag":           {genaiconv.OperationNameChat, solido, false},
	"completions":          {genaiconv.OperationNameTextCompletion, genaiconv.ProviderNameOpenAI, false},
	"huggingface_generate": {genaiconv.OperationNameTextCompletion, huggingFace, false},
	"triton_generate":      {genaiconv.OperationNameTextCompletion, triton, false},
	"generate":             {genaiconv.OperationNameTextCompletion, triton, false},
	"kserve":               {genaiconv.OperationNameTextCompletion, kserve, false},
	"image_generation":     {genaiconv.OperationNameGenerateContent, genaiconv.ProviderNameOpenAI, false},
	"image_edit":           {genaiconv.OperationNameGenerateContent, genaiconv.ProviderNameOpenAI, false},
	"embeddings":           {genaiconv.OperationNameEmbeddings, genaiconv.ProviderNameOpenAI, true},
	"chat_embeddings":      {genaiconv.OperationNameEmbeddings, genaiconv.ProviderNameOpenAI, true},
	"nim_embeddings":       {genaiconv.OperationNameEmbeddings, nim, true},
	"nvclip":               {genaiconv.OperationNameEmbeddings, nim, true},
	"rankings":             {rerank, nim, true},
	"nim_rankings":         {rerank, nim, true},
	"cohere_rankings":      {rerank, genaiconv.ProviderNameCohere, true},
	"hf_tei_rankings":      {rerank, huggingFace, true},
	"image_retrieval":      {"image_retrieval", nim, true},
	"audio_transcription":  {"audio_transcription", genaiconv.ProviderNameOpenAI, false},
	"raw":                  {"raw", genaiconv.ProviderNameOpenAI, false},
	"template":             {"template", genaiconv.ProviderNameOpenAI, false},
}

// dialectOf is that of a type of endpoint. One that is not in the table is an operation of its own.
func dialectOf(endpointType string) dialect {
	d, ok := dialects[endpointType]
	if !ok {
		return dialect{operation: genaiconv.OperationNameAttr(endpointType), provider: genaiconv.ProviderNameOpenAI}
	}
	return d
}

// attributesOf are the attributes of a target that each of its spans and values has.
func attributesOf(t *Target, d dialect) []attribute.KeyValue {
	out := []attribute.KeyValue{
		semconv.GenAIOperationNameKey.String(string(d.operation)),
		semconv.GenAIProviderNameKey.String(cmp.Or(t.Provider, string(d.provider))),
		attribute.String("aiperf.target", t.Name),
		attribute.String("aiperf.workload", t.Workload),
	}
	if t.Model != "" {
		out = append(out, semconv.GenAIRequestModel(t.Model))
	}
	if host, port, ok := addressOf(t.URL); ok {
		out = append(out, semconv.ServerAddress(host), semconv.ServerPort(port))
	}
	return out
}

// addressOf is where a URL leads to; without a scheme it is one of HTTP.
func addressOf(address string) (host string, port int, ok bool) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", 0, false
	}
	if port, err = strconv.Atoi(u.Port()); err == nil {
		return u.Hostname(), port, true
	}
	if u.Scheme == "https" {
		return u.Hostname(), 443, true
	}
	return u.Hostname(), 80, true
}
