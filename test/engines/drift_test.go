//go:build engines

package engines

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// questions are fixed prompts as a user would write them.
var questions = []string{
	"What is the capital of France?",
	"Count from one to ten.",
	"Write a short poem about the sea.",
	"Explain how a heat pump works in simple words, and when it pays off.",
	"Translate 'good morning' to German.",
	"List three primes.",
	"def fibonacci(n):",
	"Why is the sky blue? Answer in two sentences, without any formula, so that a child understands it.",
}

const (
	learned = 5   // answers to each question before the first comparison, the default
	repeats = 200 // answers to each question of a server that has not changed
)

// seen is what must show that a server has changed.
type seen int

const (
	byNothing       seen = iota // it has not
	byProbabilities             // the text may show it or not
	byText                      // and by log-probabilities
)

// variants are servers that would not tell that they have changed.
var variants = []struct {
	name, model string
	arguments   []string
	seen        seen
}{
	{"the same server once more", "model/tiny.gguf", nil, byNothing},
	{"other weights", "variants/weights.gguf", nil, byText},
	{"a space in the chat template", "model/tiny.gguf", []string{"--jinja", "--chat-template-file", cache + "variants/template.jinja"}, byText},
	{"another chat template", "model/tiny.gguf", []string{"--chat-template", "chatml"}, byText},
	{"16 bits", "variants/bf16.gguf", nil, byProbabilities},
	{"8 bits", "variants/q8_0.gguf", nil, byText},
	{"5 bits", "variants/q5_0.gguf", nil, byText},
	{"4 bits", "variants/q4_0.gguf", nil, byText},
	{"a cache of keys and values with 8 bits", "model/tiny.gguf", []string{"-ctk", "q8_0", "-ctv", "q8_0", "-fa", "on"}, byProbabilities},
	{"weights that only say !", broken, nil, byText},
}

const broken = "variants/broken.gguf"

// fingerprinted is a server that is asked the fixed questions by two targets: with log-probabilities, and by the text alone. Questions, URL,
// folder of the baselines, load.
const fingerprinted = `
workloads:
  full: {prompts: %[1]s, output_tokens: 64, cache: repeat}
  text: {prompts: %[1]s, output_tokens: 64, cache: repeat, extra: {logprobs: null, top_logprobs: null}}
  anything: {input_tokens: {mean: 60, stddev: 30}, output_tokens: {mean: 40, stddev: 20}}
loads:
  alone: {mode: closed, min_interval: 1ms}
  together: {mode: closed, concurrency: 3, min_interval: 1ms}
targets:
  - name: full
    url: &url %[2]q
    model: tiny
    endpoint: {type: chat}
    workload: full
    load: %[4]s
    expect: &expect [{no_repetition: true, no_garbage: true}]
    fingerprint: {enabled: true, baseline_file: %[3]s/full.json}
  - name: text
    url: *url
    model: tiny
    endpoint: {type: chat}
    workload: text
    load: %[4]s
    expect: *expect
    fingerprint: {enabled: true, baseline_file: %[3]s/text.json}
`

// beside are other clients in the server's batches.
const beside = `
  - {name: beside, url: *url, model: tiny, endpoint: {type: chat}, workload: anything, load: together}
`

// fingerprints are the targets that compare.
var fingerprints = []string{"full", "text"}

func fingerprintConfig(t *testing.T, url, folder, load string) string {
	t.Helper()
	prompts, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(fingerprinted, prompts, url, folder, load)
}

func TestSilentChangesShowWithinOneProbe(t *testing.T) {
	t.Run("llama", func(t *testing.T) {
		folder := t.TempDir()
		learn(t, folder)
		for _, v := range variants {
			t.Run(v.name, func(t *testing.T) {
				probe(t, startEngine(t, variant(v.model, v.arguments)), folder, v.seen, v.model == broken)
			})
		}
	})
}

// learn makes the baselines with a server that has nothing else to do, and compares with it when it is busy.
func learn(t *testing.T, folder string) {
	t.Helper()
	url := startEngine(t, variant("model/tiny.gguf", nil))
	alone := write(t, fingerprintConfig(t, url, folder, "alone"))
	for _, target := range fingerprints {
		p := process.ForTest(t, nil, binary, "run", "--config.file="+alone, "--target="+target, fmt.Sprintf("--requests=%d", learned*len(questions)))
		if code, err := p.Wait(process.Within(t, startup)); code != 0 || err != nil {
			t.Fatal(code, err)
		}
	}
	want := float64(repeats * len(questions))
	began := time.Now()
	f := watch(t, fingerprintConfig(t, url, folder, "together")+beside, want)
	for _, target := range fingerprints {
		results := f.By("aiperf_output_fingerprint_total", "result", scrape.Labels{"target": target})
		t.Logf("%s: %v in %v, beside %v other answers", target, results, time.Since(began).Round(time.Second),
			f.Sum("aiperf_requests_total", scrape.Labels{"target": "beside"}))
		if len(results) != 1 || results["same"] < want {
			t.Errorf("%s: %v, want nothing but the same", target, results)
		}
	}
	if n := f.Sum("aiperf_answer_check_failures_total", nil); n != 0 {
		t.Errorf("%v healthy answers are said to be loops or garbage", n)
	}
}

// probe asks each question once, and looks at what the series say then.
func probe(t *testing.T, url, folder string, want seen, isBroken bool) {
	t.Helper()
	f := watch(t, fingerprintConfig(t, url, folder, "alone"), float64(len(questions)))
	for _, target := range fingerprints {
		of := scrape.Labels{"target": target}
		results := f.By("aiperf_output_fingerprint_total", "result", of)
		failures := f.Sum("aiperf_answer_check_failures_total", of)
		t.Logf("%s: %v, %v loops or garbage", target, results, failures)
		least := byProbabilities
		if target == "text" {
			least = byText
		}
		if changed := results["changed"] > 0; changed != (want >= least) && (target == "full" || want != byProbabilities) {
			t.Errorf("%s: changed is %v", target, changed)
		}
		if isBroken && failures < float64(len(questions)) {
			t.Errorf("%s: %v broken answers are said to be broken, want all", target, failures)
		}
	}
}

// watch runs a daemon until each target that compares has had so many answers, and gives its series.
func watch(t *testing.T, config string, answers float64) scrape.Families {
	t.Helper()
	address, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := process.ForTest(t, nil, binary, "serve", "--config.file="+write(t, config), "--web.listen-address="+address)
	url := "http://" + address
	if err = p.Ready(process.Within(t, time.Minute), url+"/-/ready"); err != nil {
		t.Fatal(err)
	}
	err = process.Until(process.Within(t, 2*startup), func() error {
		compared := read(t, url).By("aiperf_output_fingerprint_total", "target", nil)
		for _, target := range fingerprints {
			if compared[target] < answers {
				return fmt.Errorf("%s has compared %v answers", target, compared[target])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := read(t, url)
	if err := p.Terminate(); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(process.Within(t, startup)); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	return f
}

// variant is llama.cpp's server with another model or other arguments.
func variant(model string, arguments []string) engine {
	e := enginesByName["llama"]
	e.arguments = func(host, port string) []string {
		return append([]string{
			"--model", filepath.Join(cache, model), "--alias", "tiny", "--host", host, "--port", port,
			"--parallel", "4", "--ctx-size", "8192", "--threads", "1",
		}, arguments...)
	}
	return e
}
