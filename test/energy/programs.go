package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// limit is how long one run may take on a busy machine.
const limit = 4 * time.Minute

const (
	concurrency = 4
	tokens      = 60 // of an answer
	gpus        = 2
	watts       = 400 // of each of them
)

// tool is a program that asks the server and says what it saw.
type tool struct {
	name string
	ask  func(ctx context.Context, host, folder string) error
	read func(folder string) (figures, error)
}

// listening is what the server prints first.
var listening = regexp.MustCompile(`(127\.0\.0\.1:\d+)`)

func build(ctx context.Context, folder string) (string, error) {
	server := filepath.Join(folder, "truthserver")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", server, "./test/truthserver").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return server, nil
}

// try lets one program ask a server, and reads what it said and what was true.
func (o *options) try(ctx context.Context, server string, t *tool, folder string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return result{}, err
	}
	p, err := process.Start(ctx, nil, server, "-page-delay", o.delay.String(), "-gpus", strconv.Itoa(gpus), "-watts", strconv.Itoa(watts))
	if err != nil {
		return result{}, err
	}
	host, err := p.Find(ctx, listening)
	if err != nil {
		return result{}, err
	}
	if err = t.ask(ctx, host, folder); err != nil {
		return result{}, err
	}
	said, err := t.read(folder)
	if err != nil {
		return result{}, err
	}
	sent, err := sentTokens(ctx, host)
	if err != nil {
		return result{}, err
	}
	return result{tool: t.name, said: said, truth: truthOf(said.window, sent)}, nil
}

// sentTokens is what the server knows.
func sentTokens(ctx context.Context, host string) (float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/truth", http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var told struct {
		Tokens float64 `json:"output_tokens"`
	}
	err = json.NewDecoder(resp.Body).Decode(&told)
	return told.Tokens, err
}

func (o *options) askTheirs(ctx context.Context, host, folder string) error {
	return finish(
		ctx, "env", "HOME="+folder, "TMPDIR="+folder, o.peer, "profile", "--model=truth", "--url=http://"+host, "--endpoint-type=chat", "--streaming",
		"--tokenizer="+o.model, "--use-server-token-count", "--concurrency="+strconv.Itoa(concurrency), "--request-count="+strconv.Itoa(o.requests),
		"--synthetic-input-tokens-mean=50", "--output-tokens-mean="+strconv.Itoa(tokens), "--num-dataset-entries="+strconv.Itoa(o.prompts),
		"--random-seed=7", "--ui=none", "--gpu-telemetry", "http://"+host+"/gpu/metrics", "--server-metrics", "http://"+host+"/metrics",
		"--output-artifact-dir="+folder,
	)
}

func (o *options) askOurs(ctx context.Context, host, folder string) error {
	file := filepath.Join(folder, "aiperf-exporter.yml")
	if err := os.WriteFile(file, fmt.Appendf(nil, configuration, tokens, concurrency, host, host), 0o600); err != nil {
		return err
	}
	return finish(ctx, o.binary, "run", "--config.file="+file, "--requests="+strconv.Itoa(o.requests), "--out="+folder)
}

// configuration asks what askTheirs asks, and looks at servers and GPUs as often as it does by itself.
const configuration = `
workloads:
  prompts: {stream: true, input_tokens: 50, output_tokens: %d}
loads:
  users: {mode: closed, concurrency: %d, min_interval: 1ms}
collectors:
  gpu: {source: dcgm, dcgm: {urls: ["http://%s/gpu/metrics"]}}
targets:
  - {name: truth, url: "http://%s", model: truth, endpoint: {type: chat}, workload: prompts, load: users}
`

// finish runs a program to its end.
func finish(ctx context.Context, program string, arguments ...string) error {
	p, err := process.Start(ctx, nil, program, arguments...)
	if err != nil {
		return err
	}
	code, err := p.Wait(ctx)
	if err != nil || code != 0 {
		return fmt.Errorf("%s %v ended with code %d, %w\n%s", program, arguments, code, err, p.Output())
	}
	return nil
}
