package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
)

func TestStatusTellsHowReadingGoes(t *testing.T) {
	t.Parallel()
	good, bad := newPeer(t, serving(vllm(1000, 5000, 3))), newPeer(t, failing())
	hosted := auto("hosted", "https://api.example")
	r := newRig(t, rigOptions{resolver: &resolver{names: map[string][]string{"api.example": {"8.8.8.8"}}}},
		explicit("pair", good.URL+"/metrics", bad.URL+"/metrics"), hosted)
	ignore := cmpopts.IgnoreFields(Status{}, "Took", "LastSuccess")
	wantStatus := func(want ...Status) {
		t.Helper()
		if diff := cmp.Diff(want, r.Status(), ignore); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	wantStatus(
		Status{Target: "hosted", Instance: "api.example:443", State: collector.StateWaiting},
		Status{Target: "pair", Instance: good.instance(), State: collector.StateWaiting}, Status{Target: "pair", Instance: bad.instance(), State: collector.StateWaiting},
	)
	before := time.Now()
	r.look()
	r.look()
	kinds := []mapping.Kind{mapping.VLLM}
	public := "its address is public: to have it read, say server.kind or server.metrics_url"
	wantStatus(
		Status{Target: "hosted", Instance: "api.example:443", State: StatePublic, Detail: public},
		Status{Target: "pair", Instance: good.instance(), Kinds: kinds, State: collector.StateOK, Samples: 7},
		Status{Target: "pair", Instance: bad.instance(), Kinds: kinds, State: "unavailable", Detail: "unavailable: get " + bad.URL + "/metrics: status 503"},
	)
	for _, s := range r.Status()[1:] {
		if s.Took <= 0 || s.LastSuccess.Before(before) || s.LastSuccess.After(time.Now()) {
			t.Errorf("%s: took %v, last success %v", s.Instance, s.Took, s.LastSuccess)
		}
	}
}
