//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// strange is a page with everything that a page should not have: other types of our own series, labels of ours, bytes that are no text, values that
// are no counts, buckets that are none, the same series twice.
const strange = `# TYPE process_start_time_seconds counter
process_start_time_seconds 1.7e9
# TYPE go_goroutines counter
go_goroutines 5
# TYPE aiperf_requests_total gauge
aiperf_requests_total{target="strange"} 7
# TYPE aiperf_server_up counter
aiperf_server_up{target="other",instance_id="here"} 3
# TYPE own counter
own{text="` + "\xff\xfe" + `",twice="yes"} 3
own{text="` + "\xff\xfe" + `",twice="yes"} 4
own{target="mine",exported_target="yours",instance_id="here",le="1",quantile="2"} 5
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="` + "\xff" + `",engine="0"} NaN
vllm:num_requests_running{model_name="peer",engine="0"} 3
vllm:num_requests_running{model_name="peer",engine="1"} -5
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="peer",engine="0"} -7
vllm:generation_tokens_total{model_name="peer",engine="1"} NaN
vllm:generation_tokens_total{model_name="peer",engine="2"} +Inf
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.1",model_name="peer"} 5
vllm:time_to_first_token_seconds_bucket{le="0.2",model_name="peer"} 3
vllm:time_to_first_token_seconds_bucket{le="NaN",model_name="peer"} 3
vllm:time_to_first_token_seconds_bucket{le="+Inf",model_name="peer"} -4
vllm:time_to_first_token_seconds_count{model_name="peer"} 2
vllm:time_to_first_token_seconds_sum{model_name="peer"} NaN
vllm:time_to_first_token_seconds_bucket{model_name="peer"} 5
# TYPE argued gauge
argued 1
# TYPE odd summary
odd{quantile="0.5"} NaN
odd{quantile="half"} 1
odd_sum 3
odd_count 2
# TYPE queer histogram
queer_bucket{le="1"} 5
queer_count 3
queer_count{x="y"} 3
`

// Whatever servers say, and however they disagree about it, Prometheus can read what the exporter makes of it, in each of the formats.
func TestStrangePagesDoNotSpoilTheScrape(t *testing.T) {
	t.Parallel()
	config := `
collectors:
  server: {interval: 1s, passthrough: {allow: [".*"]}}
  gpu: {source: off}
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  slow: {mode: constant, rate: 2, max_in_flight: 50}
targets:
`
	for name, page := range map[string]string{
		"strange": strange,
		"stranger": strings.NewReplacer(
			"own counter", "own gauge", "argued gauge", "argued untyped", "odd summary", "odd counter", "queer histogram", "queer summary",
		).Replace(strange),
		"vast": strange + strings.Repeat("# no metric\n", 100_000),
		"well": vllm(started, 1000),
	} {
		s := startPeerWith(t, func(w http.ResponseWriter, _ *http.Request) { show(w, page) }, plain)
		config += fmt.Sprintf("  - {name: %s, url: %q, model: peer, endpoint: {type: chat}, workload: short, load: slow}\n", name, s.url)
	}
	e := serve(t, config)
	p := startPrometheus(t, e.url[len("http://"):])
	each := func(n float64) map[string]float64 {
		return map[string]float64{"protobuf": n, "openmetrics": n, "text": n}
	}
	// A page that cannot be had at first is looked for again after a minute.
	eventually(t, 2*patience, func() error {
		var errs []error
		for expression, want := range map[string]float64{
			"up":                                  1,
			"sum by (job) (aiperf_server_up)":     4,
			`count by (job) (aiperf_target_info)`: 4,
			`sum by (job) (aiperf_server_requests_running{engine="0"})`:                         4 * 3,
			`sum by (job) (aiperf_server_time_to_first_token_seconds_count{target="well"})`:     1000,
			`count by (job) ({__name__=~"own|own_total", target=~"strange|vast", twice="yes"})`: 2,
			`count by (job) (aiperf_requests_total{target="strange", outcome="success"})`:       1,
		} {
			if diff := cmp.Diff(each(want), p.query(t, expression)); diff != "" {
				errs = append(errs, fmt.Errorf("%s (-want +got):\n%s", expression, diff))
			}
		}
		return errors.Join(errs...)
	})
	f := e.scrape(t)
	if n := f.Sum("aiperf_scrape_type_conflicts", scrape.Labels{"family": "argued"}); n == 0 {
		t.Error("nothing is said of the family to which two servers give different types")
	}
	if errs := f.Sum("aiperf_scrape_errors_total", scrape.Labels{"reason": "parse"}) + f.Sum("aiperf_scrape_panics_total", nil); errs != 0 {
		t.Errorf("%v looks failed by what was on the pages", errs)
	}
	if strings.Contains(e.Output(), "level=ERROR") {
		t.Error("there are errors in the log")
	}
}
