//go:build engines

package engines

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// watching is how servers are watched; loads and targets follow.
const watching = `
collectors:
  server: {interval: 1s}
  gpu: {source: "off"}
workloads:
  short: {input_tokens: {mean: 60, stddev: 20}, output_tokens: {mean: 30, stddev: 10}}
`

// ours are series that the exporter shows, and what an engine calls what must have the same value. Those of one engine are on one side each, added
// up. Label is one by whose values they must agree, too, and theirs is its name on the engine's page.
type ours struct {
	name, theirs string
	label, their string
}

// shown is what the exporter must show of an engine: all that says something of an engine that runs one model on one CPU.
var shown = map[string][]ours{
	"llama": {
		{name: "requests_running", theirs: "llamacpp:requests_processing"},
		{name: "requests_waiting", theirs: "llamacpp:requests_deferred"},
		{name: "prompt_tokens_total", theirs: "llamacpp:prompt_tokens_total"},
		{name: "prefix_cache_hit_tokens_total", theirs: "llamacpp:prompt_tokens_cached_total"},
		{name: "generation_tokens_total", theirs: "llamacpp:tokens_predicted_total"},
		{name: "prefill_time_seconds_total", theirs: "llamacpp:prompt_seconds_total"},
		{name: "decode_time_seconds_total", theirs: "llamacpp:tokens_predicted_seconds_total"},
		{name: "batch_size", theirs: "llamacpp:n_busy_slots_per_decode"},
	},
	"vllm": {
		{name: "requests_running", theirs: "vllm:num_requests_running"},
		{name: "requests_waiting", theirs: "vllm:num_requests_waiting"},
		{"requests_waiting_by_reason", "vllm:num_requests_waiting_by_reason", "reason", "reason"},
		{name: "preemptions_total", theirs: "vllm:num_preemptions_total"},
		{"requests_finished_total", "vllm:request_success_total", "reason", "finished_reason"},
		{"requests_rejected_total", "vllm:admission_rejections_total", "reason", "reason"},
		{name: "kv_cache_usage_ratio", theirs: "vllm:kv_cache_usage_perc"},
		{name: "prefix_cache_queried_tokens_total", theirs: "vllm:prefix_cache_queries_total"},
		{name: "prefix_cache_hit_tokens_total", theirs: "vllm:prefix_cache_hits_total"},
		{"prefix_cache_hit_tokens_total", "vllm:prompt_tokens_cached_by_source_total", "tier", "source"},
		{name: "prompt_tokens_total", theirs: "vllm:prompt_tokens_total"},
		{"prompt_tokens_by_source_total", "vllm:prompt_tokens_by_source_total", "source", "source"},
		{name: "generation_tokens_total", theirs: "vllm:generation_tokens_total"},
		{name: "time_to_first_token_seconds", theirs: "vllm:time_to_first_token_seconds"},
		{name: "inter_token_latency_seconds", theirs: "vllm:inter_token_latency_seconds"},
		{name: "time_per_output_token_seconds", theirs: "vllm:request_time_per_output_token_seconds"},
		{name: "request_duration_seconds", theirs: "vllm:e2e_request_latency_seconds"},
		{name: "queue_seconds", theirs: "vllm:request_queue_time_seconds"},
		{name: "prefill_seconds", theirs: "vllm:request_prefill_time_seconds"},
		{name: "decode_seconds", theirs: "vllm:request_decode_time_seconds"},
		{name: "inference_seconds", theirs: "vllm:request_inference_time_seconds"},
		{name: "request_prompt_tokens", theirs: "vllm:request_prompt_tokens"},
		{name: "request_generation_tokens", theirs: "vllm:request_generation_tokens"},
		{name: "iteration_tokens", theirs: "vllm:iteration_tokens_total"},
		{name: "mm_cache_queries_total", theirs: "vllm:mm_cache_queries_total"},
		{name: "mm_cache_hits_total", theirs: "vllm:mm_cache_hits_total"},
		{name: "external_cache_queried_tokens_total", theirs: "vllm:external_prefix_cache_queries_total"},
		{name: "external_cache_hit_tokens_total", theirs: "vllm:external_prefix_cache_hits_total"},
	},
}

// enough is how many requests of each target are looked at; vLLM on a busy CPU takes seconds for one.
const enough = 12

func TestServerSeriesAreThoseOfThePage(t *testing.T) {
	for name, engine := range enginesByName {
		t.Run(name, func(t *testing.T) {
			server := startEngine(t, engine)
			config := fmt.Sprintf(watching+`
  again: {input_tokens: 400, output_tokens: 5, cache: repeat}
loads:
  two: {mode: closed, concurrency: 2, min_interval: 1ms}
targets:
  - {name: short, url: &url %q, model: tiny, endpoint: {type: chat}, workload: short, load: two, seed: 1}
  - {name: again, url: *url, model: tiny, endpoint: {type: completions}, workload: again, load: two, seed: 2}
`, server)
			exporter := serve(t, config)
			await(t, exporter, 2*startup, func(f scrape.Families) error {
				for _, target := range []string{"short", "again"} {
					if n := f.Sum("aiperf_requests_total", scrape.Labels{"target": target}); n < enough {
						return fmt.Errorf("%s has had %v answers", target, n)
					}
				}
				return nil
			})
			checkBetween(t, name, server, exporter)
			pause(t, exporter)
			checkEqual(t, name, server, exporter)
			checkClient(t, name, read(t, exporter))
		})
	}
}

// serve runs the exporter and gives its URL.
func serve(t *testing.T, config string) string {
	t.Helper()
	address, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := process.ForTest(t, nil, binary, "serve", "--config.file="+write(t, config), "--web.listen-address="+address, "--web.enable-admin-api")
	url := "http://" + address
	if err := p.Ready(process.Within(t, time.Minute), url+"/-/ready"); err != nil {
		t.Fatal(err)
	}
	return url
}

// await waits until what the exporter shows is as it should be.
func await(t *testing.T, url string, limit time.Duration, condition func(scrape.Families) error) {
	t.Helper()
	if err := process.Until(process.Within(t, limit), func() error { return condition(read(t, url)) }); err != nil {
		t.Fatal(err)
	}
}

// settle stops arrivals and waits until no request is open. A server that is busy takes long to end.
func settle(t *testing.T, exporter string) {
	t.Helper()
	pause(t, exporter)
	await(t, exporter, time.Minute, func(f scrape.Families) error {
		if open := f.Sum("aiperf_inflight_requests", nil); open != 0 {
			return fmt.Errorf("%v requests are still open", open)
		}
		return nil
	})
}

// checkBetween checks that what the exporter shows while the server works is not less than what the server had told before, nor more than it
// tells afterwards.
func checkBetween(t *testing.T, engine, server, exporter string) {
	t.Helper()
	before := read(t, server)
	awaitLooks(t, exporter, "short", 3)
	between := read(t, exporter)
	after := read(t, server)
	grew := 0
	for _, s := range shown[engine] {
		if between["aiperf_server_"+s.name].GetType() == dto.MetricType_GAUGE {
			continue
		}
		least, most := before.Sum(s.theirs, nil), after.Sum(s.theirs, nil)
		got := between.Sum("aiperf_server_"+s.name, scrape.Labels{"target": "short"})
		if got < least || got > most {
			t.Errorf("aiperf_server_%s is %v, and %s was %v before and %v afterwards", s.name, got, s.theirs, least, most)
		}
		if most > least {
			grew++
		}
	}
	if grew == 0 {
		t.Error("nothing grew meanwhile, the comparison says nothing")
	}
}

// awaitLooks waits until the exporter has looked so many times at a target's server. A look that was under way may have read the page before now,
// and the time of a look is shown before its series are: of three the last series are new.
func awaitLooks(t *testing.T, exporter, target string, want int) {
	t.Helper()
	of := scrape.Labels{"collector": "server", "target": target}
	last := func(f scrape.Families) float64 { return f.Sum("aiperf_scrape_last_success_timestamp_seconds", of) }
	looks, before := 0, last(read(t, exporter))
	await(t, exporter, time.Minute, func(f scrape.Families) error {
		if look := last(f); look != before {
			looks, before = looks+1, look
		}
		if looks < want {
			return fmt.Errorf("%d looks at %s", looks, target)
		}
		return nil
	})
}

// checkEqual checks that an idle server's page and what both targets show are the same.
func checkEqual(t *testing.T, engine, server, exporter string) {
	t.Helper()
	err := process.Until(process.Within(t, 2*time.Minute), func() error {
		f, page := read(t, exporter), read(t, server)
		if open := f.Sum("aiperf_inflight_requests", nil) + page.Sum(shown[engine][0].theirs, nil); open != 0 {
			return fmt.Errorf("%v requests are still open", open)
		}
		for _, target := range []string{"short", "again"} {
			if up := f.Sum("aiperf_server_up", scrape.Labels{"target": target}); up != 1 {
				return fmt.Errorf("%s: up is %v", target, up)
			}
			for _, s := range shown[engine] {
				if err := s.equal(f, page, scrape.Labels{"target": target}); err != nil {
					return fmt.Errorf("%s: %w", target, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// equal compares what the exporter shows of a target with the page.
func (s *ours) equal(f, page scrape.Families, of scrape.Labels) error {
	name := "aiperf_server_" + s.name
	got, want := f.Series(name, of), page.Series(s.theirs, nil)
	if len(got) == 0 || len(want) == 0 {
		return fmt.Errorf("%d series of %s, and %d of %s", len(got), name, len(want), s.theirs)
	}
	if s.label != "" {
		if got, want := f.By(name, s.label, of), page.By(s.theirs, s.their, nil); !maps.Equal(got, want) {
			return fmt.Errorf("%s is %v, and %s is %v", name, got, s.theirs, want)
		}
		return nil
	}
	if h := want[0].Histogram; h != nil {
		if got, want := showHistogram(got), showHistogram(want); got != want {
			return fmt.Errorf("%s is %s, and %s is %s", name, got, s.theirs, want)
		}
		return nil
	}
	if got, want := f.Sum(name, of), page.Sum(s.theirs, nil); got != want {
		return fmt.Errorf("%s is %v, and %s is %v", name, got, s.theirs, want)
	}
	return nil
}

// showHistogram writes down all that histograms say but their labels.
func showHistogram(series []*dto.Metric) string {
	var out strings.Builder
	for _, m := range series {
		h := m.GetHistogram()
		fmt.Fprintf(&out, "count %d, sum %v", h.GetSampleCount(), h.GetSampleSum())
		for _, b := range h.GetBucket() {
			if math.IsInf(b.GetUpperBound(), 1) { // the count once more, which only text has
				continue
			}
			fmt.Fprintf(&out, ", %v: %d", b.GetUpperBound(), b.GetCumulativeCount())
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// checkClient compares what the server counted with what the client did: nobody else has asked this server anything.
func checkClient(t *testing.T, engine string, f scrape.Families) {
	t.Helper()
	of := scrape.Labels{"target": "short"}
	sum := func(name string) float64 { return f.Sum("aiperf_server_"+name, of) }
	requests := f.Sum("aiperf_requests_total", nil)
	input, output := f.Sum("aiperf_tokens_total", scrape.Labels{"token_type": "input"}), f.Sum("aiperf_tokens_total", scrape.Labels{"token_type": "output"})
	prompt, generated, hits := sum("prompt_tokens_total"), sum("generation_tokens_total"), sum("prefix_cache_hit_tokens_total")
	t.Logf("%v requests; by the server %v tokens of prompts, %v found in its cache and %v generated", requests, prompt, hits, generated)
	if engine == "llama" {
		prompt += hits // which it leaves out
	}
	if prompt != input || generated != output {
		t.Errorf("%v and %v tokens by the server, %v and %v by the client", prompt, generated, input, output)
	}
	if failures := f.Sum("aiperf_requests_total", scrape.Labels{"outcome": "error"}); failures != 0 {
		t.Errorf("%v requests failed", failures)
	}
	if hits == 0 {
		t.Error("one prompt again and again was never found in the cache")
	}
	if kinds := f.By("aiperf_server_requests_running", "server", nil); len(kinds) > 1 {
		t.Errorf("servers of %v, want one kind", kinds)
	}
	checkLooks(t, f, nil)
	for _, name := range []string{"aiperf_scrape_unmapped_families", "aiperf_scrape_series_dropped", "aiperf_server_restarts_total", "aiperf_server_replicas_mixed"} {
		for _, m := range f.Series(name, nil) {
			if v := m.GetCounter().GetValue() + m.GetGauge().GetValue(); v != 0 {
				t.Errorf("%s%v is %v, want 0", name, m.GetLabel(), v)
			}
		}
	}
	if engine == "vllm" {
		checkHistograms(t, f, requests)
	}
}

// checkHistograms compares the server's times with the client's.
func checkHistograms(t *testing.T, f scrape.Families, requests float64) {
	t.Helper()
	of := scrape.Labels{"target": "short"}
	for _, name := range []string{
		"time_to_first_token_seconds", "request_duration_seconds", "queue_seconds", "prefill_seconds", "decode_seconds", "inference_seconds",
		"time_per_output_token_seconds", "request_prompt_tokens", "request_generation_tokens",
	} {
		if n := f.Sum("aiperf_server_"+name, of); n != requests {
			t.Errorf("aiperf_server_%s has %v observations of %v requests", name, n, requests)
		}
	}
	if got, want := f.By("aiperf_server_requests_finished_total", "reason", of), f.By("aiperf_finish_reasons_total", "reason", nil); !maps.Equal(got, want) {
		t.Errorf("requests finished by reason: %v by the server, %v by the client", got, want)
	}
	queue := mean(f.Series("aiperf_server_queue_seconds", of))
	for _, pair := range [][2]string{
		{"aiperf_server_time_to_first_token_seconds", "aiperf_time_to_first_token_seconds"},
		{"aiperf_server_request_duration_seconds", "aiperf_request_duration_seconds"},
	} {
		server, client := mean(f.Series(pair[0], of)), mean(f.Series(pair[1], nil))
		t.Logf("%s is %.1f ms by the server, %.1f by the client, mean", pair[1], 1e3*server, 1e3*client)
		if server > client || server < queue {
			t.Errorf("%s: mean of %v s by the server, in which %v s in its queue, and of %v s by the client", pair[1], server, queue, client)
		}
	}
	usage := f.Sum("aiperf_server_kv_cache_usage_ratio", of)
	blocks, tokens := f.Sum("aiperf_server_kv_cache_blocks", of), f.Sum("aiperf_server_kv_cache_block_tokens", of)
	if capacity := f.Sum("aiperf_server_kv_cache_tokens_capacity", of); usage < 0 || usage > 1 || capacity == 0 || capacity != blocks*tokens {
		t.Errorf("%v of a KV cache of %v tokens in %v blocks of %v", usage, capacity, blocks, tokens)
	}
	if info := f.Series("aiperf_server_info", of); len(info) != 1 || info[0].GetGauge().GetValue() != 1 {
		t.Errorf("info is %v, want one series that is 1", info)
	}
}

// mean is that of all observations of histograms.
func mean(series []*dto.Metric) float64 {
	count, sum := 0., 0.
	for _, m := range series {
		count += float64(m.GetHistogram().GetSampleCount())
		sum += m.GetHistogram().GetSampleSum()
	}
	return sum / cmp.Or(count, 1)
}

// shownOf are the names of the server's series that a target shows, sorted.
func shownOf(f scrape.Families, target string) []string {
	var names []string
	for name := range f {
		if strings.HasPrefix(name, "aiperf_server_") && len(f.Series(name, scrape.Labels{"target": target})) > 0 {
			names = append(names, name)
		}
	}
	return slices.Sorted(slices.Values(names))
}
