package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
const limit = 5 * time.Minute

// askTheirs lets AIPerf ask what the files say. What it makes of the answers does not matter.
func (p *programs) askTheirs(ctx context.Context, t *trial, url, files, folder string) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	arguments := []string{
		"HOME=" + folder, "TMPDIR=" + folder, p.peer, "profile", "--model=m", "--url=" + url, "--endpoint-type=" + t.endpoint,
		"--concurrency=1", "--input-file=" + files, "--custom-dataset-type=" + t.format, "--ui=none", "--no-gpu-telemetry",
		"--no-server-metrics", "--export-level=summary", "--workers-max=1", "--record-processors=1",
		"--output-artifact-dir=" + filepath.Join(folder, "out"),
	}
	if t.conversations > 0 {
		arguments = append(arguments, "--num-conversations="+strconv.Itoa(t.conversations))
	} else {
		arguments = append(arguments, "--request-count="+strconv.Itoa(t.requests))
	}
	if t.stream {
		arguments = append(arguments, "--streaming")
	}
	if !t.untokenized {
		arguments = append(arguments, "--tokenizer="+p.model, "--use-server-token-count")
	}
	return finish(ctx, "env", append(arguments, t.theirs...)...)
}

// askOurs lets the exporter ask the same; all requests have to succeed.
func (p *programs) askOurs(ctx context.Context, t *trial, url, files, folder string) error {
	config := fmt.Sprintf(configuration, t.workload, t.stream, t.format, files, url, t.endpoint, t.ours)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	file := filepath.Join(folder, "aiperf-exporter.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	return finish(ctx, p.exporter, "run", "--config.file="+file, "--requests="+strconv.Itoa(t.requests))
}

// configuration asks one thing after the other, as it stands in the file: without the number against caches that begins prompts otherwise.
const configuration = `
workloads:
  files: {%sstream: %v, cache: repeat, dataset: {format: %s, file: %q, sampling: sequential}}
loads:
  turns: {mode: closed, concurrency: 1, min_interval: 1ms}
collectors: {server: {enabled: false}} # which would be asked, too
targets:
  - {name: recorder, url: %q, model: m, endpoint: {type: %s%s}, workload: files, load: turns}
`

// finish runs a program to its end.
func finish(ctx context.Context, program string, arguments ...string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
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
