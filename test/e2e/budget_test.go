//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// noon is a time zone in which the day does not end while a test runs.
func noon() string {
	east := 12 - time.Now().UTC().Hour()
	if east > 0 {
		return fmt.Sprintf("Etc/GMT-%d", east) // the signs of these names are those of POSIX
	}
	return fmt.Sprintf("Etc/GMT+%d", -east)
}

// spenders each have a limit of their own, which they would exceed within seconds: URL, zone. An answer has 4 tokens, of $0.001 each.
const spenders = `
global: {max_in_flight: 1000}
workloads:
  short: {input_tokens: 32, output_tokens: 4}
loads:
  flood: {mode: poisson, rate: 100, max_in_flight: 4}
  crowd: {mode: poisson, rate: 600, max_in_flight: 200}
targets:
  - {name: crowd, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: crowd, budget: {requests_per_day: 1000, tz: %[2]s}}
  - {name: requests, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: flood, budget: {requests_per_day: 200, tz: %[2]s}}
  - {name: tokens, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: flood, budget: {output_tokens_per_day: 800, tz: %[2]s}}
  - name: dollars
    url: %[1]q
    model: peer
    endpoint: {type: chat}
    workload: short
    load: flood
    budget: {usd_per_day: 0.8, usd_per_million_output: 1000, tz: %[2]s}
`

// A daemon that is killed again and again never spends more than it may, and tells from a limit that an outage is none.
func TestBudgetsHoldOverCrashes(t *testing.T) {
	t.Parallel()
	p := startPeer(t, func(w http.ResponseWriter, r *http.Request, q *question) {
		if q.target == "crowd" { // so that many are killed
			time.Sleep(400 * time.Millisecond)
		}
		plain(w, r, q)
	})
	config, state := fmt.Sprintf(spenders, p.url, noon()), "--budget.state-file="+filepath.Join(t.TempDir(), "budget.json")
	const crashes = 6
	for range crashes {
		before := len(p.asked("requests"))
		e := serve(t, config, state)
		p.waitFor(t, "requests", before+1) // so that each life counts
		time.Sleep(rand.N(150 * time.Millisecond))
		if err := e.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Wait(process.Within(t, patience)); err != nil {
			t.Fatal(err)
		}
	}
	e := serve(t, config, state)
	eventually(t, patience, func() error {
		f := e.scrape(t)
		for _, target := range []string{"requests", "tokens", "dollars", "crowd"} {
			if f.Sum("aiperf_arrivals_dropped_total", scrape.Labels{"target": target, "reason": "budget"}) < 20 {
				return fmt.Errorf("%s has not dropped 20 arrivals for its budget", target)
			}
		}
		return nil
	})
	f := e.scrape(t)
	for _, target := range []string{"requests", "tokens", "dollars"} {
		of := scrape.Labels{"target": target}
		if f.Sum("aiperf_budget_exhausted", of) != 1 || f.Sum("aiperf_target_up", of) != 1 {
			t.Errorf("%s: exhausted %v, up %v, want both to be 1", target, f.Sum("aiperf_budget_exhausted", of), f.Sum("aiperf_target_up", of))
		}
		// What a crash may waste: the requests that ran, and a hundredth of the limit or two requests.
		const limit, wasted = 200, crashes * (4 + 2)
		if n := len(p.asked(target)); n > limit || n < limit-wasted {
			t.Errorf("%s: the server has seen %d requests, want at most %d and at least %d", target, n, limit, limit-wasted)
		}
	}
	if code, _ := stop(t, e); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	// Each crash may waste all that ran, so that there is no least number.
	if n := len(p.asked("crowd")); n > 1000 {
		t.Errorf("crowd: the server has seen %d requests, want 1000 at most", n)
	}
	t.Logf("at most %d requests of the crowd ran at the same time, of %d in all", p.peak("crowd"), len(p.asked("crowd")))
}

// careful has limits that it does not reach: URL, zone, whether it is paused.
const careful = `
workloads:
  short: {input_tokens: 32, output_tokens: 4}
loads:
  quick: {mode: constant, rate: 50, max_in_flight: 20}
targets:
  - name: careful
    url: %[1]q
    model: peer
    endpoint: {type: chat}
    workload: short
    load: quick
    paused: %[3]v
    budget: {requests_per_day: 10000, tokens_per_day: 10000000, usd_per_day: 100, usd_per_million_input: 100, usd_per_million_output: 1000, tz: %[2]s}
`

func TestStateFileTellsExactlyWhatWasSpentBeforeAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	p := startPeer(t, plain)
	state := "--budget.state-file=" + filepath.Join(t.TempDir(), "budget.json")
	e := serve(t, fmt.Sprintf(careful, p.url, noon(), false), state)
	p.waitFor(t, "careful", 60)
	if code, _ := stop(t, e); code != 0 {
		t.Fatalf("exit code %d, want 0", code)
	}
	requests, tokens, dollars := 0.0, 0.0, 0.0
	for _, q := range p.asked("careful") {
		input := float64(len(q.body) / 4)
		requests++
		tokens += input + 4
		dollars += input*100e-6 + 4*1000e-6
	}
	f := serve(t, fmt.Sprintf(careful, p.url, noon(), true), state).scrape(t)
	used := f.By("aiperf_budget_used", "kind", scrape.Labels{"period": "day"})
	if used["requests"] != requests || used["tokens"] != tokens || used["usd"]-dollars > 1e-9 || dollars-used["usd"] > 1e-9 {
		t.Errorf("used %v by the file, want requests:%v tokens:%v usd:%v", used, requests, tokens, dollars)
	}
}

func TestStateFileThatCannotBeUsedIsToldAtTheStart(t *testing.T) {
	t.Parallel()
	p := startPeer(t, plain)
	folder := t.TempDir()
	config := file(t, "aiperf-exporter.yml", fmt.Sprintf(careful, p.url, noon(), true))
	taken, damaged := filepath.Join(folder, "taken"), filepath.Join(folder, "damaged")
	serve(t, fmt.Sprintf(careful, p.url, noon(), true), "--budget.state-file="+taken)
	if err := os.WriteFile(damaged, []byte("requests: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ path, want string }{
		"another process has it": {taken, "another process uses it"},
		"no such folder":         {filepath.Join(folder, "nowhere", "budget"), "no such file or directory"},
		"it is a folder":         {folder, "is a directory"},
		"it is another file":     {damaged, "is no budget state file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := process.ForTest(t, nil, binary, "serve", "--config.file="+config, "--budget.state-file="+test.path, "--web.listen-address="+address(t))
			code, err := e.Wait(process.Within(t, patience))
			if err != nil {
				t.Fatal(err)
			}
			if out := e.Output(); code != 1 || !strings.Contains(out, test.want) || !strings.Contains(out, test.path) {
				t.Errorf("exit code %d, want 1, and %q and the path in:\n%s", code, test.want, out)
			}
		})
	}
}

// A disk that goes away holds back what may cost money, and nothing else.
func TestStateFileThatIsLostHoldsRequestsBackUntilItCanBeWritten(t *testing.T) {
	t.Parallel()
	p := startPeer(t, plain)
	folder := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(careful, p.url, noon(), false) + fmt.Sprintf(
		"  - {name: free, url: %q, model: peer, endpoint: {type: chat}, workload: short, load: quick}\n", p.url)
	e := serve(t, config, "--budget.state-file="+filepath.Join(folder, "budget"))
	p.waitFor(t, "careful", 1)
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, func() error {
		f := e.scrape(t)
		if writable := f.Sum("aiperf_exporter_budget_state_writable", nil); writable != 0 {
			return fmt.Errorf("writable is %v", writable)
		}
		if f.Sum("aiperf_arrivals_dropped_total", scrape.Labels{"target": "careful", "reason": "budget"}) == 0 {
			return fmt.Errorf("nothing is held back")
		}
		return nil
	})
	p.waitFor(t, "free", len(p.asked("free"))+20)
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	p.waitFor(t, "careful", len(p.asked("careful"))+20)
	eventually(t, patience, func() error {
		if writable := e.scrape(t).Sum("aiperf_exporter_budget_state_writable", nil); writable != 1 {
			return fmt.Errorf("writable is %v at the end, want 1", writable)
		}
		return nil
	})
}
