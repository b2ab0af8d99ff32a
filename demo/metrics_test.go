package demo

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	promodel "github.com/prometheus/common/model"
)

var update = flag.Bool("update", false, "write the golden files again")

func exposition(tb testing.TB, s *Server) string {
	tb.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		tb.Fatalf("GET /metrics = %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// scrape gives the values of a server's first model, by name, with the finished reason where there is one; for histograms the
// observations under name_count and their sum under name_sum.
func scrape(tb testing.TB, s *Server) map[string]float64 {
	tb.Helper()
	parser := expfmt.NewTextParser(promodel.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(exposition(tb, s)))
	if err != nil {
		tb.Fatal(err)
	}
	values := make(map[string]float64)
	for name, family := range families {
		for _, m := range family.GetMetric() {
			labels := make(map[string]string)
			for _, label := range m.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["model_name"] != s.models[0].profile.Name {
				continue
			}
			series := name
			if reason := labels["finished_reason"]; reason != "" {
				series = fmt.Sprintf("%s{finished_reason=%q}", name, reason)
			}
			if h := m.GetHistogram(); h != nil {
				values[name+"_count"], values[name+"_sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				continue
			}
			values[series] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}

func TestAllSeriesAreThereFromTheStart(t *testing.T) {
	t.Parallel()
	got := exposition(t, newServer(t, quick("m")))
	const golden = "testdata/idle.prom"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("exposition (-want +got):\n%s", diff)
	}
}

func TestExpositionIsCleanButForColons(t *testing.T) {
	t.Parallel()
	problems, err := promlint.New(strings.NewReader(exposition(t, newServer(t, quick("m"), quick("n"))))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Text != "metric names should not contain ':'" { // vLLM's are so
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestMetricsAreTheTraffic(t *testing.T) {
	t.Parallel()
	p := quick("m")
	p.AnswerTokens = 20
	s := newServer(t, p)
	server := httptest.NewServer(s)
	defer server.Close()
	c := &client{url: server.URL, http: server.Client()}

	var mu sync.Mutex
	sum := usage{}
	outputs, finished := 0, map[string]int{}
	var clients sync.WaitGroup
	for i := range 40 {
		clients.Go(func() {
			tokens, stream := 1+i%25, ""
			if i%2 == 0 {
				stream = `,"stream":true,"stream_options":{"include_usage":true}`
			}
			a := c.ask(t, "completions", fmt.Sprintf(`{"prompt":"%s","max_tokens":%d%s}`, strings.Repeat("a", i), tokens, stream))
			mu.Lock()
			defer mu.Unlock()
			sum.Prompt += a.usage.Prompt
			sum.Completion += a.usage.Completion
			outputs += a.usage.Completion
			finished[a.finish]++
		})
	}
	clients.Wait()

	got := scrape(t, s)
	want := map[string]float64{
		"vllm:prompt_tokens_total":                             float64(sum.Prompt),
		"vllm:generation_tokens_total":                         float64(sum.Completion),
		`vllm:request_success_total{finished_reason="length"}`: float64(finished["length"]),
		`vllm:request_success_total{finished_reason="stop"}`:   float64(finished["stop"]),
		`vllm:request_success_total{finished_reason="abort"}`:  0,
		`vllm:request_success_total{finished_reason="error"}`:  0,
		"vllm:time_to_first_token_seconds_count":               40,
		"vllm:inter_token_latency_seconds_count":               float64(outputs - 40),
		"vllm:request_time_per_output_token_seconds_count":     38, // two had one token
		"vllm:e2e_request_latency_seconds_count":               40,
		"vllm:request_queue_time_seconds_count":                40,
		"vllm:request_prefill_time_seconds_count":              40,
		"vllm:request_decode_time_seconds_count":               40,
		"vllm:prefix_cache_queries_total":                      float64(sum.Prompt),
		"vllm:prefix_cache_hits_total":                         0, // no prompt is kept
		"vllm:num_requests_running":                            0,
		"vllm:num_requests_waiting":                            0,
		"vllm:num_preemptions_total":                           0,
		"vllm:kv_cache_usage_perc":                             0,
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s = %v, want %v", name, got[name], value)
		}
	}
	if finished["stop"] == 0 || finished["length"] == 0 {
		t.Errorf("finished %v: the test wants both", finished)
	}
	phases := got["vllm:request_queue_time_seconds_sum"] + got["vllm:request_prefill_time_seconds_sum"] +
		got["vllm:request_decode_time_seconds_sum"]
	if whole := got["vllm:e2e_request_latency_seconds_sum"]; phases < whole*0.999 || phases > whole*1.001 {
		t.Errorf("queue, prefill and decode add up to %v s, the whole to %v s", phases, whole)
	}
}
