package genai_test

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
)

// answer is a whole stream, with usage.
const answer = `data: {"model":"llama-3","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}

data: [DONE]

`

// TestSpansAreThoseThatServersWereTold sends requests over real sockets: each span has the ids of a header that reached the server, and each header that
// says so has its span.
func TestSpansAreThoseThatServersWereTold(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	told := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		told[r.Header.Get("Traceparent")] = true
		refuse := len(told)%4 == 0
		mu.Unlock()
		if refuse {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	clock := metrics.NewSystemClock()
	tr, kept := tracer(t)
	o := observe(t, genai.Options{Settings: genai.Settings{Semconv: "1.41", Targets: []genai.Target{{Name: "open", URL: server.URL, EndpointType: "chat"}}}, Clock: clock, Tracer: always(tr)})
	const requests = 40
	send(t, server.URL, requests, generator.Deps{Clock: clock, Trace: genai.NewTraces(.5, rand.Uint64), Observer: o})
	got := map[string]bool{}
	for _, s := range kept.GetSpans() {
		got[fmt.Sprintf("00-%s-%s-01", s.SpanContext.TraceID(), s.SpanContext.SpanID())] = true
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != requests {
		t.Errorf("%d headers of %d requests", len(told), requests)
	}
	want := maps.Clone(told)
	maps.DeleteFunc(want, func(header string, _ bool) bool { return header[len(header)-1] == '0' })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-headers +spans):\n%s", diff)
	}
	if names := slices.Sorted(maps.Keys(collected(t, o))); len(names) != 4 {
		t.Errorf("instruments with values: %q, want all 4", names)
	}
}

// send has a target at url send requests.
func send(t *testing.T, url string, requests int64, deps generator.Deps) {
	t.Helper()
	c := generator.TargetConfig{
		Name: "open", URL: url, Model: "m", WorkloadName: "short", LoadName: "default", Seed: 1,
		Endpoint: endpoint.Config{Type: endpoint.Chat, MaxTokensField: endpoint.FieldAuto},
		Workload: workload.DefaultConfig(), Load: load.DefaultConfig(), Client: transport.DefaultConfig(),
	}
	c.Load.Rate = 1000
	deps.Store = metrics.NewStore(metrics.Options{Config: metrics.DefaultConfig(), Clock: deps.Clock})
	deps.Limiter, deps.Logger = load.NewLimiter(0, 0), slog.New(slog.DiscardHandler)
	g, err := generator.New(generator.Config{Targets: []generator.TargetConfig{c}}, deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	g.Run(t.Context(), time.Minute, requests)
}
