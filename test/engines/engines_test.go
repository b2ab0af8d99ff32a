//go:build engines

// Package engines lets the built binary measure inference servers that nobody here wrote, and compares its counts with theirs.
// `make engines ENGINE=llama`, `ENGINE=vllm` or `ENGINE=ollama` installs the server and runs the tests with it; DURATION (1m) says for how long.
package engines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

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
			for i := range engine.services {
				s := &engine.services[i]
				t.Run(s.name, func(t *testing.T) {
					url := startEngine(t, engine, s.arguments...)
					if !s.whole {
						daemon(t, engine, s, url, moment)
						return
					}
					for _, name := range []string{"chat", "talk", "talk-messages", "talk-responses"} {
						t.Run("one-shot "+name, func(t *testing.T) { oneShot(t, engine, s, url, name) })
					}
					t.Run("daemon", func(t *testing.T) { daemon(t, engine, s, url, duration) })
				})
			}
		})
	}
}

// write writes a configuration into a file.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aiperf-exporter.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// oneShot sends a fixed number of requests, one after the other, and compares the report's totals. Prompts of a conversation become
// longer with each turn.
func oneShot(t *testing.T, e engine, s *service, url, name string) {
	t.Helper()
	before, folder := read(t, url), t.TempDir()
	run := exec.CommandContext(process.Within(t, startup), binary, "run", "--config.file="+write(t, s.config(t, url, "one")), "--target="+name,
		"--requests=12", "--format=json", "--records", "--out="+folder)
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("run: %v\n%s", err, out)
	}
	var report struct {
		Requests     metric `json:"request_count"`
		Errors       metric `json:"error_request_count"`
		InputTokens  metric `json:"total_isl"`
		OutputTokens metric `json:"total_osl"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if report.Requests.Avg != 12 || report.Errors.Avg != 0 {
		t.Errorf("got %v successes and %v errors, want 12 and 0", report.Requests.Avg, report.Errors.Avg)
	}
	after := read(t, url)
	input, output := e.counted(before, after)
	if report.OutputTokens.Avg != output || output == 0 {
		t.Errorf("report says %v output tokens, the server %v", report.OutputTokens.Avg, output)
	}
	if report.InputTokens.Avg != input {
		t.Errorf("report says %v input tokens, the server %v", report.InputTokens.Avg, input)
	}
	t.Logf("12 requests: %v input and %v output tokens by report and by server", input, output)
	if name != "chat" {
		prompts := conversations(t, filepath.Join(folder, "profile_export.jsonl"))
		t.Logf("prompt tokens of the turns: %v", prompts)
		checkGrowth(t, prompts)
	}
}

// metric is one scalar of the report.
type metric struct {
	Avg float64 `json:"avg"`
}

// conversations reads the prompt tokens of the turns of each conversation.
func conversations(t *testing.T, file string) map[string][]float64 {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	prompts := map[string][]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		var line struct {
			Metadata struct {
				Session string `json:"x_correlation_id"`
			}
			Metrics struct {
				Prompt struct{ Value float64 } `json:"usage_prompt_tokens"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		session := line.Metadata.Session
		prompts[session] = append(prompts[session], line.Metrics.Prompt.Value)
	}
	return prompts
}

func checkGrowth(t *testing.T, conversations map[string][]float64) {
	t.Helper()
	if len(conversations) != 4 {
		t.Errorf("%d conversations, want 4 of 3 turns", len(conversations))
	}
	for session, prompts := range conversations {
		if len(prompts) != 3 {
			t.Errorf("%s has %d turns, want 3", session, len(prompts))
		}
		for i := 1; i < len(prompts); i++ {
			if prompts[i] < prompts[i-1]+20 { // the answer of 20 tokens, which may join with what follows it, and a message
				t.Errorf("turn %d of %s has %v prompt tokens after %v, without what was said", i+1, session, prompts[i], prompts[i-1])
			}
		}
	}
}

// counted is what the server has counted between two scrapes.
func (e *engine) counted(before, after scrape.Families) (input, output float64) {
	for _, name := range e.input {
		input += after.Sum(name, nil) - before.Sum(name, nil)
	}
	return input, after.Sum(e.output, nil) - before.Sum(e.output, nil)
}

// daemon runs the exporter for a while, pauses it, and compares its series with the server's when no request is open.
func daemon(t *testing.T, e engine, s *service, url string, duration time.Duration) {
	t.Helper()
	before := read(t, url)
	address, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := process.ForTest(t, nil, binary, "serve", "--config.file="+write(t, s.config(t, url, "trickle")), "--web.listen-address="+address, "--web.enable-admin-api")
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
	pause(t, ours)

	err = process.Until(process.Within(t, 2*time.Minute), func() error {
		f := read(t, ours)
		if open := f.Sum("aiperf_inflight_requests", nil); open != 0 {
			return fmt.Errorf("%v requests are still open", open)
		}
		theirs := read(t, url)
		wantInput, wantOutput := e.counted(before, theirs)
		output := f.Sum("aiperf_tokens_total", scrape.Labels{"token_type": "output"})
		if output != wantOutput || output == 0 && s.targets[0].items == "" {
			return fmt.Errorf("%v output tokens counted, the server has %v", output, wantOutput)
		}
		input := f.Sum("aiperf_tokens_total", scrape.Labels{"token_type": "input"})
		if input != wantInput && !s.silent {
			return fmt.Errorf("%v input tokens counted, the server has %v", input, wantInput)
		}
		t.Logf("%v: %v requests, %v input tokens (%v by the server) and %v output tokens by both",
			duration, f.Sum("aiperf_requests_total", nil), input, wantInput, output)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	checkSeries(t, s, read(t, ours))
	if err := p.Terminate(); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(process.Within(t, time.Minute)); err != nil || code != 0 {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// pause stops arrivals.
func pause(t *testing.T, url string) {
	t.Helper()
	post(t, url+"/-/pause", "")
}

// post sends a body of JSON, "" = none.
func post(t *testing.T, url, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(process.Within(t, time.Minute), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s", url, response.Status)
	}
}

// checkSeries checks that all went well, and that each target got what it had asked for.
func checkSeries(t *testing.T, s *service, f scrape.Families) {
	t.Helper()
	// A machine that stalls may cost arrivals; they are accounted for and no fault of the server.
	t.Logf("arrivals dropped, by reason: %v", f.By("aiperf_arrivals_dropped_total", "reason", nil))
	zero := []string{"aiperf_request_errors_total", "aiperf_invalid_records_total", "aiperf_sse_parse_errors_total"}
	if !s.silent {
		zero = append(zero, "aiperf_usage_missing_total")
	}
	for _, name := range zero {
		for _, series := range f.Series(name, nil) {
			if n := series.GetCounter().GetValue(); n != 0 {
				t.Errorf("%s%v is %v, want 0", name, series.GetLabel(), n)
			}
		}
	}
	for _, target := range s.targets {
		successes := f.Sum("aiperf_requests_total", scrape.Labels{"target": target.name, "outcome": "success"})
		if successes == 0 {
			t.Errorf("target %s had no success", target.name)
		}
		if target.items == "" {
			continue
		}
		if got, want := f.Sum(target.items, scrape.Labels{"target": target.name}), target.each*successes; got != want {
			t.Errorf("target %s: %v in %s, want %v", target.name, got, target.items, want)
		}
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
