package server

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

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

// The pages of real servers, each at its own place.
func TestPagesOfEveryServerAreFoundAndRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		at     string
		kind   mapping.Kind // of the target
		kinds  string       // as logged
		series string       // and the labels beside target and instance_id
		want   float64
	}{
		"vllm":     {"/metrics", mapping.Auto, "[vllm]", "requests_running", 12},
		"sglang":   {"/metrics", mapping.Auto, "[sglang]", "requests_running", 24},
		"trtllm":   {"/prometheus/metrics", mapping.TRTLLM, "[trtllm]", "requests_running", 16},
		"dynamo":   {"/metrics", mapping.Auto, "[dynamo vllm]", "", 0},
		"tgi":      {"/metrics", mapping.Auto, "[tgi]", "requests_waiting", 4},
		"triton":   {"/metrics", mapping.Triton, "[triton]", "kv_cache_usage_ratio", 0.34},
		"nim":      {"/v1/metrics", mapping.Auto, "[nim]", "", 0},
		"lmdeploy": {"/metrics", mapping.Auto, "[lmdeploy]", "", 0},
		"llamacpp": {"/metrics", mapping.Auto, "[llamacpp]", "requests_running", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("mapping/testdata/" + name + ".prom")
			if err != nil {
				t.Fatal(err)
			}
			p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != tc.at {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write(text)
			})
			target := auto("t", p.URL)
			target.Config.Kind = tc.kind
			r := newRig(t, rigOptions{}, target)
			for range 3 {
				r.look()
			}
			if log := r.journal.String(); !strings.Contains(log, "kinds="+tc.kinds+"\n") && !strings.Contains(log, `kinds="`+tc.kinds+`"`) {
				t.Errorf("log %s, want kinds %s", log, tc.kinds)
			}
			if got := r.series("aiperf_server_up")["aiperf_server_up instance_id="+p.instance()+" target=t"]; got != 1 {
				t.Errorf("up %v, want 1", got)
			}
			for series := range r.series("aiperf_server_replicas_mixed", "aiperf_server_restarts_total") {
				if r.series("aiperf_server_")[series] != 0 {
					t.Errorf("%s is not 0 of a page that stays as it is", series)
				}
			}
			got := r.series("aiperf_server_" + tc.series)
			if len(got) == 0 {
				t.Fatal("no series")
			}
			if tc.series == "" {
				return
			}
			for name, value := range got {
				if strings.HasPrefix(name, "aiperf_server_"+tc.series+" ") && value == tc.want {
					return
				}
			}
			t.Errorf("series %v, want one of %v", got, tc.want)
		})
	}
}
