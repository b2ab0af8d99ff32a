package server

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

func secretURL(u string) secret.URL { return secret.URL(u) }

func wantSeries(t *testing.T, want, got map[string]float64) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestAServerThatIsFoundIsShown(t *testing.T) {
	t.Parallel()
	p := newPeer(t, serving(vllm(1000, 5000, 3)))
	r := newRig(t, rigOptions{}, auto("t", p.URL+"/v1/chat/completions"))
	wantSeries(t, map[string]float64{}, r.series("aiperf_server_")) // nobody said that there is a page
	r.look()
	i := p.instance()
	wantSeries(t, map[string]float64{
		"aiperf_server_up instance_id=" + i + " target=t":                                  1,
		"aiperf_server_restarts_total instance_id=" + i + " target=t":                      0,
		"aiperf_server_replicas_mixed target=t":                                            0,
		"aiperf_server_requests_running instance_id=" + i + " model=m target=t":            3,
		"aiperf_server_generation_tokens_total instance_id=" + i + " model=m target=t":     5000,
		"aiperf_server_time_to_first_token_seconds instance_id=" + i + " model=m target=t": 5000,
	}, r.series("aiperf_server_"))
	wantSeries(t, map[string]float64{
		"aiperf_scrape_series_dropped target=t": 0, "aiperf_scrape_unmapped_families reason=type target=t": 0, "aiperf_scrape_unmapped_families reason=unknown target=t": 0,
	}, r.series("aiperf_scrape_series_dropped", "aiperf_scrape_unmapped_families"))
	if diff := cmp.Diff([]string{"server metrics are read"}, r.journal.messages()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

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
			z := gzip.NewWriter(w)
			zeros := make([]byte, 1<<20)
			for range 200 {
				if _, err := z.Write(zeros); err != nil {
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
			if tc.want == scrape.Timeout {
				r.timeout = 20 * time.Millisecond
			}
			r.look()
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

func TestASeverThatIsGoneIsToldOnceAndComesBack(t *testing.T) {
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

func TestTargetsOnOnePageShareItsRequest(t *testing.T) {
	t.Parallel()
	p := newPeer(t, serving(vllm(1000, 5000, 3)))
	other := auto("lora", p.URL+"/v1")
	other.Model = "m-lora"
	r := newRig(t, rigOptions{}, auto("canary", p.URL), auto("traffic", p.URL+"/v1/completions"), other, explicit("explicit", p.URL+"/metrics"))
	r.look()
	r.look()
	if got := p.requests.Load(); got != 2 {
		t.Errorf("%d requests in two looks, want 2", got)
	}
	i := p.instance()
	want := map[string]float64{}
	for _, name := range []string{"canary", "traffic", "lora", "explicit"} {
		want["aiperf_server_requests_running instance_id="+i+" model=m target="+name] = 3
	}
	wantSeries(t, want, r.series("aiperf_server_requests_running"))
}

func TestEachReplicaHasItsOwnSeries(t *testing.T) {
	t.Parallel()
	a, b := newPeer(t, serving(vllm(1000, 5000, 3))), newPeer(t, serving(vllm(1000, 60, 4)))
	proxy := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		text := vllm(1000, 1, 1)
		if strings.HasPrefix(r.URL.Path, "/two/") {
			text = vllm(1000, 2, 2)
		}
		r.URL.Path = "/metrics"
		serving(text)(w, r)
	})
	r := newRig(t, rigOptions{}, explicit("t", a.URL+"/metrics", b.URL+"/metrics"), explicit("proxied", proxy.URL+"/one/metrics", proxy.URL+"/two/metrics"))
	i := proxy.instance()
	up := map[string]float64{
		"aiperf_server_up instance_id=" + a.instance() + " target=t": 0, "aiperf_server_up instance_id=" + b.instance() + " target=t": 0,
		"aiperf_server_up instance_id=" + i + "/one/metrics target=proxied": 0, "aiperf_server_up instance_id=" + i + "/two/metrics target=proxied": 0,
	}
	wantSeries(t, up, r.series("aiperf_server_up")) // configured: down until read
	r.look()
	for name := range up {
		up[name] = 1
	}
	wantSeries(t, up, r.series("aiperf_server_up"))
	wantSeries(t, map[string]float64{
		"aiperf_server_requests_running instance_id=" + a.instance() + " model=m target=t":        3,
		"aiperf_server_requests_running instance_id=" + b.instance() + " model=m target=t":        4,
		"aiperf_server_requests_running instance_id=" + i + "/one/metrics model=m target=proxied": 1,
		"aiperf_server_requests_running instance_id=" + i + "/two/metrics model=m target=proxied": 2,
	}, r.series("aiperf_server_requests_running"))
	b.answer(http.NotFound)
	r.look()
	up["aiperf_server_up instance_id="+b.instance()+" target=t"] = 0
	wantSeries(t, up, r.series("aiperf_server_up"))
}

func TestNobodyIsAskedWhereThatIsSaid(t *testing.T) {
	t.Parallel()
	p := newPeer(t, serving(vllm(1000, 5000, 3)))
	none, empty := auto("none", p.URL), auto("empty", p.URL)
	none.Config.Kind = mapping.None
	empty.Config.MetricsURLs = []secret.URL{}
	hosted := auto("hosted", "https://api.vendor.example/v1")
	r := newRig(t, rigOptions{resolver: &resolver{names: map[string][]string{"api.vendor.example": {"8.8.8.8"}}}}, none, empty, hosted)
	r.look()
	r.look()
	if got := p.requests.Load(); got != 0 {
		t.Errorf("%d requests, want none", got)
	}
	wantSeries(t, map[string]float64{}, r.series("aiperf_server_", "aiperf_scrape_samples"))
	if diff := cmp.Diff(map[scrape.Reason]float64{}, r.errors("hosted")); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// The credential of the traffic goes nowhere unless it is to, and then only to those who serve the target.
func TestCredentials(t *testing.T) {
	t.Parallel()
	var seen atomic.Pointer[http.Header]
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Clone()
		seen.Store(&header)
		serving(vllm(1000, 5000, 3))(w, r)
	})
	withUser := strings.Replace(p.URL, "http://", "http://user:password@", 1)
	for name, tc := range map[string]struct {
		target func(*Target)
		want   string
	}{
		"none by default":                  {func(*Target) {}, ""},
		"nor the one in the address":       {func(t *Target) { t.URL = withUser }, ""},
		"inherited":                        {func(t *Target) { t.Config.Auth = InheritAuth }, "Bearer k3y"},
		"the one in an address of its own": {func(t *Target) { t.Config.MetricsURL = secret.URL(withUser + "/metrics") }, "Basic dXNlcjpwYXNzd29yZA=="},
		"that of the address, inherited":   {func(t *Target) { t.URL, t.Config.Auth, t.Credential = withUser, InheritAuth, nil }, "Basic dXNlcjpwYXNzd29yZA=="},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share what the peer has seen
			target := auto("t", p.URL)
			target.Credential = func() (string, string, error) { return "Authorization", "Bearer k3y", nil }
			tc.target(&target)
			if target.Config.Auth != InheritAuth {
				target.Credential = nil
			}
			r := newRig(t, rigOptions{}, target)
			r.look()
			header := *seen.Load()
			if got := header.Get("Authorization"); got != tc.want {
				t.Errorf("Authorization %q, want %q", got, tc.want)
			}
			if got := header.Get("User-Agent"); got != "aiperf-exporter/test" {
				t.Errorf("User-Agent %q", got)
			}
			text := r.journal.String() + fmt.Sprint(r.series(""))
			for _, hidden := range []string{"k3y", "password", "user:"} {
				if strings.Contains(text, hidden) {
					t.Errorf("%q stands in logs or labels:\n%s", hidden, text)
				}
			}
		})
	}
}

func TestTargetsWithCredentialsOfTheirOwnAreReadApart(t *testing.T) {
	t.Parallel()
	var seen [2]atomic.Int64
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-Key") {
		case "a":
			seen[0].Add(1)
		case "b":
			seen[1].Add(1)
		}
		serving(vllm(1000, 5000, 3))(w, r)
	})
	a, b := auto("a", p.URL), auto("b", p.URL)
	for _, t := range []*Target{&a, &b} {
		t.Config.Auth = InheritAuth
		t.Credential = func() (string, string, error) { return "X-Key", t.Name, nil }
	}
	r := newRig(t, rigOptions{}, a, b)
	r.look()
	if got := [2]int64{seen[0].Load(), seen[1].Load()}; got != [2]int64{1, 1} {
		t.Errorf("requests by credential %v, want one each", got)
	}
}

func TestPagesAtOtherPlacesAreFound(t *testing.T) {
	t.Parallel()
	at := func(path, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RequestURI() != path {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, text)
		}
	}
	const trtllm = "# TYPE trtllm_num_requests_running gauge\ntrtllm_num_requests_running 3\n"
	const steps = `[{"numActiveRequests": 3}]`
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		target  func(*Target)
		asked   int64
	}{
		"NIM": {at("/v1/metrics", vllm(1, 1, 3)), func(*Target) {}, 2},
		"TensorRT-LLM, whose /metrics is JSON": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				_, _ = io.WriteString(w, `[]`)
				return
			}
			at("/prometheus/metrics", trtllm)(w, r)
		}, func(*Target) {}, 2},
		"TensorRT-LLM, of which that is known": {at("/prometheus/metrics", trtllm), func(t *Target) { t.Config.Kind = mapping.TRTLLM }, 1},
		"TensorRT-LLM without a page":          {at("/metrics", steps), func(t *Target) { t.Config.TRTLLMJSON = true }, 2},
		"the same, configured": {at("/x", steps), func(t *Target) {
			t.Config.MetricsURL, t.Config.TRTLLMJSON = secret.URL(t.URL+"/x"), true
		}, 1},
		"a router of llama.cpp": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RequestURI() == "/metrics" {
				http.Error(w, `{"error":{"message":"model name is missing from the request"}}`, http.StatusBadRequest)
				return
			}
			at("/metrics?autoload=false&model=m", "# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 3\n")(w, r)
		}, func(*Target) {}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, tc.handler)
			target := auto("t", p.URL)
			tc.target(&target)
			r := newRig(t, rigOptions{}, target)
			r.look()
			wantSeries(t, map[string]float64{"aiperf_server_requests_running instance_id=" + p.instance() + " model=m target=t": 3}, r.series("aiperf_server_requests_running"))
			if got := p.requests.Load(); got != tc.asked {
				t.Errorf("%d requests, want %d", got, tc.asked)
			}
			r.look()
			if got := p.requests.Load(); got != tc.asked+1 {
				t.Errorf("%d requests after a second look, want %d: the place is remembered", got, tc.asked+1)
			}
		})
	}
}

func TestOllamaIsFoundByItsAPI(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/api/ps" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"models":[{"name":"other:1b","size_vram":4096}]}`)
	})
	r := newRig(t, rigOptions{}, auto("t", p.URL+"/v1"))
	r.look()
	i := p.instance()
	wantSeries(t, map[string]float64{
		"aiperf_server_up instance_id=" + i + " target=t": 1, "aiperf_server_restarts_total instance_id=" + i + " target=t": 0, "aiperf_server_replicas_mixed target=t": 0,
		"aiperf_server_model_loaded instance_id=" + i + " model=m target=t": 0, "aiperf_server_model_loaded instance_id=" + i + " model=other:1b target=t": 1,
		"aiperf_server_model_vram_bytes instance_id=" + i + " model=other:1b target=t": 4096,
	}, r.series("aiperf_server_"))
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

func TestFilesThatCannotBeReadAreToldAtOnce(t *testing.T) {
	t.Parallel()
	target := auto("t", "http://h")
	target.HTTP.TLSConfig.CAFile = "testdata/no-such-file"
	deps := Deps{Clock: metrics.NewSystemClock(), Logger: slog.New(slog.DiscardHandler)}
	_, err := New(DefaultConfig(), []Target{target}, deps)
	if err == nil || !strings.Contains(err.Error(), `target "t"`) {
		t.Errorf("error %v, want one that names the target", err)
	}
	if _, err = New(DefaultConfig(), []Target{auto("u", "ftp://h")}, deps); err == nil || !strings.Contains(err.Error(), `target "u"`) {
		t.Errorf("error %v, want one that names the target", err)
	}
}

func TestStoppingIsNoFailureOfTheServer(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	r := newRig(t, rigOptions{}, explicit("t", p.URL+"/metrics"))
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, stop)
	r.sources[0].look(ctx)
	if diff := cmp.Diff(map[scrape.Reason]float64{}, r.errors("t")); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
