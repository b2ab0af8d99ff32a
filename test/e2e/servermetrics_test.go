//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// measured is a target that is looked at closely, before others: whether servers are asked, URL.
const measured = `
global: {max_rate: 1000, max_in_flight: 2000}
collectors:
  server: {enabled: %v, interval: 1s, stale_after: 2s}
  gpu: {source: off}
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  steady: {mode: constant, rate: 50, max_in_flight: 1000, max_catchup: 1m}
  slow: {mode: constant, rate: 2, max_in_flight: 1000}
targets:
  - {name: healthy, url: %q, model: truth, endpoint: {type: chat}, workload: short, load: steady, server: {metrics_url: "%[2]s/metrics"}}
`

// besieged is a target of those that follow: name, URL.
const besieged = `
  - {name: %s, url: %q, model: peer, endpoint: {type: chat}, workload: short, load: slow, server: {metrics_url: "%[2]s/metrics"}}
`

// tokens is a counter of servers, which is withheld where it means nothing.
const tokens = "aiperf_server_generation_tokens_total"

// siege is an exporter with a healthy target and others whose pages become hostile, and the Prometheus that scrapes it.
type siege struct {
	exporter
	prom
	all   map[string]hostility // by target
	sites map[string]*site
}

func TestHostilePagesAreCountedAndDisturbNothing(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect to another host was followed") }))
	t.Cleanup(other.Close)
	s := siege{all: hostilities(strings.Replace(other.URL, "127.0.0.1", "localhost", 1), packed(t)), sites: map[string]*site{}}
	config := measured
	for name, h := range s.all {
		s.sites[name] = startSite(t, h.answer)
		config += fmt.Sprintf(besieged, name, s.sites[name].url)
	}
	// The last requests take long enough for a scrape after they were sent.
	asked, alone := startServer(t, "-ttft=500ms", "-itl=2ms"), startServer(t, "-ttft=500ms", "-itl=2ms")
	s.exporter = serve(t, fmt.Sprintf(config, true, asked.url))
	unread := serve(t, fmt.Sprintf(config, false, alone.url))
	s.prom = launch(t, fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - {job_name: exporter, static_configs: [{targets: [%q]}]}
`, s.exporter.url[len("http://"):]))

	eventually(t, patience, func() error { return s.shown(t, tokens, len(s.all)+1) })
	before := s.memory(t)
	s.begin(t)
	s.lift(t)
	if most := s.memory(t); most-before > huge {
		t.Errorf("%.0f MiB of memory in use, %.0f MiB more than before the pages of %d MiB came", most/(1<<20), (most-before)/(1<<20), huge>>20)
	}
	for name, site := range s.sites {
		site.apart(t, name)
		if reason := s.all[name].reason; reason != "" {
			told(t, s.exporter, name, reason)
		}
	}
	with, without := unharmed(t, s.exporter, asked), unharmed(t, unread, alone)
	if with > without+.1 {
		t.Errorf("a share of %.3f of the arrivals is late, %.3f where no pages are read", with, without)
	}
}

// memory is the most that the exporter has used so far, in bytes.
func (s *siege) memory(t *testing.T) float64 {
	t.Helper()
	return s.query(t, `max_over_time(process_resident_memory_bytes[5m])`)["exporter"]
}

// begin lets all pages become hostile, and waits until that can be seen.
func (s *siege) begin(t *testing.T) {
	t.Helper()
	for _, site := range s.sites {
		site.hostile.Store(true)
	}
	for name := range s.all {
		h := s.all[name]
		eventually(t, patience, func() error { return h.shows(s.scrape(t), name) })
		if !h.counts {
			// A series without a marker of its end would be there for five minutes.
			eventually(t, patience, func() error { return s.shown(t, fmt.Sprintf("%s{target=%q}", tokens, name), 0) })
		}
		if h.reason != "" {
			s.outlives(t, name)
		}
	}
	eventually(t, patience, func() error {
		if n := s.query(t, fmt.Sprintf(`resets(%s{target="restarts"}[5m])`, tokens))["exporter"]; n != 1 {
			return fmt.Errorf("the counter of the server that restarted began %v times anew, want once", n)
		}
		return nil
	})
}

// lift lets them become well, and waits until those that are asked again at once are read.
func (s *siege) lift(t *testing.T) {
	t.Helper()
	for _, site := range s.sites {
		site.hostile.Store(false)
	}
	for name := range s.all {
		if !s.all[name].mends {
			continue
		}
		eventually(t, patience, func() error {
			if f, of := s.scrape(t), (scrape.Labels{"target": name}); f.Sum("aiperf_server_up", of) != 1 || f.Sum(tokens, of) == 0 {
				return fmt.Errorf("%s: the page is well and not read", name)
			}
			return nil
		})
	}
}

// shown checks how many series an expression gives.
func (p prom) shown(t *testing.T, expression string, want int) error {
	t.Helper()
	if n := p.query(t, fmt.Sprintf(`count by (job) (%s)`, expression))["exporter"]; int(n) != want {
		return fmt.Errorf("%s has %v series, want %d", expression, n, want)
	}
	return nil
}

// shows checks what the series say of a page that is hostile.
func (h *hostility) shows(f scrape.Families, target string) error {
	of := scrape.Labels{"target": target}
	up, counts := f.Sum("aiperf_server_up", of) == 1, len(f.Series(tokens, of)) > 0
	var errs []error
	if up != (h.reason == "") || counts != h.counts {
		errs = append(errs, fmt.Errorf("%s: up %v, counters are shown: %v", target, up, counts))
	}
	failures := f.By("aiperf_scrape_errors_total", "reason", of)
	if h.reason != "timeout" {
		delete(failures, "timeout") // the machine's doing
	}
	if n := failures[h.reason]; (n > 0) != (h.reason != "") || len(failures) > 1 {
		errs = append(errs, fmt.Errorf("%s: failed looks %v, want those for the reason %q", target, failures, h.reason))
	}
	for name, want := range h.series {
		if got := f.Sum(name, of); got != want {
			errs = append(errs, fmt.Errorf("%s: %s is %v, want %v", target, name, got, want))
		}
	}
	return errors.Join(errs...)
}

// outlives checks that the last series of a target were shown for no longer than stale_after, two seconds, from the first failure on, which
// came a second after the last success. Looks and scrapes are a second apart, and the machine may be late.
func (p prom) outlives(t *testing.T, target string) {
	t.Helper()
	const late = 4
	of := fmt.Sprintf("{target=%q}", target)
	held := p.query(t, fmt.Sprintf(`max by (job) (max_over_time(timestamp(%s%s)[5m:500ms]))
		- max by (job) (max_over_time(aiperf_scrape_last_success_timestamp_seconds%s[5m]))`, tokens, of, of))["exporter"]
	if held > 1+2+1+late {
		t.Errorf("the series of %s were shown for %.1f s after the last look that succeeded", target, held)
	}
}

// told checks that an outage is one line in the log, however many looks fail. What comes of a busy machine may interrupt it.
func told(t *testing.T, e exporter, target, reason string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(e.Output()) {
		if strings.Contains(line, "target="+target+" ") && strings.Contains(line, `err="`+reason+":") {
			n++
		}
	}
	if n < 1 || n > 3 {
		t.Errorf("the log says %d times that looks at %s fail for the reason %s", n, target, reason)
	}
}

// unharmed ends the daemon and checks that the healthy target sent what it was to send, over connections of its own. It gives the share of its
// arrivals that left 60 ms or more too late.
func unharmed(t *testing.T, e exporter, s server) float64 {
	t.Helper()
	code, f := stop(t, e)
	if code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	of := scrape.Labels{"target": "healthy"}
	dropped := f.By("aiperf_arrivals_dropped_total", "reason", of)
	known := s.truth(t)
	arrivals := float64(known.Requests) + dropped["scheduler_late"] // the machine's doing
	if planned := 1 + 50*s.span(t, time.Second/50).Seconds(); math.Abs(arrivals-planned) > 5 {
		t.Errorf("%v arrivals at the server, %.1f were planned in that time", arrivals, planned)
	}
	delete(dropped, "scheduler_late")
	if sent := f.Sum("aiperf_arrivals_sent_total", of); int(sent) != known.Requests || len(dropped) > 0 {
		t.Errorf("%v requests were sent and %v dropped, the server got %d", sent, dropped, known.Requests)
	}
	if errs := f.Sum("aiperf_request_errors_total", of); errs != 0 || known.Aborted != 0 {
		t.Errorf("%v requests failed, %d were cut, want none", errs, known.Aborted)
	}
	if known.Shared {
		t.Error("a connection carried both requests and looks at the metrics")
	}
	failures := f.By("aiperf_scrape_errors_total", "reason", of)
	delete(failures, "timeout")
	if len(failures) > 0 {
		t.Errorf("looks at the healthy server failed: %v", failures)
	}
	return late(f, of)
}

// span is the time between the first and the last arrival, which come in even intervals: each may be late, but not all of those around it.
func (s server) span(t *testing.T, interval time.Duration) time.Duration {
	t.Helper()
	var instants []int64
	for _, r := range s.requests(t) {
		instants = append(instants, r.Arrived)
	}
	slices.Sort(instants)
	const near = 50
	first, last := int64(math.MaxInt64), int64(math.MaxInt64)
	for i := range min(near, len(instants)) {
		first = min(first, instants[i]-int64(i)*int64(interval))
		last = min(last, instants[len(instants)-1-i]+int64(i)*int64(interval))
	}
	return time.Duration(last - first)
}

// late is the share of arrivals that left 60 ms or more after they should have.
func late(f scrape.Families, of scrape.Labels) float64 {
	in, count := uint64(0), uint64(0)
	for _, m := range f.Series("aiperf_schedule_delay_seconds", of) {
		h := m.GetHistogram()
		count += h.GetSampleCount()
		for _, b := range h.GetBucket() {
			if b.GetUpperBound() == .06 {
				in += b.GetCumulativeCount()
			}
		}
	}
	return 1 - float64(in)/float64(count)
}
