//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// fleet, whose histograms take as much memory on the first day as in a year, are ten targets at 20 requests per second each, of which only the first never changes, and one that file discovery tells of: URL of the server,
// then what changes.
const fleet = `
workloads:
  still: {input_tokens: 16, output_tokens: 4}
  short: {input_tokens: %[2]d, output_tokens: 4}
loads:
  still: {mode: constant, rate: 20, max_in_flight: 100}
  quick: {mode: %[3]s, rate: %[4]v, max_in_flight: 100}
slos:
  quick: {objective: %[5]v, time_to_first_token: 500ms}
http_clients:
  default: {reuse: %[6]s}
defaults: {url: %[1]q, model: truth, endpoint: {type: chat}, workload: short, load: quick, slo: [quick]}
collectors: {server: {enabled: false}, gpu: {source: "off"}}
metrics: {histograms: classic}
target_discovery:
  - {name: found, file_sd_configs: [{files: [found.json], refresh_interval: 5m}], template: {load: quick, workload: short}, grace: 0s}
targets:
  - {name: still, workload: still, load: still, slo: []}
`

// variant is the fleet as its i-th reload has it. Every target but the first changes with each, in one way of several.
func variant(url string, i int) string {
	out := fmt.Sprintf(fleet, url, 16+i%5, []string{"constant", "poisson"}[i%2], 19+i%3, []string{"0.9", "0.99"}[i/2%2], []string{"fresh", "keepalive"}[i/3%2])
	for n := range 9 {
		out += fmt.Sprintf("  - {name: t%d, timeouts: {total: %ds}, labels: {turn: \"%d\"}}\n", n, 60+i, i)
	}
	return out
}

// reloading is an exporter whose files change.
type reloading struct {
	exporter
	folder string
}

// put replaces a file as editors and Kubernetes do, in one step.
func (r *reloading) put(t *testing.T, name, content string) {
	t.Helper()
	next := filepath.Join(r.folder, name+".next")
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(r.folder, name)); err != nil {
		t.Fatal(err)
	}
}

// flap makes the discovered target come or go.
func (r *reloading) flap(t *testing.T, there bool) {
	t.Helper()
	content := "[]"
	if there {
		content = `[{"targets": ["` + strings.TrimPrefix(r.server(t), "http://") + `"], "labels": {"__target_name__": "flapping", "__model__": "truth"}}]`
	}
	r.put(t, "found.json", content)
}

func (r *reloading) server(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, "url"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// accounts are the arrivals of a target as one scrape has them, and when they began to be counted.
type accounts struct{ arrivals, created float64 }

// take checks one scrape: no arrival is unaccounted for, and no counter of a target that is still there has moved back.
func take(t *testing.T, f scrape.Families, before map[string]accounts) map[string]accounts {
	t.Helper()
	now := map[string]accounts{}
	sent, dropped, queued := f.By("aiperf_arrivals_sent_total", "target", nil), f.By("aiperf_arrivals_dropped_total", "target", nil), f.By("aiperf_inflight_requests", "target", scrape.Labels{"phase": "queued"})
	for _, m := range f.Series("aiperf_arrivals_total", nil) {
		target, n := scrape.LabelsOf(m)["target"], m.GetCounter().GetValue()
		if sum := sent[target] + dropped[target] + queued[target]; n != sum {
			t.Errorf("%s: %v arrivals, and %v are accounted for", target, n, sum)
		}
		now[target] = accounts{n, float64(m.GetCounter().GetCreatedTimestamp().AsTime().UnixMilli())}
		if was, ok := before[target]; ok && was.created == now[target].created && n < was.arrivals {
			t.Errorf("%s: %v arrivals, were %v", target, n, was.arrivals)
		}
		if was, ok := before[target]; ok && was.created != now[target].created && target != "flapping" {
			t.Errorf("%s begins anew", target)
		}
	}
	return now
}

// footprint is what a process at rest takes.
type footprint struct{ goroutines, descriptors, heap float64 }

// heapAlloc is in the text of a heap profile.
var heapAlloc = regexp.MustCompile(`# HeapAlloc = (\d+)`)

// rested stops the traffic and gives what is left after the garbage has been collected.
func (r *reloading) rested(t *testing.T) footprint {
	t.Helper()
	if status := post(t, r.url+"/-/pause", nil); status != http.StatusOK {
		t.Fatalf("pause: status %d", status)
	}
	eventually(t, patience, func() error {
		if n := r.scrape(t).Sum("aiperf_inflight_requests", nil); n > 0 {
			return fmt.Errorf("%v requests have not ended", n)
		}
		return nil
	})
	http.DefaultClient.CloseIdleConnections()
	var heap float64
	for range 2 { // what finalizers free is garbage of the second
		text, err := scrape.Bytes(process.Within(t, patience), r.url+"/debug/pprof/heap?gc=1&debug=1", "text/plain")
		if err != nil {
			t.Fatal(err)
		}
		if heap, err = strconv.ParseFloat(string(heapAlloc.FindSubmatch(text)[1]), 64); err != nil {
			t.Fatal(err)
		}
	}
	f := r.scrape(t)
	if status := post(t, r.url+"/-/resume", nil); status != http.StatusOK {
		t.Fatalf("resume: status %d", status)
	}
	return footprint{f.Sum("go_goroutines", nil), f.Sum("process_open_fds", nil), heap}
}

func TestAHundredReloadsLoseNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=5ms", "-itl=1ms")
	r := &reloading{folder: t.TempDir()}
	r.put(t, "url", s.url)
	r.flap(t, true)
	r.put(t, "c.yml", variant(s.url, 0))
	r.exporter = startExporter(t, nil, "serve", "--config.file="+filepath.Join(r.folder, "c.yml"), "--web.enable-lifecycle", "--web.enable-admin-api", "--web.enable-pprof")
	r.sends(t, 6500) // of each target more than is remembered: 512 samples and 100 requests
	seen := take(t, r.scrape(t), nil)
	reload := func(i int) {
		t.Helper()
		want, content := http.StatusOK, variant(s.url, i)
		if i%3 == 0 {
			want, content = http.StatusInternalServerError, content+"  - {name: t0}\nloads: {\n"
		}
		r.put(t, "c.yml", content)
		r.flap(t, i%2 == 0)
		if status := post(t, r.url+"/-/reload", nil); status != want {
			t.Fatalf("reload %d: status %d, want %d", i, status, want)
		}
		seen = take(t, r.scrape(t), seen)
	}
	for i := 1; i <= 21; i++ {
		reload(i)
	}
	// What is remembered grows for an hour, with and without reloads: the same number of requests without any is the control.
	start := r.rested(t)
	sent := r.scrape(t).Sum("aiperf_arrivals_sent_total", nil)
	r.sends(t, sent+3000)
	before := r.rested(t)
	for i := 22; i <= 121; i++ {
		reload(i)
	}
	r.sends(t, sent+6000)
	// What only a moment needed, such as the buffers of a burst, goes with the garbage of the next moments. A leak stays.
	grown := func(after footprint) (names []string) {
		for name, pair := range map[string][2]float64{
			"goroutines": {before.goroutines, after.goroutines}, "descriptors": {before.descriptors, after.descriptors},
			"bytes of heap": {before.heap, after.heap - max(0, before.heap-start.heap)},
		} {
			if pair[1] > max(pair[0]*1.02, pair[0]+2) {
				names = append(names, fmt.Sprintf("%s: %v before a hundred reloads, %v after them", name, pair[0], pair[1]))
			}
		}
		return names
	}
	after := r.rested(t)
	for range 5 {
		if len(grown(after)) > 0 {
			after = r.rested(t)
		}
	}
	t.Logf("at first %+v, after the same without reloads %+v, after a hundred of them %+v", start, before, after)
	for _, what := range grown(after) {
		t.Error(what)
	}

	// Whatever was sent has arrived at the server, and nothing else. What the flapping target sent in earlier lives is counted nowhere any more.
	r.flap(t, false)
	r.rest(t)
	f := r.scrape(t)
	if f.Sum("aiperf_exporter_config_reloads_total", scrape.Labels{"result": "failure"}) != 40 || f.Sum("aiperf_exporter_config_reloads_total", scrape.Labels{"result": "success"}) != 81 {
		t.Errorf("reloads: %v", f.By("aiperf_exporter_config_reloads_total", "result", nil))
	}
	got := s.truth(t)
	sent = f.Sum("aiperf_arrivals_sent_total", nil)
	if missing := float64(got.Requests) - sent; missing < 0 {
		t.Errorf("%v requests were sent, the server has seen %d", sent, got.Requests)
	}
	if ended := f.Sum("aiperf_requests_total", nil); ended != sent {
		t.Errorf("%v requests were sent, %v have ended", sent, ended)
	}
}

// A target that is taken out is gone in one scrape, with everything that is shown of it, and Prometheus knows it at its next one: it does not wait the
// five minutes for which it looks back.
func TestARemovedTargetIsGoneInOneStep(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=5ms", "-itl=1ms")
	r := &reloading{folder: t.TempDir()}
	config := func(names ...string) string {
		out := "collectors: {server: {interval: 1s}, gpu: {source: 'off'}}\nloads: {default: {mode: constant, rate: 20}}\ntargets:\n"
		for _, name := range names {
			out += fmt.Sprintf("  - {name: %s, url: %q, model: truth, endpoint: {type: chat}}\n", name, s.url)
		}
		return out
	}
	r.put(t, "c.yml", config("stays", "goes"))
	r.exporter = startExporter(t, nil, "serve", "--config.file="+filepath.Join(r.folder, "c.yml"), "--web.enable-lifecycle")
	// families that have a target.
	of := func(f scrape.Families, target string) (out int) {
		for name := range f {
			if strings.HasPrefix(name, "aiperf_") && len(f.Series(name, scrape.Labels{"target": target})) > 0 {
				out++
			}
		}
		return out
	}
	whole := 0
	eventually(t, patience, func() error {
		f := r.scrape(t)
		if len(f.Series("aiperf_server_up", scrape.Labels{"target": "goes"})) == 0 || f.Sum("aiperf_requests_total", scrape.Labels{"target": "goes"}) < 10 {
			return errors.New("its server has not been read")
		}
		whole = of(f, "goes")
		return nil
	})
	p := startPrometheus(t, strings.TrimPrefix(r.url, "http://"))
	known := func(target string) int { return len(p.query(t, `count by (job) ({target="`+target+`"})`)) }
	eventually(t, patience, func() error {
		if known("goes") < 3 {
			return errors.New("Prometheus does not know it in all three formats")
		}
		return nil
	})
	r.put(t, "c.yml", config("stays"))
	if status := post(t, r.url+"/-/reload", nil); status != http.StatusOK {
		t.Fatalf("reload: status %d", status)
	}
	eventually(t, patience, func() error {
		switch n := of(r.scrape(t), "goes"); {
		case n == 0:
			return nil
		case n < whole:
			t.Fatalf("a scrape has %d families of %d", n, whole)
		}
		return errors.New("it is there")
	})
	if f := r.scrape(t); len(f.Series("aiperf_requests_total", scrape.Labels{"target": "stays"})) == 0 {
		t.Error("the other one is gone, too")
	}
	eventually(t, patience, func() error {
		if known("goes") > 0 || known("stays") < 3 {
			return errors.New("Prometheus still has it")
		}
		return nil
	})
}

// The files of a ConfigMap are links into a folder that is a link itself, which is replaced. Nobody tells the exporter.
func TestAConfigMapIsTakenByItselfAndABrokenOneIsToldOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=5ms", "-itl=1ms")
	folder := t.TempDir()
	mount := func(version, content string) {
		t.Helper()
		for _, err := range []error{
			os.Mkdir(filepath.Join(folder, version), 0o700),
			os.WriteFile(filepath.Join(folder, version, "c.yml"), []byte(content), 0o600),
			os.Symlink(version, filepath.Join(folder, "..next")),
			os.Rename(filepath.Join(folder, "..next"), filepath.Join(folder, "..data")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	config := func(name string) string {
		return fmt.Sprintf("targets:\n  - {name: %s, url: %q, model: truth, endpoint: {type: chat}}\n", name, s.url)
	}
	mount("..one", config("first"))
	if err := os.Symlink(filepath.Join("..data", "c.yml"), filepath.Join(folder, "c.yml")); err != nil {
		t.Fatal(err)
	}
	e := startExporter(t, nil, "serve", "--config.file="+filepath.Join(folder, "c.yml"), "--config.auto-reload-interval=100ms")
	shown := func(target string, successes, failures float64) {
		t.Helper()
		eventually(t, patience, func() error {
			f := e.scrape(t)
			reloads := f.By("aiperf_exporter_config_reloads_total", "result", nil)
			if len(f.Series("aiperf_arrivals_total", scrape.Labels{"target": target})) != 1 || reloads["success"] != successes || reloads["failure"] != failures {
				return fmt.Errorf("%s is not there, or reloads were %v", target, reloads)
			}
			return nil
		})
	}
	shown("first", 0, 0)
	mount("..two", config("second"))
	shown("second", 1, 0)
	mount("..three", "targets: [")
	shown("second", 1, 1)
	mount("..four", config("third"))
	shown("third", 2, 1)
}
