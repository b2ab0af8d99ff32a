package server

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

func TestWhatServersDoWrongIsCountedAndBounded(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    scrape.Reason
	}{
		"500": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "engine died", http.StatusInternalServerError)
		}, scrape.Status},
		"503": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, scrape.Unavailable},
		"401": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, scrape.Auth},
		"404": {http.NotFound, scrape.NotFound},
		"501": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) }, scrape.NotFound},
		"HTML": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<!doctype html><title>Log in</title>")
		}, scrape.Incompatible},
		"JSON":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[{"iter": 1}]`) }, scrape.Incompatible},
		"nothing":   {func(http.ResponseWriter, *http.Request) {}, scrape.Incompatible},
		"half line": {serving(strings.TrimSuffix(vllm(1000, 5000, 3), " 1000\n")), scrape.Parse},
		"200 MB": {func(w http.ResponseWriter, _ *http.Request) {
			line := []byte("# " + strings.Repeat("x", 1022) + "\n")
			for range 200 << 10 {
				n, err := w.Write(line)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		}, scrape.TooLarge},
		"200 MB in a few bytes": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
			if err != nil {
				return
			}
			zeros := make([]byte, 1<<20)
			for range 200 {
				if _, err = z.Write(zeros); err != nil {
					return
				}
			}
			_ = z.Close()
		}, scrape.TooLarge},
		"more samples than are read": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range maxSamples + 1 {
				fmt.Fprintf(w, "x{i=\"%d\"} 1\n", i)
			}
		}, scrape.TooLarge},
		"slow": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, scrape.Timeout},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.invalid/metrics", http.StatusFound)
		}, scrape.Redirect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good, bad := newPeer(t, serving(vllm(1000, 1, 7))), newPeer(t, serving(vllm(1000, 5000, 3)))
			r := newRig(t, rigOptions{}, explicit("bad", bad.URL+"/metrics"), explicit("good", good.URL+"/metrics"))
			r.look()
			bad.answer(tc.handler)
			for i, s := range r.sources {
				s.settings.timeout = time.Minute
				if i == 0 && tc.want == scrape.Timeout {
					s.settings.timeout = 20 * time.Millisecond
				}
				s.look(t.Context())
			}
			if diff := cmp.Diff(map[scrape.Reason]float64{tc.want: 1}, r.errors("bad")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			up := map[string]float64{
				"aiperf_server_up instance_id=" + bad.instance() + " target=bad": 0, "aiperf_server_up instance_id=" + good.instance() + " target=good": 1,
			}
			wantSeries(t, up, r.series("aiperf_server_up"))
			// What was last read is still shown for a while.
			wantSeries(t, map[string]float64{
				"aiperf_server_requests_running instance_id=" + bad.instance() + " model=m target=bad": 3, "aiperf_server_requests_running instance_id=" + good.instance() + " model=m target=good": 7,
			}, r.series("aiperf_server_requests_running"))
			if diff := cmp.Diff([]string{"server metrics are read", "server metrics are read", "server metrics cannot be read"}, r.journal.messages()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
	t.Cleanup(func() {
		if got := sent.Load(); got > 64<<20 {
			t.Errorf("%d bytes of 200 MB were taken before giving up, want at most 64 MiB", got)
		}
	})
}

func TestAServerThatIsGoneIsToldOnceAndComesBack(t *testing.T) {
	t.Parallel()
	p := newPeer(t, serving(vllm(1000, 5000, 3)))
	r := newRig(t, rigOptions{config: func(c *Config) { c.StaleAfter = new(time.Duration(0)) }}, auto("t", p.URL))
	r.look()
	p.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	for range 5 {
		r.look()
	}
	// stale_after is 0: nothing outlives its source.
	state := map[string]float64{
		"aiperf_server_up instance_id=" + p.instance() + " target=t": 0, "aiperf_server_restarts_total instance_id=" + p.instance() + " target=t": 0, "aiperf_server_replicas_mixed target=t": 0,
	}
	wantSeries(t, state, r.series("aiperf_server_"))
	wantSeries(t, map[string]float64{}, r.series("aiperf_scrape_series_dropped", "aiperf_scrape_unmapped_families", "aiperf_scrape_samples"))
	p.answer(serving(vllm(2000, 10, 1)))
	r.look()
	if got := r.series("aiperf_server_restarts_total")["aiperf_server_restarts_total instance_id="+p.instance()+" target=t"]; got != 1 {
		t.Errorf("restarts %v, want 1", got)
	}
	if got := r.series("aiperf_server_generation")["aiperf_server_generation_tokens_total instance_id="+p.instance()+" model=m target=t"]; got != 10 {
		t.Errorf("tokens %v, want the 10 of the new process", got)
	}
	want := []string{"server metrics are read", "server metrics cannot be read", "server metrics are read", "server restarted"}
	if diff := cmp.Diff(want, r.journal.messages()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// A new release, or another server, under the same address.
func TestAServerThatNamesItsMetricsAnewIsReadAnew(t *testing.T) {
	t.Parallel()
	const generation = "aiperf_server_generation_tokens_total"
	p := newPeer(t, serving("# TYPE vllm:gpu_cache_usage_perc gauge\nvllm:gpu_cache_usage_perc 0.5\n# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total 700\n"))
	r := newRig(t, rigOptions{}, auto("t", p.URL))
	labels := " instance_id=" + p.instance() + " model=m target=t"
	for _, step := range []struct {
		page     string
		want     map[string]float64
		restarts float64
	}{
		{vllm(0, 700, 3), map[string]float64{generation + labels: 700}, 0},
		{
			"# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc 0.6\n# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total 800\n",
			map[string]float64{"aiperf_server_kv_cache_usage_ratio" + labels: 0.6, generation + labels: 800},
			0,
		},
		{"# TYPE sglang:generation_tokens_total counter\nsglang:generation_tokens_total 7\n", map[string]float64{generation + labels: 7}, 1},
		{"# TYPE other_tokens_total counter\nother_tokens_total 7\n", map[string]float64{}, 1},
	} {
		for range together { // two restarts in fewer looks would be replicas
			r.look()
		}
		p.answer(serving(step.page))
		r.look()
		wantSeries(t, step.want, r.series("aiperf_server_kv_cache_usage_ratio", generation))
		state := " instance_id=" + p.instance() + " target=t"
		wantSeries(t, map[string]float64{"aiperf_server_up" + state: 1, "aiperf_server_restarts_total" + state: step.restarts, "aiperf_server_replicas_mixed target=t": 0},
			r.series("aiperf_server_up", "aiperf_server_restarts", "aiperf_server_replicas"))
	}
}

func TestAMixOfReplicasLosesItsCountersOnly(t *testing.T) {
	t.Parallel()
	replicas := []string{vllm(1000, 5000, 3), vllm(900, 80000, 9)}
	var next atomic.Int64
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) { serving(replicas[next.Add(1)%2])(w, r) })
	alone := newPeer(t, serving(vllm(1000, 77, 1)))
	var told []string
	r := newRig(t, rigOptions{observe: func(target, _ string, _ int64, families []*dto.MetricFamily) {
		if target == "mixed" {
			told = nil
			for _, f := range families {
				told = append(told, f.GetName())
			}
		}
	}}, explicit("mixed", p.URL+"/metrics"), explicit("alone", alone.URL+"/metrics"))
	for range 6 {
		r.look()
	}
	wantSeries(t, map[string]float64{"aiperf_server_replicas_mixed target=mixed": 1, "aiperf_server_replicas_mixed target=alone": 0}, r.series("aiperf_server_replicas_mixed"))
	wantSeries(t, map[string]float64{
		"aiperf_server_generation_tokens_total instance_id=" + alone.instance() + " model=m target=alone":     77,
		"aiperf_server_time_to_first_token_seconds instance_id=" + alone.instance() + " model=m target=alone": 77,
		"aiperf_server_requests_running instance_id=" + alone.instance() + " model=m target=alone":            1,
		"aiperf_server_requests_running instance_id=" + p.instance() + " model=m target=mixed":                3,
	}, r.series("aiperf_server_generation", "aiperf_server_time", "aiperf_server_requests_running"))
	if diff := cmp.Diff([]string{"aiperf_server_requests_running"}, told); diff != "" {
		t.Errorf("observed families (-want +got):\n%s", diff)
	}
	if got := strings.Count(r.journal.String(), "pages of several replicas in turn"); got != 1 {
		t.Errorf("the mix is logged %d times, want once:\n%s", got, r.journal)
	}
}

func TestAServerThatCannotBeReadFromTheStartIsNotShownButCounted(t *testing.T) {
	t.Parallel()
	p := httptest.NewServer(http.NotFoundHandler())
	p.Close()
	r := newRig(t, rigOptions{}, auto("t", p.URL))
	for range 3 {
		r.look()
	}
	wantSeries(t, map[string]float64{}, r.series("aiperf_server_"))
	if diff := cmp.Diff(map[scrape.Reason]float64{scrape.Connect: 1}, r.errors("t")); diff != "" { // once a minute
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"no server metrics found"}, r.journal.messages()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestStoppingIsNoFailureOfTheServer(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p := newPeer(t, func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	})
	r := newRig(t, rigOptions{}, explicit("t", p.URL+"/metrics"))
	r.sources[0].look(ctx)
	if diff := cmp.Diff(map[scrape.Reason]float64{}, r.errors("t")); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
