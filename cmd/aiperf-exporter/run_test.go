package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/demo"
)

// demoServer runs the embedded inference server with two fast models, one of which always fails, and gives its URL.
func demoServer(t *testing.T) string {
	t.Helper()
	healthy, broken := demo.DefaultProfile("healthy"), demo.DefaultProfile("broken")
	healthy.Engine.StepTime, healthy.Engine.DecodeTime, healthy.Engine.PrefillTime = time.Millisecond, 0, 0
	broken.Faults = []demo.Fault{{Kind: demo.ServerError, Probability: 1}}
	settings := demo.DefaultConfig()
	settings.Profiles = []demo.Profile{healthy, broken}
	server := demo.New(settings)
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + address.String()
}

// fleet is a configuration with targets that do well, miss their objective, fail, are paused and are switched off.
func fleet(t *testing.T, url string) string {
	t.Helper()
	return write(t, "fleet.yml", fmt.Sprintf(`
workloads: {short: {input_tokens: 16, output_tokens: 8}}
loads:
  quick: {mode: constant, rate: 200, max_in_flight: 50}
  held: {mode: constant, rate: 200, max_in_flight: 50, paused: true}
slos:
  easy: {objective: 0.9, request_latency: 1h}
  hopeless: {objective: 0.9, request_latency: 1ms}
defaults: {url: %q, model: healthy, endpoint: {type: chat}, workload: short, load: quick}
targets:
  - {name: good, slo: easy}
  - {name: slow, slo: [easy, hopeless]}
  - {name: failing, model: broken, slo: hopeless}
  - {name: paused, load: held}
  - {name: absent, enabled: false}
`, url))
}

func TestRunTellsByItsExitCodeHowItWent(t *testing.T) {
	t.Parallel()
	config := fleet(t, demoServer(t))
	for name, test := range map[string]struct {
		targets []string
		want    int
	}{
		"all is well":                       {[]string{"good"}, exitOK},
		"an objective was missed":           {[]string{"good", "slow"}, exitSLOMissed},
		"requests failed":                   {[]string{"failing"}, exitFailure},
		"one target failed and one missed":  {[]string{"slow", "failing"}, exitFailure},
		"all that is enabled":               {nil, exitFailure},
		"a paused target named by its name": {[]string{"paused"}, exitOK},
		"a target that is switched off":     {[]string{"absent"}, exitUsage},
	} {
		for how, flags := range map[string][]string{"one request": nil, "five requests": {"--requests=5", "--duration=20s"}} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				args := append([]string{"run", "--config.file=" + config}, flags...)
				for _, target := range test.targets {
					args = append(args, "--target="+target)
				}
				if got := execute(args...); got.code != test.want {
					t.Errorf("exit code %d, want %d:\n%s%s", got.code, test.want, got.stdout, got.stderr)
				}
			})
		}
	}
}

// summary is what the tests read of a report in JSON.
type summary struct {
	Requests struct{ Avg float64 } `json:"request_count"`
	Latency  struct{ Count int }   `json:"request_latency"`
	Complete *bool                 `json:"is_complete"`
	Exporter struct {
		Target, Command string
	}
}

func TestRunReportsOneRequestOfEachTargetAtFirst(t *testing.T) {
	t.Parallel()
	got := execute("run", "--config.file="+fleet(t, demoServer(t)), "--target=slow", "--target=good", "--target=good")
	for _, target := range []string{"good", "slow"} {
		contains(t, "standard output", got.stdout, target+" · healthy · chat, streamed\n1 request in ")
	}
	if n := strings.Count(got.stdout, "1 request in "); n != 2 {
		t.Errorf("%d reports, want one for each target:\n%s", n, got.stdout)
	}
	if got.stderr != "" {
		t.Errorf("standard error has:\n%s", got.stderr)
	}
}

func TestRunWithoutTargetsSkipsThePausedOnes(t *testing.T) {
	t.Parallel()
	got := execute("run", "--config.file="+fleet(t, demoServer(t)))
	contains(t, "standard output", got.stdout, "good · ", "slow · ", "failing · ")
	for _, target := range []string{"paused · ", "absent · "} {
		if strings.Contains(got.stdout, target) {
			t.Errorf("there is a report of %q:\n%s", target, got.stdout)
		}
	}
	paused := write(t, "paused.yml", "loads: {default: {mode: constant, rate: 1, paused: true}}\n"+minimal)
	got = execute("run", "--config.file="+paused, "--requests=1")
	if got.code != exitUsage {
		t.Errorf("exit code %d with paused targets only, want %d", got.code, exitUsage)
	}
	contains(t, "standard error", got.stderr, "no enabled targets, or all are paused")
}

func TestRunReportsAsManyRequestsAsAreAskedFor(t *testing.T) {
	t.Parallel()
	got := execute("run", "--config.file="+fleet(t, demoServer(t)), "--target=good", "--requests=12", "--format=json")
	if got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	var report summary
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v in\n%s", err, got.stdout)
	}
	if report.Requests.Avg != 12 || report.Latency.Count != 12 {
		t.Errorf("%v requests and %d latencies, want 12", report.Requests.Avg, report.Latency.Count)
	}
	if report.Complete == nil || !*report.Complete {
		t.Error("report is not complete")
	}
}

func TestRunEndsAfterItsDuration(t *testing.T) {
	t.Parallel()
	got := execute("run", "--config.file="+fleet(t, demoServer(t)), "--target=good", "--duration=300ms", "--format=json")
	var report summary
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v in\n%s%s", err, got.stdout, got.stderr)
	}
	if report.Requests.Avg < 1 {
		t.Error("no request in a time for 60")
	}
	if report.Complete == nil || !*report.Complete {
		t.Error("report is not complete: the end of the duration is no interruption")
	}
}

func TestRunGivesTablesListsAndFiles(t *testing.T) {
	t.Parallel()
	config, out := fleet(t, demoServer(t)), filepath.Join(t.TempDir(), "report")
	args := []string{"run", "--config.file=" + config, "--target=good", "--requests=3"}
	table := execute(append(args, "--out="+out, "--records")...)
	contains(t, "table", table.stdout, "3 requests in ", "Time to first token", "p99")
	csv := execute(append(args, "--format=csv")...)
	contains(t, "CSV", csv.stdout, "Metric,avg,min,max,", "\nRequest Latency (ms),")

	var names []string
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{".aiperf_results_ready.json", "profile_export.jsonl", "profile_export_aiperf.csv", "profile_export_aiperf.json"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	records, err := os.ReadFile(filepath.Join(out, "profile_export.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(records), "\n"); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
}

func TestRunFailsIfItCannotWriteItsFiles(t *testing.T) {
	t.Parallel()
	file := write(t, "file", "")
	got := execute("run", "--config.file="+fleet(t, demoServer(t)), "--target=good", "--out="+filepath.Join(file, "folder"))
	if got.code != exitFailure {
		t.Errorf("exit code %d, want %d", got.code, exitFailure)
	}
	contains(t, "standard output", got.stdout, "1 request in ")
	contains(t, "standard error", got.stderr, "not a directory")
}

// terminal runs a command line in a terminal of its own, which takes its standard output, too, unless the line leads it elsewhere.
func terminal(t *testing.T, environment []string, line string) string {
	t.Helper()
	path, err := exec.LookPath("script")
	if err != nil {
		t.Skipf("no terminal without script: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "-qec", self+" "+line, "/dev/null")
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), environment...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return string(out)
}

func TestRunDrawsItsProgressOnATerminal(t *testing.T) {
	t.Parallel()
	const frame, colour = "\x1b[?2026h", "\x1b[32m"
	line := "run --config.file=" + fleet(t, demoServer(t)) + " --target=good --requests=3"
	for name, test := range map[string]struct {
		environment    []string
		flags          string
		frame, colours bool
	}{
		"a terminal":                   {[]string{"TERM=xterm", "NO_COLOR="}, "", true, true},
		"a terminal without colours":   {[]string{"TERM=xterm", "NO_COLOR=1"}, "", true, false},
		"a terminal that can do less":  {[]string{"TERM=dumb"}, "", false, false},
		"a report that goes elsewhere": {[]string{"TERM=xterm", "NO_COLOR="}, " --format=json >/dev/null", true, true},
		"no progress":                  {[]string{"TERM=xterm"}, " --progress=none", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := terminal(t, test.environment, line+test.flags)
			if strings.Contains(got, frame) != test.frame || strings.Contains(got, colour) != test.colours {
				t.Errorf("a frame should be there: %v, colours: %v, got %q", test.frame, test.colours, got)
			}
			if elsewhere := strings.Contains(test.flags, "/dev/null"); elsewhere {
				contains(t, "terminal", got, "3/3", "done")
				if strings.Contains(got, "\x1b[J{") {
					t.Errorf("the report is on the terminal: %q", got)
				}
			} else {
				contains(t, "terminal", got, "3 requests in ")
			}
		})
	}
}
