package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/probe"
)

// probing is a handler with a Prober that may ask the target "up", and what it asks.
func probing(t *testing.T, mayDebug bool) (h http.Handler, asked *int) {
	t.Helper()
	asked = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*asked++
		w.Header().Set("Content-Type", "application/json")
		write(w, []byte(`{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`))
	}))
	t.Cleanup(server.Close)
	target := generator.TargetConfig{
		Name: "up", URL: server.URL, Model: "m", Endpoint: endpoint.Config{Type: endpoint.Chat, MaxTokensField: endpoint.FieldAuto},
		Workload: workload.DefaultConfig(), Client: transport.DefaultConfig(), Accounting: metrics.Estimated,
	}
	target.Workload.Stream = false
	target.Client.Timestamps = transport.ReadTimestamps
	prober := probe.New(probe.Deps{
		Config:  probe.DefaultConfig,
		Target:  func(name string) (generator.TargetConfig, bool) { return target, name == "up" },
		Module:  func(string) (probe.Module, bool) { return probe.Module{}, false },
		Modules: func() []string { return nil },
		Clock:   metrics.NewSystemClock(), Limiter: load.NewLimiter(0, 0), Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(prober.Close)
	o := options()
	o.Probe = NewProbe(prober, slog.New(slog.DiscardHandler), mayDebug)
	return newHandler(t, o), asked
}

func probed(t *testing.T, h http.Handler, method, query string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/probe?"+query, http.NoBody)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAProbeComesInTheFormatAndCompressionThatIsAskedFor(t *testing.T) {
	t.Parallel()
	h, _ := probing(t, false)
	for _, format := range formats {
		w := probed(t, h, http.MethodGet, "target=up", map[string]string{"Accept": format.accept, "Accept-Encoding": "gzip"})
		resp := w.Result()
		if w.Code != http.StatusOK || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: code %d, encoding %q", format.name, w.Code, resp.Header.Get("Content-Encoding"))
		}
		if diff := cmp.Diff(format.contentType, resp.Header.Get("Content-Type")); diff != "" {
			t.Errorf("%s: Content-Type (-want +got):\n%s", format.name, diff)
		}
		got := families(t, resp, decompress(t, resp))
		if got["probe_success"].GetMetric()[0].GetGauge().GetValue() != 1 || got["aiperf_probe_tokens"] == nil {
			t.Errorf("%s: got %v", format.name, got)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", w.Header())
		}
	}
}

func TestAProbeThatIsRefusedHasACodeThatTells(t *testing.T) {
	t.Parallel()
	h, asked := probing(t, false)
	for name, test := range map[string]struct {
		method, query, timeout string
		code                   int
	}{
		"no target":                        {http.MethodGet, "", "", 400},
		"a target that nobody knows":       {http.MethodGet, "target=down", "", 400},
		"a module that nobody knows":       {http.MethodGet, "target=up&module=x", "", 400},
		"a key that nobody knows":          {http.MethodGet, "target=up&name[]=x", "", 400},
		"a URL without a module":           {http.MethodGet, "target=" + url.QueryEscape("http://127.0.0.1"), "", 400},
		"a scraper that does not wait":     {http.MethodGet, "target=up", "0.9", 400},
		"a page without the admin API":     {http.MethodGet, "target=up&debug=true", "", 403},
		"a HEAD, whose answer nobody sees": {http.MethodHead, "target=up", "", 405},
		"a POST":                           {http.MethodPost, "target=up", "", 405},
	} {
		w := probed(t, h, test.method, test.query, map[string]string{"X-Prometheus-Scrape-Timeout-Seconds": test.timeout})
		if w.Code != test.code {
			t.Errorf("%s: code %d, want %d: %s", name, w.Code, test.code, w.Body)
		}
	}
	if *asked != 0 {
		t.Errorf("%d requests were sent", *asked)
	}
}

func TestAPageOfAProbeNeedsTheAdminAPI(t *testing.T) {
	t.Parallel()
	h, _ := probing(t, true)
	w := probed(t, h, http.MethodGet, "target=up&debug=true", nil)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(w.Body.String(), "# timeline") {
		t.Errorf("code %d: %s", w.Code, w.Body)
	}
}

func TestThereIsNoProbeWithoutAProber(t *testing.T) {
	t.Parallel()
	if w := probed(t, newHandler(t, options()), http.MethodGet, "target=up", nil); w.Code != http.StatusNotFound {
		t.Errorf("code %d", w.Code)
	}
}

// faulty is a Prober that fails in a way that it should not.
type faulty struct{}

func (faulty) Probe(context.Context, *probe.Request) (*probe.Result, error) {
	return nil, http.ErrHandlerTimeout
}

func TestAProberThatFailsIsAFaultOfTheServer(t *testing.T) {
	t.Parallel()
	o := options()
	o.Probe = NewProbe(faulty{}, slog.New(slog.DiscardHandler), false)
	if w := probed(t, newHandler(t, o), http.MethodGet, "target=up", nil); w.Code != http.StatusInternalServerError {
		t.Errorf("code %d", w.Code)
	}
}
