package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// peer is an inference server, of which only the pages are played.
type peer struct {
	*httptest.Server
	handler  atomic.Pointer[http.HandlerFunc]
	requests atomic.Int64
	atOnce   atomic.Int64 // requests that run, and the most that ever did
	most     atomic.Int64
}

func newPeer(t *testing.T, handler http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{}
	p.answer(handler)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		p.most.Store(max(p.most.Load(), p.atOnce.Add(1)))
		defer p.atOnce.Add(-1)
		(*p.handler.Load())(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *peer) answer(handler http.HandlerFunc) { p.handler.Store(&handler) }

// instance is the value of the label instance_id.
func (p *peer) instance() string { return strings.TrimPrefix(p.URL, "http://") }

// serving answers with a page at /metrics.
func serving(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write([]byte(text))
	}
}

// vllm is a page of vLLM, whose process began at an instant, 0 = it does not say.
func vllm(started, generated float64, running int) string {
	text := fmt.Sprintf(`# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} %d
# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="m"} %g
# HELP vllm:time_to_first_token_seconds Histogram of time to first token in seconds.
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.1",model_name="m"} %[2]g
vllm:time_to_first_token_seconds_bucket{le="+Inf",model_name="m"} %[2]g
vllm:time_to_first_token_seconds_count{model_name="m"} %[2]g
vllm:time_to_first_token_seconds_sum{model_name="m"} %[2]g
`, running, generated)
	if started != 0 {
		text += fmt.Sprintf("# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %g\n", started)
	}
	return text
}

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// messages are the messages of the level info and above, in their order.
func (j *journal) messages() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for line := range strings.Lines(j.text.String()) {
		_, rest, _ := strings.Cut(line, `msg="`)
		message, _, _ := strings.Cut(rest, `"`)
		out = append(out, message)
	}
	return out
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// rig is a collector whose looks are made by hand.
type rig struct {
	*Collector
	t       testing.TB
	journal *journal
	panics  atomic.Int64 // that were told
}

type rigOptions struct {
	config   func(*Config)
	resolver Resolver
	observe  func(target, instance string, at int64, families []*dto.MetricFamily)
	client   func(scrape.Options) (getter, error)
}

func newRig(tb testing.TB, o rigOptions, targets ...Target) *rig {
	tb.Helper()
	c := DefaultConfig()
	if o.config != nil {
		o.config(&c)
	}
	if o.client == nil {
		o.client = func(o scrape.Options) (getter, error) { return scrape.NewClient(o) }
	}
	r := &rig{t: tb, journal: &journal{}}
	deps := Deps{
		Clock: metrics.NewSystemClock(), Logger: slog.New(slog.NewTextHandler(r.journal, nil)), UserAgent: "aiperf-exporter/test", Resolver: o.resolver, Observe: o.observe,
		Panicked: func(any) { r.panics.Add(1) },
	}
	var err error
	if r.Collector, err = newCollector(c, targets, deps, o.client); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for _, s := range r.sources {
			s.client.Close()
		}
	})
	return r
}

// look makes one look of each source.
func (r *rig) look() {
	r.t.Helper()
	for _, s := range r.sources {
		s.look(r.t.Context())
	}
}

// series are those whose names begin so, as "name{label=value,…}" without the label server, counts in the place of histograms.
func (r *rig) series(prefixes ...string) map[string]float64 {
	r.t.Helper()
	families, err := collector.NewGatherer(nil, r.Collector).Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.GetName(), p) }) {
			continue
		}
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				if l.GetName() != "server" && l.GetName() != "collector" && l.GetValue() != "" {
					labels[l.GetName()] = l.GetValue()
				}
			}
			var name strings.Builder
			name.WriteString(f.GetName())
			for _, label := range slices.Sorted(maps.Keys(labels)) {
				fmt.Fprintf(&name, " %s=%s", label, labels[label])
			}
			out[name.String()] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// errors are the failed looks of a target, by reason.
func (r *rig) errors(target string) map[scrape.Reason]float64 {
	r.t.Helper()
	out := map[scrape.Reason]float64{}
	for _, reason := range scrape.Reasons {
		if n := r.series("aiperf_scrape_errors_total")[fmt.Sprintf("aiperf_scrape_errors_total reason=%s target=%s", reason, target)]; n != 0 {
			out[reason] = n
		}
	}
	return out
}

// auto is a target of the kind auto.
func auto(name, url string) Target {
	return Target{Name: name, URL: url, Model: "m", Config: DefaultTargetConfig()}
}

// explicit is one whose page is configured.
func explicit(name string, urls ...string) Target {
	t := auto(name, "http://unused.invalid")
	for _, u := range urls {
		t.Config.MetricsURLs = append(t.Config.MetricsURLs, secretURL(u))
	}
	return t
}

// scripted is a client whose server lives in the memory of the test, so that time may be simulated.
type scripted struct {
	answer func(ctx context.Context, url string) ([]byte, error)
}

func (s *scripted) Get(ctx context.Context, url, _ string, _ []byte) ([]byte, string, error) {
	body, err := s.answer(ctx, url)
	return body, "text/plain", err
}

func (s *scripted) Close() {}
