package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
)

// wantLines fails unless the journal has these lines in this order and no others, from their levels on, "PEER" being the address of the peer.
func wantLines(t *testing.T, r *rig, p *peer, want ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(r.journal.String()) {
		_, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "level=")
		got = append(got, strings.ReplaceAll(strings.ReplaceAll(line, " target=t instance_id="+p.instance(), ""), p.URL, "PEER"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

const (
	llama = "# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 3\n"
	gpus  = "# TYPE DCGM_FI_DEV_POWER_USAGE gauge\nDCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 400\n"
)

func TestAPageOfSomethingElseIsToldOnceAndSoIsTheRightOne(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		page   string
		target func(*Target)
		want   string
	}{
		"another kind than is configured": {
			llama, func(t *Target) { t.Config.Kind = mapping.VLLM },
			`WARN msg="the page has nothing of the kind of server that is configured" url=PEER/metrics kind=vllm kinds=[llamacpp]`,
		},
		"a page of GPUs under a configured address": {
			gpus, func(t *Target) { t.Config.MetricsURL = secretURL(t.URL + "/metrics") },
			`WARN msg="the page has nothing of any server that is known" url=PEER/metrics kinds=[]`,
		},
		"a page that was only looked for": {
			gpus, func(*Target) {}, `INFO msg="the page has nothing of any server that is known" url=PEER/metrics kinds=[]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, serving(tc.page))
			target := auto("t", p.URL)
			tc.target(&target)
			r := newRig(t, rigOptions{}, target)
			r.look()
			r.look()
			p.answer(serving(vllm(1000, 5000, 3)))
			r.look()
			wantLines(t, r, p, tc.want, `INFO msg="server metrics are read" url=PEER/metrics kinds=[vllm]`)
		})
	}
}

func TestARuleWithoutItsFamilyIsToldOnce(t *testing.T) {
	t.Parallel()
	p := newPeer(t, serving(vllm(1000, 5000, 3)))
	target := auto("t", p.URL)
	target.Config.Map = []mapping.Rule{
		{Series: "aiperf_server_requests_waiting", Family: "vllm:num_requests_running"},
		{Series: "aiperf_server_requests_waiting", Family: "nope"},
		{Series: "aiperf_server_batch_size", Family: "vllm:time_to_first_token_seconds"}, // a histogram
	}
	r := newRig(t, rigOptions{}, target)
	r.look()
	r.look()
	const message = `WARN msg="a rule gives no series: the page has no such family, or one of another type" url=PEER/metrics rule=server.map`
	wantLines(t, r, p, `INFO msg="server metrics are read" url=PEER/metrics kinds=[vllm]`,
		message+`[1] family=nope series=aiperf_server_requests_waiting`,
		message+`[2] family=vllm:time_to_first_token_seconds series=aiperf_server_batch_size`)
}

func TestSeriesBeyondTheLimitAreToldOnce(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString(llama + "# TYPE llamacpp:requests_deferred gauge\n")
	for i := range 11 {
		fmt.Fprintf(&page, "llamacpp:requests_deferred{model=\"m%d\"} 1\n", i)
	}
	p := newPeer(t, serving(page.String()))
	r := newRig(t, rigOptions{config: func(c *Config) { c.MaxSeries = 10 }}, auto("t", p.URL))
	r.look()
	r.look()
	wantLines(t, r, p, `INFO msg="server metrics are read" url=PEER/metrics kinds=[llamacpp]`,
		`WARN msg="more series than collectors.server.max_series, whole families are left out" url=PEER/metrics series_left_out=11 max_series=10`)
}

func TestAServerWithoutMetricsIsToldByWhatItsFirstPlaceAnswers(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			http.Error(w, "start it with --metrics", http.StatusNotImplemented)
			return
		}
		http.NotFound(w, r)
	})
	r := newRig(t, rigOptions{}, auto("t", p.URL))
	r.look()
	wantLines(t, r, p, `INFO msg="no server metrics found" err="not_found: get PEER/metrics: status 501" places=3`)
}
