//go:build engines

// Package engines lets the built binary measure inference servers that nobody here wrote, and compares its counts with theirs.
// `make engines ENGINE=llama` or `ENGINE=vllm` installs the server and runs the test; DURATION (1m) says for how long.
package engines

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

const (
	binary  = "../../bin/aiperf-exporter"
	cache   = "../../.cache/"
	startup = 5 * time.Minute // vLLM takes up to two on an idle machine
)

// engine is an inference server and what it calls its own counters.
type engine struct {
	program     string
	arguments   func(host, port string) []string
	environment []string
	rate        float64  // requests per second and target, such that requests overlap but there are moments without any
	output      string   // counter of generated tokens
	input       []string // counters that add up to the prompt tokens
}

var enginesByName = map[string]engine{
	"llama": {
		program: cache + "llama/bin/llama-server",
		arguments: func(host, port string) []string {
			return []string{"--model", cache + "model/tiny.gguf", "--alias", "tiny", "--host", host, "--port", port, "--metrics", "--parallel", "4", "--ctx-size", "8192"}
		},
		rate:   3,
		output: "llamacpp:tokens_predicted_total",
		input:  []string{"llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"},
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
		rate:        0.7,
		output:      "vllm:generation_tokens_total",
		input:       []string{"vllm:prompt_tokens_total"},
	},
}

// config asks for chats and completions: URL and rate.
const config = `
workloads:
  short: {input_tokens: {mean: 60, stddev: 20}, output_tokens: {mean: 40, stddev: 15}}
loads:
  trickle: {mode: poisson, rate: %[2]g, max_in_flight: 16}
targets:
  - {name: chat, url: %[1]q, model: tiny, endpoint: {type: chat}, workload: short, load: trickle, seed: 1}
  - {name: completions, url: %[1]q, model: tiny, endpoint: {type: completions}, workload: short, load: trickle, seed: 2}
`

func TestCountsAreThoseOfTheServer(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv("DURATION"))
	if os.Getenv("DURATION") == "" {
		duration, err = time.Minute, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, engine := range enginesByName {
		t.Run(name, func(t *testing.T) {
			url := startEngine(t, engine)
			path := filepath.Join(t.TempDir(), "aiperf-exporter.yml")
			if err := os.WriteFile(path, fmt.Appendf(nil, config, url, engine.rate), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Run("one-shot", func(t *testing.T) { oneShot(t, engine, url, path) })
			t.Run("daemon", func(t *testing.T) { daemon(t, engine, url, path, duration) })
		})
	}
}

// startEngine starts a server on a free port and gives its URL once it answers.
func startEngine(t *testing.T, e engine) string {
	t.Helper()
	address, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	p := process.ForTest(t, e.environment, e.program, e.arguments(host, port)...)
	began := time.Now()
	if err := p.Ready(process.Within(t, startup), "http://"+address+"/health"); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s was ready after %v", filepath.Base(e.program), time.Since(began).Round(time.Second))
	return "http://" + address
}

// oneShot sends a fixed number of requests and compares the report's totals.
func oneShot(t *testing.T, e engine, url, path string) {
	t.Helper()
	before := read(t, url)
	run := exec.CommandContext(process.Within(t, startup), binary, "run", "--config.file="+path, "--target=chat", "--requests=20", "--format=json")
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("run: %v\n%s", err, out)
	}
	var report struct {
		Requests     metric `json:"request_count"`
		Errors       metric `json:"error_request_count"`
		OutputTokens metric `json:"total_osl"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if report.Requests.Avg != 20 || report.Errors.Avg != 0 {
		t.Errorf("got %v successes and %v errors, want 20 and 0", report.Requests.Avg, report.Errors.Avg)
	}
	want := read(t, url).Sum(e.output, nil) - before.Sum(e.output, nil)
	if report.OutputTokens.Avg != want || want == 0 {
		t.Errorf("report says %v output tokens, the server %v", report.OutputTokens.Avg, want)
	}
	t.Logf("20 requests: %v output tokens by report and by server", want)
}

// metric is one scalar of the report.
type metric struct {
	Avg float64 `json:"avg"`
}

// daemon runs the exporter for a while and compares its series with the server's at a moment without requests.
func daemon(t *testing.T, e engine, url, path string, duration time.Duration) {
	t.Helper()
	before := read(t, url)
	address, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := process.ForTest(t, nil, binary, "serve", "--config.file="+path, "--web.listen-address="+address)
	ours := "http://" + address
	err = p.Ready(process.Within(t, time.Minute), ours+"/-/ready")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-time.After(duration):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}

	err = process.Until(process.Within(t, 2*time.Minute), func() error {
		first, theirs, second := read(t, ours), read(t, url), read(t, ours)
		if open := second.Sum("aiperf_inflight_requests", nil); open != 0 || first.Sum("aiperf_arrivals_total", nil) != second.Sum("aiperf_arrivals_total", nil) {
			return errors.New("never a moment without requests")
		}
		counted := second.Sum("aiperf_tokens_total", scrape.Labels{"token_type": "output"})
		if want := theirs.Sum(e.output, nil) - before.Sum(e.output, nil); counted != want || want == 0 {
			return fmt.Errorf("%v output tokens counted, the server has %v", counted, want)
		}
		input, want := second.Sum("aiperf_tokens_total", scrape.Labels{"token_type": "input"}), 0.0
		for _, name := range e.input {
			want += theirs.Sum(name, nil) - before.Sum(name, nil)
		}
		if input != want {
			return fmt.Errorf("%v input tokens counted, the server has %v", input, want)
		}
		t.Logf("%v: %v requests, %v input and %v output tokens by both", duration, second.Sum("aiperf_requests_total", nil), input, counted)
		return nil
	})
	if err != nil {
		t.Error(err)
	}

	f := read(t, ours)
	// A machine that stalls may cost arrivals; they are accounted for and no fault of the server.
	t.Logf("arrivals dropped, by reason: %v", f.By("aiperf_arrivals_dropped_total", "reason", nil))
	for _, name := range []string{
		"aiperf_request_errors_total", "aiperf_usage_missing_total", "aiperf_invalid_records_total", "aiperf_sse_parse_errors_total",
	} {
		for _, series := range f.Series(name, nil) {
			if n := series.GetCounter().GetValue(); n != 0 {
				t.Errorf("%s%v is %v, want 0", name, series.GetLabel(), n)
			}
		}
	}
	for _, target := range []string{"chat", "completions"} {
		if f.Sum("aiperf_requests_total", scrape.Labels{"target": target, "outcome": "success"}) == 0 {
			t.Errorf("target %s had no success", target)
		}
	}
	if err := p.Terminate(); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(process.Within(t, time.Minute)); err != nil || code != 0 {
		t.Errorf("exit code %d, %v", code, err)
	}
}

func read(t *testing.T, url string) scrape.Families {
	t.Helper()
	f, err := scrape.Get(process.Within(t, time.Minute), url+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	return f
}
