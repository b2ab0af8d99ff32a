//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// pausable are two targets, of which one is paused over HTTP.
const pausable = `
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  quick: {mode: constant, rate: 20, max_in_flight: 50}
targets:
  - {name: one, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: quick}
  - {name: other, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: quick}
`

// post sends an empty POST and gives the status of the answer.
func post(t *testing.T, url string, header http.Header) int {
	t.Helper()
	r, err := http.NewRequestWithContext(process.Within(t, patience), http.MethodPost, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

func TestTargetsArePausedAndResumedOverHTTP(t *testing.T) {
	t.Parallel()
	p := startPeer(t, plain)
	e := serve(t, fmt.Sprintf(pausable, p.url), "--web.enable-admin-api")
	p.waitFor(t, "one", 5)
	if status := post(t, e.url+"/-/pause?target=one", nil); status != http.StatusOK {
		t.Fatalf("pause: status %d", status)
	}
	one := scrape.Labels{"target": "one"}
	eventually(t, patience, func() error {
		if f := e.scrape(t); f.Sum("aiperf_load_paused", one) != 1 || f.Sum("aiperf_inflight_requests", one) != 0 {
			return fmt.Errorf("not at rest")
		}
		return nil
	})
	paused := e.scrape(t)
	p.waitFor(t, "other", len(p.asked("other"))+40) // takes two seconds
	f := e.scrape(t)
	for _, name := range []string{"aiperf_arrivals_total", "aiperf_arrivals_sent_total", "aiperf_arrivals_dropped_total"} {
		if before, after := paused.Sum(name, one), f.Sum(name, one); before != after {
			t.Errorf("%s went from %v to %v in a pause", name, before, after)
		}
	}
	if rate := f.Sum("aiperf_load_target_rate", one); rate != 0 {
		t.Errorf("a rate of %v is wanted in a pause, want 0", rate)
	}
	if status := post(t, e.url+"/-/resume?target=one", nil); status != http.StatusOK {
		t.Fatalf("resume: status %d", status)
	}
	p.waitFor(t, "one", len(p.asked("one"))+20)
	now := e.scrape(t)
	dropped := func(of scrape.Labels) float64 {
		return now.Sum("aiperf_arrivals_dropped_total", of) - f.Sum("aiperf_arrivals_dropped_total", of)
	}
	// The machine may be late, for the one as for the other.
	if late, other := dropped(one), dropped(scrape.Labels{"target": "other"}); late > other+20 {
		t.Errorf("%v arrivals dropped after the pause, %v of the target that was not paused: it counts as lateness", late, other)
	}
	for name, test := range map[string]struct {
		path   string
		header http.Header
		want   int
	}{
		"an unknown target":       {"/-/pause?target=nobody", nil, http.StatusNotFound},
		"a page of somebody else": {"/-/pause", http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
	} {
		if got := post(t, e.url+test.path, test.header); got != test.want {
			t.Errorf("%s: status %d, want %d", name, got, test.want)
		}
	}
}

func TestPauseNeedsItsFlag(t *testing.T) {
	t.Parallel()
	p := startPeer(t, plain)
	e := serve(t, fmt.Sprintf(pausable, p.url))
	if status := post(t, e.url+"/-/pause", nil); status < 400 {
		t.Errorf("status %d, want a refusal", status)
	}
	p.waitFor(t, "one", len(p.asked("one"))+10)
}
