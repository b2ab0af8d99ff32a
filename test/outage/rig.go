package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/received"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// telling is what the exporter has and its twin has not: address of the collector.
const telling = `
otlp:
  enabled: true
  endpoint: http://%s
  temporality: delta
  traces: {enabled: true}
`

// configuration is that of both, without their targets: requests per second of a target.
const configuration = `
workloads:
  short: {input_tokens: 32, output_tokens: 16}
http_clients:
  kept: {reuse: keepalive}
loads:
  steady: {mode: constant, rate: %g, max_in_flight: 50}
slos:
  quick: {objective: 0.9, time_to_first_token: 150ms}
defaults: {model: truth, endpoint: {type: chat}, workload: short, load: steady, client: kept, slo: [quick]}
targets:
`

// patience is how long a program may take to start.
const patience = time.Minute

// listening is what the truth server writes first.
var listening = regexp.MustCompile(`(?m)^(127\.0\.0\.1:\d+)$`)

// rig are the running programs.
type rig struct {
	program   string // of the collector
	folder    string
	address   string // of the collector
	url, twin string // of the exporter, and of one that does the same and tells nobody
	collector *process.Process
}

// build starts everything but the collector.
func build(ctx context.Context, o *options, folder string) (*rig, error) {
	starting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	truth := filepath.Join(folder, "truthserver")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", truth, "./test/truthserver").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the truth server: %w\n%s", err, out)
	}
	server, err := process.Start(ctx, nil, truth, "-ttft=40ms", "-ttft-spread=200ms", "-itl=5ms")
	if err != nil {
		return nil, err
	}
	to, err := server.Find(starting, listening)
	if err != nil {
		return nil, err
	}
	r := &rig{program: o.collector, folder: folder}
	if r.address, err = process.FreeAddress(ctx); err != nil {
		return nil, err
	}
	if err = r.startCollector(ctx); err != nil {
		return nil, err
	}
	common := strings.Builder{}
	fmt.Fprintf(&common, configuration, o.rate)
	for i := range o.targets {
		fmt.Fprintf(&common, "  - {name: target-%d, url: %q}\n", i, "http://"+to)
	}
	if r.url, err = r.startExporter(ctx, o.binary, "exporter.yml", fmt.Sprintf(telling, r.address)+common.String()); err != nil {
		return nil, err
	}
	r.twin, err = r.startExporter(ctx, o.binary, "twin.yml", common.String())
	return r, err
}

// startExporter starts one with a configuration, that is written to a file of this name, and gives its URL.
func (r *rig) startExporter(ctx context.Context, binary, name, text string) (url string, err error) {
	starting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	address, err := process.FreeAddress(ctx)
	if err != nil {
		return "", err
	}
	file := filepath.Join(r.folder, name)
	if err = os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	exporter, err := process.Start(ctx, nil, binary, "serve", "--config.file="+file, "--web.listen-address="+address, "--web.enable-admin-api")
	if err != nil {
		return "", err
	}
	return "http://" + address, exporter.Ready(starting, "http://"+address+"/-/ready")
}

func (r *rig) startCollector(ctx context.Context) (err error) {
	starting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r.collector, err = process.Start(ctx, nil, r.program, received.Arguments("test/otelcol", r.address, r.folder)...)
	if err != nil {
		return err
	}
	_, err = r.collector.Find(starting, received.Ready)
	return err
}

// killCollector does so right after an export has arrived: one whose answer is lost would be sent again, and added up twice.
func (r *rig) killCollector(ctx context.Context) error {
	if err := r.arrival(ctx); err != nil {
		return err
	}
	if err := r.collector.Kill(); err != nil {
		return err
	}
	_, err := r.collector.Wait(ctx)
	return err
}

// arrival waits until one more export has arrived.
func (r *rig) arrival(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	return received.Arrival(ctx, r.page(), 1)
}

func (r *rig) page() string { return r.url + "/metrics" }

// pause stops the traffic, and waits until all requests have ended.
func (r *rig) pause(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/-/pause", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("pause: %s, %w", answer.Status, err)
	}
	return process.Until(ctx, func() error {
		f, err := scrape.Get(ctx, r.page())
		if n := f.Sum("aiperf_inflight_requests", nil); err == nil && n > 0 {
			err = fmt.Errorf("%v requests have not ended", n)
		}
		return err
	})
}
