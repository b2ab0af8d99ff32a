//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// busyness are the ways in which a server says that it wants to be left alone for six seconds at least: long enough for a machine that stands
// still for two of them.
var busyness = map[string]struct {
	status int
	header func(now time.Time) (name, value string)
}{
	"seconds": {http.StatusTooManyRequests, func(time.Time) (string, string) { return "Retry-After", "6" }},
	"date": {http.StatusTooManyRequests, func(now time.Time) (string, string) {
		return "Retry-After", now.Add(7 * time.Second).UTC().Format(http.TimeFormat) // of whole seconds
	}},
	"milliseconds": {http.StatusTooManyRequests, func(time.Time) (string, string) { return "Retry-After-Ms", "6100" }},
	"reset":        {http.StatusTooManyRequests, func(time.Time) (string, string) { return "X-Ratelimit-Reset-Requests", "6s" }},
	"instant": {http.StatusTooManyRequests, func(now time.Time) (string, string) {
		return "Anthropic-Ratelimit-Requests-Reset", now.Add(7 * time.Second).UTC().Format(time.RFC3339)
	}},
	"unavailable": {http.StatusServiceUnavailable, func(time.Time) (string, string) { return "Retry-After", "6" }},
	"overloaded":  {529, func(time.Time) (string, string) { return "Retry-After", "6" }},
}

func TestBackoffLastsAsLongAsTheServerAsksInAnyOfItsWords(t *testing.T) {
	t.Parallel()
	const refused = 3 // this request of each target
	p := startPeer(t, func(w http.ResponseWriter, r *http.Request, q *question) {
		if q.number != refused {
			plain(w, r, q)
			return
		}
		way := busyness[q.target]
		name, value := way.header(time.Now())
		w.Header().Set(name, value)
		refuse(w, way.status)
	})
	var config strings.Builder
	config.WriteString(`
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  # One at a time, so that no other request is on its way when one is refused.
  serial: {mode: constant, rate: 20, max_in_flight: 1}
targets:
`)
	for name := range busyness {
		fmt.Fprintf(&config, "  - {name: %s, url: %q, model: peer, endpoint: {type: chat}, workload: short, load: serial}\n", name, p.url)
	}
	e := serve(t, config.String())
	active := map[string]bool{} // at one of the scrapes
	eventually(t, patience, func() error {
		for name := range e.scrape(t).By("aiperf_backoff_active", "target", nil) {
			active[name] = true
		}
		if len(active) < len(busyness) {
			return fmt.Errorf("backoff was only seen to be active for %v", active)
		}
		return nil
	})
	for name, way := range busyness {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := scrape.Labels{"target": name}
			asked := p.waitFor(t, name, refused+5)
			if pause := asked[refused+1].arrived.Sub(asked[refused].arrived); pause < 6*time.Second {
				t.Errorf("the next request came after %v, want 6 s at least", pause)
			}
			eventually(t, patience, func() error {
				if f := e.scrape(t); f.Sum("aiperf_target_up", of) != 1 || f.Sum("aiperf_backoff_active", of) != 0 {
					return fmt.Errorf("up %v, backoff %v", f.Sum("aiperf_target_up", of), f.Sum("aiperf_backoff_active", of))
				}
				return nil
			})
			f := e.scrape(t)
			// 20 arrivals a second for six seconds, less those before the answer, and those for which the machine was late.
			if n := f.Sum("aiperf_arrivals_dropped_total", scrape.Labels{"target": name, "reason": "backoff"}); n < 60 {
				t.Errorf("%v arrivals dropped, want at least 60", n)
			}
			class := map[int]string{http.StatusTooManyRequests: "http_429"}[way.status]
			if class == "" {
				class = "http_5xx"
			}
			if diff := cmp.Diff(map[string]float64{class: 1}, f.By("aiperf_request_errors_total", "error_class", of)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// outage is a target for each mode of backoff.
const outage = `
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  measured: {mode: constant, rate: 20, max_in_flight: 20}
  spared: {mode: constant, rate: 20, max_in_flight: 20, backoff: {mode: all, probe_interval: 1s}}
targets:
  - {name: measured, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: measured}
  - {name: spared, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: spared}
  - {name: refused, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: measured}
`

// An outage is measured with every request unless the user wants the server to be spared, whose end a probe sees then.
func TestOutageIsMeasuredOrSpared(t *testing.T) {
	t.Parallel()
	var well atomic.Bool
	p := startPeer(t, func(w http.ResponseWriter, r *http.Request, q *question) {
		switch {
		case q.target == "refused":
			refuse(w, http.StatusUnauthorized)
		case well.Load():
			plain(w, r, q)
		default:
			refuse(w, http.StatusInternalServerError)
		}
	})
	e := serve(t, fmt.Sprintf(outage, p.url))
	p.waitFor(t, "measured", 120) // takes six seconds
	f := e.scrape(t)
	if n := len(p.asked("spared")); n < 3 || n > 60 {
		t.Errorf("the spared server got %d requests, want a few", n)
	}
	if n := f.Sum("aiperf_arrivals_dropped_total", scrape.Labels{"target": "measured", "reason": "backoff"}); n != 0 {
		t.Errorf("%v arrivals of the measured target were dropped, want none", n)
	}
	// A configuration that is refused does not get better: three requests, and those that ran meanwhile, then one a minute.
	if n := len(p.asked("refused")); n < 3 || n > 30 {
		t.Errorf("the server that refuses got %d requests, want 3 or a few more", n)
	}
	if active := f.Sum("aiperf_backoff_active", scrape.Labels{"target": "refused"}); active != 1 {
		t.Errorf("backoff of the refused target is %v, want 1", active)
	}
	well.Store(true)
	sofar := len(p.asked("spared"))
	p.waitFor(t, "spared", sofar+40)
	eventually(t, patience, func() error {
		f := e.scrape(t)
		of := scrape.Labels{"target": "spared"}
		if f.Sum("aiperf_target_up", of) != 1 || f.Sum("aiperf_backoff_active", of) != 0 {
			return fmt.Errorf("up %v, backoff %v", f.Sum("aiperf_target_up", of), f.Sum("aiperf_backoff_active", of))
		}
		return nil
	})
}

func TestLimitsOfTheServerAreSeries(t *testing.T) {
	t.Parallel()
	p := startPeer(t, func(w http.ResponseWriter, r *http.Request, q *question) {
		h := w.Header()
		h.Set("X-Ratelimit-Limit-Requests", "500")
		h.Set("X-Ratelimit-Remaining-Requests", "17")
		h.Set("X-Ratelimit-Reset-Requests", "1m30s")
		h.Set("X-Ratelimit-Limit-Tokens", "200000")
		h.Set("X-Ratelimit-Remaining-Tokens", "199000")
		plain(w, r, q)
	})
	e := serve(t, fmt.Sprintf(outage, p.url))
	p.waitFor(t, "measured", 1)
	of := scrape.Labels{"target": "measured"}
	eventually(t, patience, func() error {
		f := e.scrape(t)
		for name, want := range map[string]map[string]float64{
			"aiperf_rate_limit_quota":         {"requests": 500, "tokens": 200000},
			"aiperf_rate_limit_remaining":     {"requests": 17, "tokens": 199000},
			"aiperf_rate_limit_reset_seconds": {"requests": 90},
		} {
			if diff := cmp.Diff(want, f.By(name, "resource", of)); diff != "" {
				return fmt.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		return nil
	})
}
