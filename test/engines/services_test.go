//go:build engines

package engines

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

const (
	binary  = "../../bin/aiperf-exporter"
	cache   = "../../.cache/"
	startup = 10 * time.Minute // vLLM takes up to two on an idle machine, and five on a busy one
)

// engine is an inference server and what it calls its own counters.
type engine struct {
	program     string
	arguments   func(host, port string) []string
	environment []string
	output      string   // counter of generated tokens
	input       []string // counters that add up to the prompt tokens
	services    []service
}

// service is one process of an engine and what is asked of it. An engine that has loaded a model to write cannot embed with it.
type service struct {
	name      string
	arguments []string // beside those of the engine
	rate      float64  // requests per second and target, such that requests overlap
	targets   []target
	// silent: answers do not say how many tokens the prompt had.
	silent bool
	// whole: it is asked for as long as DURATION says, and not only for a moment.
	whole bool
}

// target is one of the program's.
type target struct {
	name, endpoint string
	workload       string // of configuration
	// items is the counter of what a success brings, and each how many of them; "" = tokens.
	items string
	each  float64
}

const moment = 5 * time.Second

var enginesByName = map[string]engine{
	"llama": {
		program: cache + "llama/bin/llama-server",
		arguments: func(host, port string) []string {
			return []string{"--model", cache + "model/tiny.gguf", "--alias", "tiny", "--host", host, "--port", port, "--metrics", "--parallel", "4", "--ctx-size", "8192"}
		},
		output: "llamacpp:tokens_predicted_total",
		input:  []string{"llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"},
		services: []service{
			{name: "texts", rate: 1, targets: texts, whole: true},
			{name: "vectors", rate: 3, arguments: []string{"--embedding", "--pooling", "mean"}, targets: vectors},
			{
				name: "documents", rate: 3, arguments: []string{"--reranking"},
				targets: []target{{"cohere", "{type: cohere_rankings, path: /v1/rerank}", "ranking", documentCounter, 5}},
			},
			{ // the same answers in the words of Text Embeddings Inference
				name: "documents of TEI", rate: 3, arguments: []string{"--reranking"}, silent: true,
				targets: []target{{"tei", "{type: hf_tei_rankings}", "ranking", documentCounter, 5}},
			},
			{ // its own protocol, which counts nothing that we know of, but has one event for each token
				name: "recorded bodies", rate: 3, silent: true, targets: []target{{"raw", "{type: raw, path: /completion}", "recorded", "", 0}},
			},
		},
	},
	"vllm": {
		program: cache + "vllm/bin/vllm",
		arguments: func(host, port string) []string {
			return []string{
				"serve", cache + "model", "--served-model-name", "tiny", "--host", host, "--port", port, "--dtype", "float32", "--enforce-eager",
				// Without the last one it asks for 92 % of the machine's memory.
				"--max-model-len", "2048", "--max-num-seqs", "16", "--gpu-memory-utilization", "0.2",
			}
		},
		environment: []string{"VLLM_CPU_OMP_THREADS_BIND=nobind", "VLLM_NO_USAGE_STATS=1"},
		output:      "vllm:generation_tokens_total",
		input:       []string{"vllm:prompt_tokens_total"},
		services: []service{
			{name: "texts", rate: 0.3, targets: texts, whole: true},
			{
				name: "vectors and documents", rate: 1, arguments: []string{"--runner", "pooling", "--convert", "embed"},
				targets: slices.Concat(vectors, []target{
					{"chat-embeddings", "{type: chat_embeddings}", "question", vectorCounter, 1},
					{"cohere", "{type: cohere_rankings}", "ranking", documentCounter, 5},
				}),
			},
		},
	},
}

// The counters of what is no token.
const (
	vectorCounter   = "aiperf_embedding_vectors_total"
	documentCounter = "aiperf_ranked_documents_total"
)

// texts are all protocols by which both engines write.
var texts = []target{
	{"chat", "{type: chat}", "short", "", 0},
	{"completions", "{type: completions}", "short", "", 0},
	{"responses", "{type: responses}", "short", "", 0},
	{"messages", "{type: messages}", "short", "", 0},
	{"talk", "{type: chat}", "talk", "", 0},
	{"talk-messages", "{type: messages}", "talk", "", 0},
	{"talk-responses", "{type: responses}", "talk", "", 0},
}

// vectors asks for them as numbers and as the bytes of numbers.
var vectors = []target{
	{"embeddings", "{type: embeddings}", "vectors", vectorCounter, 3},
	{"base64", "{type: embeddings, extra: {encoding_format: base64}}", "vectors", vectorCounter, 3},
}

const configuration = `
workloads:
  short: {input_tokens: {mean: 60, stddev: 20}, output_tokens: {mean: 40, stddev: 15}}
  talk: {input_tokens: 30, output_tokens: 20, turns: 3}
  vectors: {input_tokens: 20, batch: 3, stream: false}
  question: {input_tokens: 20, stream: false}
  ranking: {input_tokens: 10, passages: {count: 5, tokens: 20}, stream: false}
  recorded: {dataset: {format: inputs_json, file: %[1]q}}
loads:
  trickle: {mode: constant, rate: %[2]g, max_in_flight: 16}
  one: {mode: closed, concurrency: 1, min_interval: 1ms}
targets:
`

// config is the configuration that asks the targets of the service at url.
func (s *service) config(t *testing.T, url, load string) string {
	t.Helper()
	bodies, err := filepath.Abs("testdata/completion.json")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, configuration, bodies, s.rate)
	for i, target := range s.targets {
		fmt.Fprintf(&out, "  - {name: %s, url: %q, model: tiny, endpoint: %s, workload: %s, load: %s, seed: %d}\n",
			target.name, url, target.endpoint, target.workload, load, i+1)
	}
	return out.String()
}

// startEngine starts a server on a free port and gives its URL once it answers.
func startEngine(t *testing.T, e engine, further ...string) string {
	t.Helper()
	address, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.start(t, address, further...)
	return "http://" + address
}

// start starts a server at an address and returns once it answers.
func (e *engine) start(t *testing.T, address string, further ...string) *process.Process {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	p := process.ForTest(t, e.environment, e.program, append(e.arguments(host, port), further...)...)
	began := time.Now()
	if err := p.Ready(process.Within(t, startup), "http://"+address+"/health"); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s was ready after %v", filepath.Base(e.program), time.Since(began).Round(time.Second))
	return p
}
