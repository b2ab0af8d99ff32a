//go:build e2e && incident

package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// alertmanager, as seen from this folder.
const alertmanager = "../../.cache/alertmanager/bin/alertmanager"

// The shipped rules hold a page for ten minutes and more after its end, so that it does not flap. Whoever has no time to see that shortens it;
// everything else of the rules is as it is shipped.
var hold = flag.Duration("hold", 0, "what keep_firing_for of the rules is shortened to; 0 = as shipped")

// scraped is how often the exporter is looked at, as the documentation recommends.
const scraped = 15 * time.Second

// monitoring is a Prometheus with the shipped rules, an Alertmanager with the shipped inhibitions, and somebody who is paged.
type monitoring struct {
	prom
	alertmanager string
	*pager
}

// page is a notification about one alert.
type page struct {
	Status string            `json:"status"` // firing, resolved
	Labels map[string]string `json:"labels"`
	at     time.Time
}

func (p page) is(alert, target string) bool {
	return p.Labels["alertname"] == alert && (target == "" || p.Labels["target"] == target)
}

// pager is the receiver at the end.
type pager struct {
	mu    sync.Mutex
	pages []page
}

func (p *pager) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var body struct {
		Alerts []page `json:"alerts"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range body.Alerts {
		a.at = time.Now()
		p.pages = append(p.pages, a)
	}
}

// since are the notifications of a time.
func (p *pager) since(t time.Time) []page {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.pages, func(a page) bool { return !a.at.Before(t) })
	if at < 0 {
		return nil
	}
	return slices.Clone(p.pages[at:])
}

// told waits for a notification that came after since.
func (p *pager) told(t *testing.T, limit time.Duration, since time.Time, status, alert, target string) page {
	t.Helper()
	var found page
	eventually(t, limit, func() error {
		pages := p.since(since)
		at := slices.IndexFunc(pages, func(a page) bool { return a.Status == status && a.is(alert, target) })
		if at < 0 {
			return fmt.Errorf("%s of %s: no %s; told so far: %s", alert, target, status, names(pages))
		}
		found = pages[at]
		return nil
	})
	return found
}

func names(pages []page) string {
	var all []string
	for _, a := range pages {
		all = append(all, strings.Join([]string{a.Status, a.Labels["alertname"], a.Labels["target"], a.Labels["slo"]}, " "))
	}
	return strings.Join(all, ", ")
}

var keepFiring = regexp.MustCompile(`keep_firing_for: \w+`)

// rules copies the shipped rules, with the hold of the flag.
func rules(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	files, err := filepath.Glob("../../alerts/rules/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if *hold > 0 {
			text = keepFiring.ReplaceAll(text, []byte("keep_firing_for: "+hold.String()))
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// monitor watches an exporter.
func monitor(t *testing.T, e exporter) monitoring {
	t.Helper()
	inhibitions, err := os.ReadFile("../../alerts/alertmanager-inhibit.yml")
	if err != nil {
		t.Fatal(err)
	}
	s := monitoring{pager: &pager{}}
	receiver := httptest.NewServer(s.pager)
	t.Cleanup(receiver.Close)
	a := address(t)
	am := process.ForTest(t, nil, alertmanager, "--storage.path="+t.TempDir(), "--web.listen-address="+a, "--cluster.listen-address=", "--log.level=warn",
		"--config.file="+file(t, "alertmanager.yml", fmt.Sprintf(`
route: {receiver: pager, group_by: [alertname, target, slo], group_wait: 1s, group_interval: 5s, repeat_interval: 4h}
receivers:
  - {name: pager, webhook_configs: [{url: %q, send_resolved: true}]}
%s`, receiver.URL, inhibitions)))
	s.alertmanager = "http://" + a
	if err := am.Ready(process.Within(t, patience), s.alertmanager+"/-/ready"); err != nil {
		t.Fatal(err)
	}
	s.prom = launch(t, fmt.Sprintf(`
global: {scrape_interval: %s, scrape_native_histograms: true, always_scrape_classic_histograms: true}
rule_files: [%q]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs:
  - {job_name: aiperf-exporter, static_configs: [{targets: [%q]}]}
`, scraped, rules(t)+"/*.yml", a, strings.TrimPrefix(e.url, "http://")))
	return s
}

// suppressed tells which alerts Alertmanager has and does not send because of others.
func (s monitoring) suppressed(t *testing.T) map[string]bool {
	t.Helper()
	body, err := scrape.Bytes(process.Within(t, patience), s.alertmanager+"/api/v2/alerts", "application/json")
	if err != nil {
		t.Fatal(err)
	}
	var alerts []struct {
		Labels map[string]string `json:"labels"`
		Status struct {
			InhibitedBy []string `json:"inhibitedBy"`
		} `json:"status"`
	}
	if err := json.Unmarshal(body, &alerts); err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, a := range alerts {
		if len(a.Status.InhibitedBy) > 0 {
			all[a.Labels["alertname"]+" "+a.Labels["target"]] = true
		}
	}
	return all
}

// one is the value of an expression, and whether there is one.
func (s monitoring) one(t *testing.T, expression string) (float64, bool) {
	t.Helper()
	for _, v := range s.query(t, expression) {
		return v, true
	}
	return 0, false
}

var faultsOfDemo = regexp.MustCompile(`POST '(http://[^']+)/faults`)

// victim is the demo's server.
type victim struct {
	url string
}

func startVictim(t *testing.T) (exporter, victim) {
	t.Helper()
	e := startExporter(t, nil, "demo")
	u, err := e.Find(process.Within(t, patience), faultsOfDemo)
	if err != nil {
		t.Fatal(err)
	}
	return e, victim{u}
}

// hurt makes a model misbehave from now on, and gives the instant.
func (v victim) hurt(t *testing.T, model, how string) time.Time {
	t.Helper()
	request, err := http.NewRequestWithContext(process.Within(t, patience), http.MethodPost, v.url+"/faults?model="+url.QueryEscape(model)+"&"+how, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("%s is answered by %s", how, response.Status)
	}
	return at
}

// An outage of a server reaches somebody's pager, once, and its end as well.
func TestAnOutageIsPagedAndResolved(t *testing.T) {
	t.Parallel()
	e, v := startVictim(t)
	s := monitor(t, e)
	eventually(t, 5*time.Minute, func() error { // some requests that were well
		if n, _ := s.one(t, `slo:aiperf_slo_requests:increase5m{target="steady"} > 60`); n == 0 {
			return errors.New("there are no 60 requests in Prometheus")
		}
		return nil
	})
	if pages := s.since(time.Time{}); slices.ContainsFunc(pages, func(a page) bool { return a.Labels["target"] == "steady" }) {
		t.Errorf("paged before anything happened: %s", names(pages))
	}

	began := v.hurt(t, "demo-steady-8b", "kind=server_error&for=1h")
	paged := s.told(t, 10*time.Minute, began, "firing", "AIPerfTargetDown", "steady")
	t.Logf("measured: outage to page at the receiver: %.0f s", paged.at.Sub(began).Seconds())

	// What the same outage makes fire as well is known to Alertmanager and sent to nobody.
	eventually(t, 20*time.Minute, func() error {
		if !s.suppressed(t)["AIPerfSLOBurnTicket steady"] {
			return fmt.Errorf("AIPerfSLOBurnTicket is not inhibited; inhibited: %v", s.suppressed(t))
		}
		return nil
	})
	for _, a := range s.since(began) {
		if a.Status == "firing" && a.Labels["target"] == "steady" && a.Labels["severity"] == "page" && a.Labels["alertname"] != "AIPerfTargetDown" {
			t.Errorf("paged twice for one outage: %v", a.Labels)
		}
	}

	ended := v.hurt(t, "demo-steady-8b", "kind=none")
	resolved := s.told(t, 30*time.Minute, ended, "resolved", "AIPerfTargetDown", "steady")
	t.Logf("measured: end of the outage to its resolution at the receiver: %.0f s", resolved.at.Sub(ended).Seconds())
}

// starve takes the processor from a process for most of the time, as a container's quota does, until the end that it gives is called.
func starve(t *testing.T, p *process.Process) (end func()) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			_ = p.Signal(syscall.SIGSTOP) // it may have ended, as somebody else will tell
			pause := time.NewTimer(400 * time.Millisecond)
			select {
			case <-pause.C:
			case <-stop:
			}
			pause.Stop()
			_ = p.Signal(syscall.SIGCONT)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-stop:
				return
			}
		}
	}()
	end = sync.OnceFunc(func() { close(stop); <-done })
	t.Cleanup(end)
	return end
}

// canary asks the demo's steady model, as the demo itself does.
const canary = `
http_clients: {default: {reuse: keepalive}}
slos: {interactive: {objective: 0.99, time_to_first_token: 400ms, inter_token_latency: 30ms}}
workloads: {chat: {input_tokens: {mean: 256, stddev: 64}, output_tokens: 64}}
loads: {steady: {mode: poisson, rate: 2, max_in_flight: 16}}
targets:
  - {name: starved, url: %q, model: demo-steady-8b, endpoint: {type: chat}, workload: chat, load: steady, slo: [interactive]}
`

// A canary without a processor accuses itself, and does not page for an objective: it cannot know. When it is well again, it pages for what is
// still the case.
func TestAStarvedExporterAccusesItselfInsteadOfTheServer(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	e := serve(t, fmt.Sprintf(canary, v.url))
	end := starve(t, e.Process)
	s := monitor(t, e)
	began := v.hurt(t, "demo-steady-8b", "kind=server_error&share=0.4&for=1h") // below one half: no outage

	accused := s.told(t, 15*time.Minute, began, "firing", "AIPerfGeneratorSuspect", "")
	t.Logf("measured: starvation to the self-accusation at the receiver: %.0f s, because of %s", accused.at.Sub(began).Seconds(), accused.Labels["cause"])
	proved := `slo:aiperf_breach_evidence:nats30m{target="starved"} >= 9 and slo:aiperf_burn_rate:ratio30m >= slo:aiperf_page_floor:burn1h`
	eventually(t, 15*time.Minute, func() error {
		if _, ok := s.one(t, proved); !ok {
			return errors.New("the breach is not proved")
		}
		return nil
	})
	// Longer than its page would take, which waits for a minute.
	watch := time.Now()
	for time.Since(watch) < 100*time.Second {
		if _, firing := s.one(t, `ALERTS{alertname="AIPerfSLOBurnPage"}`); firing {
			t.Fatal("AIPerfSLOBurnPage fires although the exporter is starved")
		}
		if v, _ := s.one(t, `max(target:aiperf_suspect:bool{target="starved"})`); v != 1 {
			t.Fatalf("suspect %v while the exporter is starved", v)
		}
		time.Sleep(time.Second)
	}
	if pages := s.since(began); slices.ContainsFunc(pages, func(a page) bool { return strings.HasPrefix(a.Labels["alertname"], "AIPerfSLO") }) {
		t.Errorf("told of an objective while the exporter was starved: %s", names(pages))
	}

	if testing.Short() {
		return // the rules look back five minutes before they trust it again
	}
	end()
	fed := time.Now()
	paged := s.told(t, 30*time.Minute, fed, "firing", "AIPerfSLOBurnPage", "starved")
	t.Logf("measured: end of the starvation to the page for what is still broken: %.0f s", paged.at.Sub(fed).Seconds())
}
