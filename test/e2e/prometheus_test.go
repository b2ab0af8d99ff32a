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

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// prom is a running Prometheus.
type prom struct{ url string }

// startPrometheus scrapes a target each second, once for each exposition format, as jobs protobuf, openmetrics and text.
func startPrometheus(t *testing.T, target string) prom {
	t.Helper()
	a := address(t)
	config := fmt.Sprintf(`
global:
  scrape_interval: 1s
  scrape_timeout: 1s
  scrape_native_histograms: true
  always_scrape_classic_histograms: true
scrape_configs:
  - {job_name: protobuf, scrape_protocols: [PrometheusProto], static_configs: [{targets: [%[1]q]}]}
  - {job_name: openmetrics, scrape_protocols: [OpenMetricsText1.0.0], static_configs: [{targets: [%[1]q]}]}
  - {job_name: text, scrape_protocols: [PrometheusText0.0.4], static_configs: [{targets: [%[1]q]}]}
`, target)
	p := process.ForTest(t, nil, prometheus, "--config.file="+file(t, "prometheus.yml", config), "--storage.tsdb.path="+t.TempDir(),
		"--web.listen-address="+a, "--log.level=warn")
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

// steady is a target whose first tokens come 40 to 240 ms after the request, evenly spread.
const steady = `
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  steady: {mode: constant, rate: 20, max_in_flight: 50}
slos:
  quick: {objective: 0.9, time_to_first_token: 150ms}
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
	s := startServer(t, "-ttft=40ms", "-ttft-spread=200ms", "-itl=2ms")
	e := serve(t, fmt.Sprintf(steady, s.url))
	p := startPrometheus(t, e.url[len("http://"):])
	const requests = 400
	eventually(t, 2*time.Minute, func() error {
		if n := s.truth(t).Completed; n < requests {
			return fmt.Errorf("%d requests so far", n)
		}
		return nil
	})

	if up := p.query(t, "up"); up["protobuf"] != 1 || up["openmetrics"] != 1 || up["text"] != 1 {
		t.Errorf("up by exposition format is %v, want 1 for all three", up)
	}
	native := p.query(t, `histogram_quantile(0.99, sum by (job) (rate(aiperf_time_to_first_token_seconds{job="protobuf"}[15s])))`)
	classic := p.query(t, `histogram_quantile(0.99, sum by (job, le) (rate(aiperf_time_to_first_token_seconds_bucket[15s])))`)
	want := s.truth(t).TTFT.P99
	// Buckets of native histograms grow by 2^(1/8); the classic one that holds the quantile is (0.2, 0.25].
	if got := native["protobuf"]; math.Abs(math.Log2(got/want)) > 1.0/8 {
		t.Errorf("native p99 is %.4f s, the server's %.4f s: more than a bucket apart", got, want)
	}
	for _, job := range []string{"protobuf", "openmetrics", "text"} {
		if got := classic[job]; got <= .2 || got > .25 {
			t.Errorf("classic p99 of job %s is %.4f s, the server's %.4f s: not in the same bucket", job, got, want)
		}
	}
	t.Logf("p99 of TTFT: server %.2f ms, native %.2f ms, classic %.2f ms", want*1e3, native["protobuf"]*1e3, classic["text"]*1e3)

	// 40 + 200·u ms is at most 150 ms for a share of 0.55 of the requests.
	good := p.query(t, `rate(aiperf_good_requests_total{job="text"}[15s]) / ignoring(slo) rate(aiperf_slo_requests_total{job="text"}[15s])`)
	if got := good["text"]; math.Abs(got-.55) > .05 {
		t.Errorf("goodput ratio is %.3f, want 0.55", got)
	}
	rate := p.query(t, `rate(aiperf_requests_total{job="text", outcome="success"}[15s])`)
	if got := rate["text"]; math.Abs(got-20) > 1 {
		t.Errorf("rate of successes is %.2f, want 20", got)
	}
	tokens := p.query(t, `rate(aiperf_tokens_total{job="text", token_type="output"}[15s])`)
	if got := tokens["text"]; math.Abs(got-80) > 4 {
		t.Errorf("rate of output tokens is %.2f, want 80", got)
	}
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
