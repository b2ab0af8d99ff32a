//go:build e2e

// Package e2e runs the built binary as a process, lets a real Prometheus scrape it and a real OpenTelemetry collector receive what it sends, and
// holds what a user would see against what happened. `make e2e` builds and installs what it needs.
package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// patience is how long a test waits for something that takes a moment on an idle machine.
const patience = time.Minute

// The programs, as seen from this folder.
const (
	binary     = "../../bin/aiperf-exporter"
	prometheus = "../../.cache/prometheus/bin/prometheus"
	promtool   = "../../.cache/prometheus/bin/promtool"
)

// listening is what the truth server writes first.
var listening = regexp.MustCompile(`(?m)^(127\.0\.0\.1:\d+)$`)

// truthServer is built once, by TestMain; `go run` would put a process between us and it.
var truthServer string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	for _, program := range []string{binary, prometheus, promtool, otelcol} {
		if _, err := os.Stat(program); err != nil {
			fmt.Fprintln(os.Stderr, err, "(run this by make e2e)")
			return 1
		}
	}
	folder, err := os.MkdirTemp("", "aiperf-exporter-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	truthServer = filepath.Join(folder, "truthserver")
	build := exec.Command("go", "build", "-o", truthServer, "../truthserver")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the truth server:", err)
		return 1
	}
	return m.Run()
}

// address is a free one.
func address(t *testing.T) string {
	t.Helper()
	a, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// file writes content into a file of the test's own.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// server is a running truth server.
type server struct{ url string }

func startServer(t *testing.T, args ...string) server {
	t.Helper()
	p := process.ForTest(t, nil, truthServer, args...)
	a, err := p.Find(process.Within(t, patience), listening)
	if err != nil {
		t.Fatal(err)
	}
	return server{"http://" + a}
}

// truth is what the server knows; see its own documentation.
type truth struct {
	Requests     int `json:"requests"`
	Completed    int `json:"completed"`
	Aborted      int `json:"aborted"`
	OutputTokens int `json:"output_tokens"`
	TTFT         struct {
		P50 float64 `json:"p50"`
	} `json:"ttft"`
	First  int64 `json:"first_arrival_ns"`
	Last   int64 `json:"last_arrival_ns"`
	Shared bool  `json:"shared_connection"`
}

func (s server) truth(t *testing.T) truth {
	t.Helper()
	body, err := scrape.Bytes(process.Within(t, patience), s.url+"/truth", "application/json")
	if err != nil {
		t.Fatal(err)
	}
	var known truth
	if err := json.Unmarshal(body, &known); err != nil {
		t.Fatal(err)
	}
	return known
}

// recentTTFT is a quantile of TTFT in seconds, of the requests that arrived in the time before now.
func (s server) recentTTFT(t *testing.T, window time.Duration, q float64) float64 {
	t.Helper()
	recent := s.recent(t, window)
	return recent[int(q*float64(len(recent)-1))]
}

// known is what the server knows of a request.
type known struct {
	Arrived int64   `json:"arrived_ns"` // wall clock
	TTFT    float64 `json:"ttft"`       // seconds
}

// requests are all that the server has answered.
func (s server) requests(t *testing.T) (all []known) {
	t.Helper()
	body, err := scrape.Bytes(process.Within(t, patience), s.url+"/truth/requests", "application/jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(body) {
		var row known
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// recent are the TTFTs in seconds, ascending, of the requests that arrived in the time before now.
func (s server) recent(t *testing.T, window time.Duration) []float64 {
	t.Helper()
	all := s.requests(t)
	since := time.Now().Add(-window).UnixNano()
	var recent []float64
	for _, r := range all {
		if r.Arrived >= since {
			recent = append(recent, r.TTFT)
		}
	}
	if len(recent) == 0 {
		t.Fatal("the server had no request lately")
	}
	slices.Sort(recent)
	return recent
}

// exporter is a running daemon.
type exporter struct {
	*process.Process
	url string
}

// serve starts the daemon with a configuration and waits until it is ready.
func serve(t *testing.T, config string, args ...string) exporter {
	t.Helper()
	return serveIn(t, nil, config, args...)
}

// serveIn is serve with variables added to the environment.
func serveIn(t *testing.T, environment []string, config string, args ...string) exporter {
	t.Helper()
	return startExporter(t, environment, append([]string{"serve", "--config.file=" + file(t, "aiperf-exporter.yml", config)}, args...)...)
}

func startExporter(t *testing.T, environment []string, args ...string) exporter {
	t.Helper()
	a := address(t)
	e := exporter{process.ForTest(t, environment, binary, append(args, "--web.listen-address="+a)...), "http://" + a}
	if err := e.Ready(process.Within(t, patience), e.url+"/-/ready"); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e exporter) scrape(t *testing.T) scrape.Families {
	t.Helper()
	families, err := scrape.Get(process.Within(t, patience), e.url+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// eventually waits until condition holds.
func eventually(t *testing.T, d time.Duration, condition func() error) {
	t.Helper()
	if err := process.Until(process.Within(t, d), condition); err != nil {
		t.Fatal(err)
	}
}

// lint runs promtool check metrics over an exposition in the text format.
func lint(t *testing.T, exposition []byte) {
	t.Helper()
	check := exec.CommandContext(process.Within(t, patience), promtool, "check", "metrics")
	check.Stdin = bytes.NewReader(exposition)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
