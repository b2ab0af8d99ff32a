package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// programs says where things are.
type programs struct {
	exporter string
	peer     string // AIPerf
	model    string // folder that has a tokenizer
}

// limit is how long one run may take on a busy machine.
const limit = 3 * time.Minute

// What both are asked to do: requests, so many at a time, and answers of so many tokens.
const (
	requests    = 40
	concurrency = 4
	tokens      = 60
	// failEvery is how often the server refuses a request.
	failEvery = 10
)

// listening is what the server prints first.
var listening = regexp.MustCompile(`(127\.0\.0\.1:\d+)`)

// writeBoth lets each program ask a server of its own, of the same kind, and write its files.
func (p *programs) writeBoth(ctx context.Context, folder, theirs, ours string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, needed := range []string{theirs, ours} {
		if err := os.MkdirAll(needed, 0o750); err != nil {
			return err
		}
	}
	server := filepath.Join(folder, "truthserver")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", server, "./test/truthserver").CombinedOutput(); err != nil {
		return fmt.Errorf("build the server: %w\n%s", err, out)
	}
	prompts := filepath.Join(folder, "prompts.jsonl")
	if err := os.WriteFile(prompts, []byte(rows()), 0o600); err != nil {
		return err
	}
	for _, ask := range []struct {
		by     func(ctx context.Context, host, prompts, folder string) error
		folder string
	}{{p.askTheirs, theirs}, {p.askOurs, ours}} {
		if err := asking(ctx, server, func(host string) error { return ask.by(ctx, host, prompts, ask.folder) }); err != nil {
			return err
		}
	}
	return nil
}

// rows are the prompts. Their lengths change halfway between the requests that the server refuses: which of those that were sent at the same time
// arrives as the tenth is chance.
func rows() string {
	var b strings.Builder
	for i := range requests {
		fmt.Fprintf(&b, `{"text":"%s","output_length":%d}`+"\n", strings.Repeat("word ", 20+(i+failEvery/2)/failEvery), tokens)
	}
	return b.String()
}

// asking runs a server for as long as ask takes.
func asking(ctx context.Context, server string, ask func(host string) error) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	p, err := process.Start(serving, nil, server, "-fail-every", strconv.Itoa(failEvery))
	if err != nil {
		return err
	}
	host, err := p.Find(ctx, listening)
	if err != nil {
		return err
	}
	return ask(host)
}

func (p *programs) askTheirs(ctx context.Context, host, prompts, folder string) error {
	return finish(
		ctx, 0, "env", "HOME="+folder, "TMPDIR="+folder, p.peer, "profile", "--model=truth", "--url=http://"+host, "--endpoint-type=chat", "--streaming",
		"--tokenizer="+p.model, "--use-server-token-count", "--input-file="+prompts, "--custom-dataset-type=single_turn",
		"--concurrency="+strconv.Itoa(concurrency), "--request-count="+strconv.Itoa(requests), "--random-seed=7", "--ui=none",
		"--workers-max=1", "--record-processors=1", "--goodput=time_to_first_token:2000 inter_token_latency:1000",
		"--gpu-telemetry", "http://"+host+"/gpu/metrics", "--server-metrics", "http://"+host+"/metrics", "--output-artifact-dir="+folder,
	)
}

// askOurs ends with code 1: requests have failed.
func (p *programs) askOurs(ctx context.Context, host, prompts, folder string) error {
	file := filepath.Join(folder, "aiperf-exporter.yml")
	if err := os.WriteFile(file, fmt.Appendf(nil, configuration, prompts, concurrency, host, host), 0o600); err != nil {
		return err
	}
	return finish(ctx, 1, p.exporter, "run", "--config.file="+file, "--requests="+strconv.Itoa(requests), "--out="+folder, "--records")
}

// configuration asks what askTheirs asks.
const configuration = `
workloads:
  prompts: {stream: true, cache: repeat, dataset: {format: single_turn, file: %q, sampling: sequential}}
loads:
  users: {mode: closed, concurrency: %d, min_interval: 1ms}
slos:
  interactive: {objective: 0.5, window: 30d, time_to_first_token: 2s, inter_token_latency: 1s}
http_clients:
  default: {reuse: keepalive}
collectors:
  gpu: {source: dcgm, dcgm: {interval: 1s, urls: ["http://%s/gpu/metrics"]}}
targets:
  - name: truth
    url: http://%s
    model: truth
    endpoint: {type: chat}
    workload: prompts
    load: users
    slo: interactive
`

// finish runs a program to its end, which must be with this code.
func finish(ctx context.Context, want int, program string, arguments ...string) error {
	p, err := process.Start(ctx, nil, program, arguments...)
	if err != nil {
		return err
	}
	code, err := p.Wait(ctx)
	if err != nil || code != want {
		return fmt.Errorf("%s %v ended with code %d, %w\n%s", program, arguments, code, err, p.Output())
	}
	return nil
}
