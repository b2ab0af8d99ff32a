package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
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

func TestOnAServerOfSeveralModelsATargetIsOneOfThem(t *testing.T) {
	t.Parallel()
	p := newPeer(t, serving(`# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="a"} 1
vllm:num_requests_running{model_name="b"} 2
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="b"} 5
`))
	a, b, lora := auto("a", p.URL), auto("b", p.URL), auto("lora", p.URL)
	a.Model, b.Model, lora.Model = "a", "b", "b-tuned"
	r := newRig(t, rigOptions{}, a, b, lora)
	r.look()
	i := " instance_id=" + p.instance()
	wantSeries(t, map[string]float64{
		"aiperf_server_requests_running" + i + " model=a target=a": 1, "aiperf_server_requests_running" + i + " model=b target=b": 2,
		"aiperf_server_requests_running" + i + " model=a target=lora": 1, "aiperf_server_requests_running" + i + " model=b target=lora": 2,
		"aiperf_server_requests_waiting" + i + " model=b target=a": 5, "aiperf_server_requests_waiting" + i + " model=b target=b": 5,
		"aiperf_server_requests_waiting" + i + " model=b target=lora": 5,
	}, r.series("aiperf_server_requests"))
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
