//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// prom is a running Prometheus.
type prom struct{ url string }

// startPrometheus scrapes a target each second, once for each exposition format, as jobs protobuf, openmetrics and text.
func startPrometheus(t *testing.T, target string) prom {
	t.Helper()
	return launch(t, fmt.Sprintf(`
global:
  scrape_interval: 1s
  scrape_timeout: 1s
  scrape_native_histograms: true
  always_scrape_classic_histograms: true
scrape_configs:
  - {job_name: protobuf, scrape_protocols: [PrometheusProto], static_configs: [{targets: [%[1]q]}]}
  - {job_name: openmetrics, scrape_protocols: [OpenMetricsText1.0.0], static_configs: [{targets: [%[1]q]}]}
  - {job_name: text, scrape_protocols: [PrometheusText0.0.4], static_configs: [{targets: [%[1]q]}]}
`, target))
}

// launch starts a Prometheus with a configuration and more flags, and waits until it is ready.
func launch(t *testing.T, config string, flags ...string) prom {
	t.Helper()
	a := address(t)
	p := process.ForTest(t, nil, prometheus, append(flags, "--config.file="+file(t, "prometheus.yml", config), "--storage.tsdb.path="+t.TempDir(),
		"--web.listen-address="+a, "--log.level=warn")...)
	if err := p.Ready(process.Within(t, patience), "http://"+a+"/-/ready"); err != nil {
		t.Fatal(err)
	}
	return prom{"http://" + a}
}

// query evaluates an expression now and gives its value by the label job, or by "" where there is none.
func (p prom) query(t *testing.T, expression string) map[string]float64 {
	t.Helper()
	body, err := scrape.Bytes(process.Within(t, patience), p.url+"/api/v1/query?query="+url.QueryEscape(expression), "application/json")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
				Value  [2]any            `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%s: %v in %s", expression, err, body)
	}
	values := map[string]float64{}
	for _, series := range answer.Data.Result {
		text, _ := series.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		values[series.Metric["job"]] = value
	}
	return values
}

// steady is a target whose first tokens come 400 to 2400 ms after the request, evenly spread: long, so that what a busy machine adds is little.
const steady = `
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  steady: {mode: constant, rate: 20, max_in_flight: 500}
slos:
  quick: {objective: 0.9, time_to_first_token: 1500ms}
targets:
  - name: steady
    url: %s
    model: truth
    endpoint: {type: chat}
    workload: short
    load: steady
    slo: [quick]
`

func TestQuantilesInPrometheusAreThoseOfTheServer(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=400ms", "-ttft-spread=2s", "-itl=2ms")
	e := serve(t, fmt.Sprintf(steady, s.url))
	p := startPrometheus(t, e.url[len("http://"):])
	// The machine may stall for a moment, which the window of the queries forgets; what is wrong stays wrong.
	eventually(t, 3*time.Minute, func() error {
		if n := s.truth(t).Completed; n < 400 {
			return fmt.Errorf("%d requests so far", n)
		}
		return errors.Join(p.quantiles(t, s.recentTTFT(t, 15*time.Second, .99)), p.rates(t), p.up(t))
	})
}

// up tells whether the last scrapes succeeded in each of the formats.
func (p prom) up(t *testing.T) error {
	t.Helper()
	if diff := cmp.Diff(map[string]float64{"protobuf": 1, "openmetrics": 1, "text": 1}, p.query(t, "up")); diff != "" {
		return fmt.Errorf("up by exposition format (-want +got):\n%s", diff)
	}
	return nil
}

// quantiles holds the p99 of TTFT in the last 15 s against the server's, in seconds.
func (p prom) quantiles(t *testing.T, want float64) error {
	t.Helper()
	const native = `histogram_quantile(0.99, sum by (job) (rate(aiperf_time_to_first_token_seconds{job="protobuf"}[15s])))`
	const classic = `histogram_quantile(0.99, sum by (job, le) (rate(aiperf_time_to_first_token_seconds_bucket[15s])))`
	var errs []error
	// Buckets of native histograms grow by 2^(1/8).
	if got := p.query(t, native)["protobuf"]; !(math.Abs(math.Log2(got/want)) <= 1.0/8) {
		errs = append(errs, fmt.Errorf("native p99 is %.4f s, the server's %.4f s: more than a bucket apart", got, want))
	}
	// The classic one that holds the quantile is (2, 3].
	got := p.query(t, classic)
	for _, job := range []string{"protobuf", "openmetrics", "text"} {
		if !(got[job] > 2 && got[job] <= 3) {
			errs = append(errs, fmt.Errorf("classic p99 of job %s is %.4f s, the server's %.4f s: not in the same bucket", job, got[job], want))
		}
	}
	return errors.Join(errs...)
}

// rates holds counters against what the target asks for.
func (p prom) rates(t *testing.T) error {
	t.Helper()
	var errs []error
	for _, test := range []struct {
		name, expression string
		want, tolerance  float64
	}{
		{"successes per second", `rate(aiperf_requests_total{job="text", outcome="success"}[15s])`, 20, 1},
		{"output tokens per second", `rate(aiperf_tokens_total{job="text", token_type="output"}[15s])`, 80, 4},
		// 400 + 2000·u ms is at most 1500 ms for a share of 0.55 of the requests.
		{"goodput ratio", `rate(aiperf_good_requests_total{job="text"}[15s]) / rate(aiperf_slo_requests_total{job="text"}[15s])`, .55, .05},
	} {
		if got := p.query(t, test.expression)["text"]; !(math.Abs(got-test.want) <= test.tolerance) {
			errs = append(errs, fmt.Errorf("%s: got %.3f, want %v", test.name, got, test.want))
		}
	}
	return errors.Join(errs...)
}

// crowded are targets that cannot send all they want to, each for its own reason.
const crowded = `
workloads:
  short: {input_tokens: 16, output_tokens: 8}
loads:
  dropping: {mode: poisson, rate: 60, max_in_flight: 4, on_full: drop}
  queueing: {mode: constant, rate: 60, max_in_flight: 4, on_full: queue, queue: {size: 8, max_wait: 200ms}}
targets:
  - {name: dropping, url: %[1]q, model: truth, endpoint: {type: chat}, workload: short, load: dropping}
  - {name: queueing, url: %[1]q, model: truth, endpoint: {type: chat}, workload: short, load: queueing}
`

func TestArrivalsAreSentDroppedOrQueuedAtEveryScrape(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=100ms", "-itl=5ms")
	e := serve(t, fmt.Sprintf(crowded, s.url))
	for range 300 {
		if err := balanced(e.scrape(t), "dropping", "queueing"); err != nil {
			t.Fatal(err)
		}
	}
	f := e.scrape(t)
	for target, reasons := range map[string][]string{"dropping": {"in_flight"}, "queueing": {"queue_full", "queue_timeout"}} {
		drops := f.By("aiperf_arrivals_dropped_total", "reason", scrape.Labels{"target": target})
		delete(drops, "scheduler_late") // the machine's doing
		sum := 0.0
		for _, reason := range reasons {
			sum += drops[reason]
			delete(drops, reason)
		}
		if sum == 0 {
			t.Errorf("%s dropped nothing for %v", target, reasons)
		}
		if len(drops) != 0 {
			t.Errorf("%s dropped for other reasons than %v: %v", target, reasons, drops)
		}
	}
}

// balanced checks the two identities of a target's books: of its arrivals, and of its requests.
func balanced(f scrape.Families, targets ...string) error {
	var errs []error
	for _, target := range targets {
		of := scrape.Labels{"target": target}
		arrivals, sent, dropped := f.Sum("aiperf_arrivals_total", of), f.Sum("aiperf_arrivals_sent_total", of), f.Sum("aiperf_arrivals_dropped_total", of)
		in := f.By("aiperf_inflight_requests", "phase", of)
		if rest := arrivals - sent - dropped - in["queued"]; rest != 0 {
			errs = append(errs, fmt.Errorf("%s: %v arrivals = %v sent + %v dropped + %v queued + %v unaccounted", target, arrivals, sent, dropped, in["queued"], rest))
		}
		ended := f.Sum("aiperf_requests_total", of) + f.Sum("aiperf_warmup_requests_total", of)
		if rest := sent - ended - in["prefill"] - in["decode"]; rest != 0 {
			errs = append(errs, fmt.Errorf("%s: %v sent = %v ended + %v in prefill + %v in decode + %v unaccounted", target, sent, ended, in["prefill"], in["decode"], rest))
		}
	}
	return errors.Join(errs...)
}
