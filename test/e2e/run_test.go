//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// once is a target whose first tokens come 20 ms after the request; the limit of its SLO is open.
const once = `
workloads:
  short: {input_tokens: 16, output_tokens: 8}
loads:
  quick: {mode: constant, rate: 50, max_in_flight: 50}
slos:
  quick: {objective: 0.9, time_to_first_token: %s}
targets:
  - {name: once, url: %q, model: truth, endpoint: {type: chat, path: %s}, workload: short, load: quick, slo: [quick]}
`

func TestRunTellsByItsExitCodeHowItWent(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=20ms", "-itl=1ms")
	for name, test := range map[string]struct {
		limit, path string
		want        int
	}{
		"all well":               {limit: "10s", path: "/v1/chat/completions", want: 0},
		"a request failed":       {limit: "10s", path: "/nowhere", want: 1},
		"the SLO was missed":     {limit: "1ms", path: "/v1/chat/completions", want: 3},
		"the mistake is in here": {limit: "soon", path: "/v1/chat/completions", want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := file(t, "aiperf-exporter.yml", fmt.Sprintf(once, test.limit, s.url, test.path))
			p := process.ForTest(t, nil, binary, "run", "--config.file="+config, "--requests=5")
			code, err := p.Wait(process.Within(t, patience))
			if err != nil {
				t.Fatal(err)
			}
			if code != test.want {
				t.Errorf("exit code %d, want %d", code, test.want)
			}
		})
	}
}

// frugal may ask three times a day: URL, zone.
const frugal = `
loads:
  quick: {mode: constant, rate: 50}
targets:
  - {name: frugal, url: %q, model: peer, endpoint: {type: chat}, load: quick, budget: {requests_per_day: 3, tz: %s}}
`

func TestRunEndsWhenItsBudgetIsSpent(t *testing.T) {
	t.Parallel()
	p := startPeer(t, plain)
	config := file(t, "aiperf-exporter.yml", fmt.Sprintf(frugal, p.url, noon()))
	e := process.ForTest(t, nil, binary, "run", "--config.file="+config, "--requests=5")
	code, err := e.Wait(process.Within(t, patience))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.asked("frugal")); code != 1 || n != 3 || !strings.Contains(e.Output(), "ended before 5 requests") {
		t.Errorf("exit code %d after %d requests, want 1 after 3, and a note in:\n%s", code, n, e.Output())
	}
}

func TestRunReportsWhatTheServerKnows(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=20ms", "-itl=1ms")
	config := file(t, "aiperf-exporter.yml", fmt.Sprintf(once, "10s", s.url, "/v1/chat/completions"))
	out, err := exec.CommandContext(process.Within(t, patience), binary, "run", "--config.file="+config, "--requests=30", "--format=json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	type scalar struct {
		Avg float64 `json:"avg"`
	}
	var report struct {
		Requests     scalar `json:"request_count"`
		OutputTokens scalar `json:"total_osl"`
		TTFT         struct {
			Count int     `json:"count"`
			P50   float64 `json:"p50"` // milliseconds
		} `json:"time_to_first_token"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	known := s.truth(t)
	if int(report.Requests.Avg) != 30 || known.Completed != 30 || report.TTFT.Count != 30 {
		t.Errorf("%v requests and %d TTFTs reported, the server completed %d, want 30", report.Requests.Avg, report.TTFT.Count, known.Completed)
	}
	if int(report.OutputTokens.Avg) != known.OutputTokens {
		t.Errorf("%v output tokens reported, the server sent %d", report.OutputTokens.Avg, known.OutputTokens)
	}
	// A client cannot see a token before it was sent. How much later it sees it is for `make accuracy` to say.
	if report.TTFT.P50 < known.TTFT.P50*1e3 {
		t.Errorf("median TTFT is %v ms, below the server's %v ms", report.TTFT.P50, known.TTFT.P50*1e3)
	}
}
