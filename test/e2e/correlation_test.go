//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// correlated are a target whose GPUs and costs are known, and another one that gives its server three times the work: library of the driver, URL.
const correlated = `
collectors:
  server: {interval: 1s}
  gpu:
    source: [nvml, dcgm]
    nvml: {interval: 1s, library_path: %[1]s}
    dcgm: {interval: 1s, urls: ["%[2]s/gpu/metrics"]}
workloads:
  short: {input_tokens: 100, output_tokens: 10}
loads:
  few: {mode: constant, rate: 10, max_in_flight: 50}
  many: {mode: constant, rate: 30, max_in_flight: 50}
targets:
  - name: canary
    url: %[2]q
    model: truth
    endpoint: {type: chat}
    workload: short
    load: few
    gpus: {uuids: [GPU-00000000-0000-0000-0000-000000000000, GPU-00000000-0000-0000-0000-000000000001]}
    cost: {per_hour: 4.2, per_kwh: 0.28, currency: eur}
    budget: {usd_per_million_input: 3, usd_per_million_output: 15}
  - {name: others, url: %[2]q, model: truth, endpoint: {type: chat}, workload: short, load: many}
`

// What is true of them. The client waits 150 ms for the first token, of which the server's clock does not see the first 50 ms. The driver says that
// its GPUs draw 400 W and 300 W, the exporter of GPUs says that each draws 300 W: the greater holds where both see a GPU.
const (
	requestsHz, canaryHz = 40., 10.
	outputHz             = 10 * requestsHz // tokens
	unseen, waiting, gap = .050, .020, .050
	watts                = 400 + 300
)

// recorded is a rule, and the value that it should have.
type recorded struct {
	rule      string
	want      float64
	tolerance float64 // as a share of the value
	more      float64 // that it may be above that: a client cannot see a token before it was sent, and `make accuracy` says how much later it does
}

// truths are what the rules should say of a target whose server takes so long for the first token, in seconds, when it is asked for an answer to
// a prompt of so many tokens.
func truths(firstToken, prompt float64) []recorded {
	return []recorded{
		{rule: "target:aiperf_time_to_first_token_seconds:mean5m", want: firstToken, tolerance: .03, more: .03},
		{rule: "target:aiperf_server_time_to_first_token_seconds:mean5m", want: firstToken - unseen, tolerance: .05},
		// Nobody but the client knows what its way to the server costs: less than a millisecond on one machine, and never nothing.
		{rule: "target:aiperf_request_way_seconds:mean5m", want: 1e-6, more: .02},
		{rule: "target:aiperf_ttft_residual_seconds:mean5m", want: unseen, tolerance: .1, more: .03},
		{rule: "target:aiperf_ttft_unexplained_seconds:mean5m", want: unseen, tolerance: .1, more: .03},
		{rule: "target:aiperf_server_queue_share:ratio5m", want: waiting / (firstToken - unseen), tolerance: .05},
		{rule: "target:aiperf_inter_token_latency_seconds:mean5m", want: gap, tolerance: .1},
		{rule: "target:aiperf_server_inter_token_latency_seconds:mean5m", want: gap, tolerance: .1},
		{rule: "target:aiperf_itl_residual_seconds:mean5m", want: -.1 * gap, more: .2 * gap},
		{rule: "target:aiperf_server_prefill_seconds_per_kilotoken:mean5m", want: 1000 * (firstToken - unseen - waiting) / (.75 * prompt), tolerance: .1},
		{rule: "target:aiperf_server_kv_cache_usage:max", want: .42},
		{rule: "target:aiperf_server_prefix_hit:ratio5m", want: .25, tolerance: 1e-6},
		{rule: "target:aiperf_server_spec_acceptance:ratio1h", want: .75, tolerance: 1e-6},
		{rule: "target:aiperf_canary_share:ratio5m", want: canaryHz / requestsHz, tolerance: .1},
		{rule: "target:aiperf_gpu_power_watts:sum", want: watts},
		{rule: "target:aiperf_gpu_energy_watts:rate5m", want: watts, tolerance: .05},
		{rule: "target:aiperf_tokens_per_joule:ratio5m", want: outputHz / watts, tolerance: .1},
		{rule: "target:aiperf_joules_per_request:ratio5m", want: watts / requestsHz, tolerance: .1},
		{rule: "target:aiperf_machine_cost_per_million_output_tokens:rate1h", want: 4.2 / 3600 / outputHz * 1e6, tolerance: .1},
		{rule: "target:aiperf_energy_cost_per_million_output_tokens:rate1h", want: .28 / 3.6e6 * watts / outputHz * 1e6, tolerance: .1},
		{rule: "target:aiperf_token_spend_per_hour:rate1h", want: 3600 * canaryHz * (3*prompt + 15*10) / 1e6, tolerance: .1},
	}
}

// window is that of the rules in the test.
const window = 15 * time.Second

// shorten gives the rules that are shipped, over the window, and the names of their series.
func shorten(t *testing.T) (path string, names []string) {
	t.Helper()
	shipped, err := os.ReadFile("../../alerts/rules/correlation.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\s+- record: (\S+)$`).FindAllStringSubmatch(string(shipped), -1) {
		names = append(names, m[1])
	}
	return file(t, "correlation.yml", strings.NewReplacer("[5m]", "[15s]", "[1h]", "[15s]").Replace(string(shipped))), names
}

func TestRulesSayWhatIsTrueOfClientServerAndGPUs(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=150ms", "-itl=50ms", "-front=50ms", "-queue=20ms", "-watts=300")
	e := serve(t, fmt.Sprintf(correlated, driver(t), s.url))
	path, names := shorten(t)
	p := launch(t, fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s, scrape_native_histograms: true}
rule_files: [%[1]q]
scrape_configs:
  - {job_name: native, static_configs: [{targets: [%[2]q]}]}
  - {job_name: classic, scrape_protocols: [OpenMetricsText1.0.0], static_configs: [{targets: [%[2]q]}]}
`, path, e.url[len("http://"):]))
	eventually(t, patience, func() error {
		if n := e.scrape(t).Sum("aiperf_requests_total", scrape.Labels{"target": "canary"}); n < 100 {
			return fmt.Errorf("%v requests so far", n)
		}
		return nil
	})
	rules := map[string]bool{}
	for _, r := range truths(1, 1) {
		rules[r.rule] = true
	}
	for _, name := range names {
		if !rules[name] {
			t.Errorf("nobody says what the value of %s should be", name)
		}
	}
	f := e.scrape(t)
	of := scrape.Labels{"target": "canary", "token_type": "input"}
	prompt := f.Sum("aiperf_tokens_total", of) / f.Sum("aiperf_requests_total", scrape.Labels{"target": "canary"})
	// The machine may stall for a moment, which the window of the rules forgets; what is wrong stays wrong.
	eventually(t, 3*patience, func() error {
		var errs []error
		for _, r := range truths(s.recentMean(t), prompt) {
			errs = append(errs, p.agrees(t, &r))
		}
		return errors.Join(errs...)
	})
	// The other target has no GPUs and no prices, but the same server, of whose work it is the larger part.
	for rule, want := range map[string]int{
		"target:aiperf_gpu_power_watts:sum": 0, "target:aiperf_token_spend_per_hour:rate1h": 0, "target:aiperf_canary_share:ratio5m": 2,
	} {
		if got := p.query(t, fmt.Sprintf(`%s{target="others"}`, rule)); len(got) != want {
			t.Errorf("%s of the target without GPUs and prices is %v", rule, got)
		}
	}
}

// recentMean is the mean TTFT in seconds of the requests in the window.
func (s server) recentMean(t *testing.T) float64 {
	t.Helper()
	recent := s.recent(t, window)
	sum := 0.0
	for _, ttft := range recent {
		sum += ttft
	}
	return sum / float64(len(recent))
}

// agrees checks that a rule has one value for each kind of histograms, that which is true.
func (p prom) agrees(t *testing.T, r *recorded) error {
	t.Helper()
	got := p.query(t, r.rule+`{target="canary"}`)
	around := r.tolerance * r.want
	for _, job := range []string{"native", "classic"} {
		if v, ok := got[job]; !ok || !(v >= r.want-around && v <= r.want+around+r.more) {
			return fmt.Errorf("%s is %v, want %.6g to %.6g for job %s", r.rule, got, r.want-around, r.want+around+r.more, job)
		}
	}
	return nil
}
