package web

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// pageOf asks for a page of a daemon at testNow.
func pageOf(tb testing.TB, d Daemon, path string) (code int, body string) {
	tb.Helper()
	o := options()
	o.Daemon, o.Pprof = d, true
	h, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(tb.Context(), http.MethodGet, path, http.NoBody))
	return w.Code, w.Body.String()
}

// textOf is what a reader sees of a part of a page: that between two texts of its source.
func textOf(t *testing.T, page, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, from)
	if !found {
		t.Fatalf("page has no %q", from)
	}
	part, _, found := strings.Cut(rest, to)
	if !found {
		t.Fatalf("page has no %q behind %q", to, from)
	}
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(from+part, " "))
	return strings.Join(strings.Fields(text), " ")
}

func TestFirstThingOnThePageIsWhichTargetIsUnhealthySinceWhenAndWhy(t *testing.T) {
	t.Parallel()
	_, body := pageOf(t, fleetOf(14, testNow), "/")
	got := textOf(t, body, `<main id="main"`, `</section>`)
	want := "3 of 14 targets are unhealthy 2 failing, 1 degraded, 1 unknown, 1 idle, 9 healthy " +
		"gptoss-prod-eu1 failing for 39 min 48 of 60 requests failed: timeout_first_token " +
		"gptoss-staging failing for 2 h 49 min 48 of 60 requests failed: timeout_first_token " +
		"deepseek-prod-eu1 degraded for 1 h 5 min TTFT p95 of 2.9 s misses interactive (800 ms): 91.2 % good, 99 % wanted"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first section (-want +got):\n%s", diff)
	}
	for _, text := range []string{"<title>3 unhealthy · aiperf-exporter</title>", `title="2026-01-02 02:25:05 UTC"`, `href="targets/gptoss-prod-eu1"`} {
		if !strings.Contains(body, text) {
			t.Errorf("page has no %q", text)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	type answer struct {
		Health view.Health
		Text   string
	}
	for name, test := range map[string]struct {
		counts map[view.Health]int
		want   answer
	}{
		"no targets":                         {nil, answer{view.Idle, "There are no targets, so nothing is sent"}},
		"the only target is well":            {map[view.Health]int{view.Healthy: 1}, answer{view.Healthy, "The only target is healthy"}},
		"the only target is not well":        {map[view.Health]int{view.Degraded: 1}, answer{view.Degraded, "The only target is unhealthy"}},
		"all are well":                       {map[view.Health]int{view.Healthy: 14}, answer{view.Healthy, "All 14 targets are healthy"}},
		"one is not well":                    {map[view.Health]int{view.Healthy: 13, view.Degraded: 1}, answer{view.Degraded, "1 of 14 targets is unhealthy"}},
		"the worst decides":                  {map[view.Health]int{view.Healthy: 9, view.Degraded: 3, view.Failing: 2}, answer{view.Failing, "5 of 14 targets are unhealthy"}},
		"nothing is known":                   {map[view.Health]int{view.Unknown: 2}, answer{view.Unknown, "Nothing is known yet of 2 targets"}},
		"some are not known":                 {map[view.Health]int{view.Unknown: 2, view.Healthy: 3}, answer{view.Unknown, "No target is unhealthy, as far as is known"}},
		"all are idle":                       {map[view.Health]int{view.Idle: 1}, answer{view.Idle, "Nothing is being sent to 1 target"}},
		"some are idle, and the rest well":   {map[view.Health]int{view.Idle: 2, view.Healthy: 3}, answer{view.Healthy, "No target is unhealthy"}},
		"what is not known hides no failure": {map[view.Health]int{view.Unknown: 5, view.Failing: 2}, answer{view.Failing, "2 of 7 targets are unhealthy"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			targets := 0
			for _, n := range test.counts {
				targets += n
			}
			health, text := verdict(test.counts, targets)
			if diff := cmp.Diff(test.want, answer{health, text}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRowOfTheFleetShowsTheFiguresOfTheTarget(t *testing.T) {
	t.Parallel()
	_, body := pageOf(t, fleetOf(14, testNow), "/")
	for name, want := range map[string]string{
		"gptoss-prod-eu1": "failing 39 min gptoss-prod-eu1 48 of 60 requests failed: timeout_first_token openai/gpt-oss-120b 340 ms 782 ms 17 % " +
			"48 of 60 timeout first token +1 5 dropped 11.8/min of 12 asked 42 % running",
		"qwen-prod-eu1":     "healthy 13 min qwen-prod-eu1 trickle, poisson 0.2/s Qwen/Qwen3-8B 120 ms 276 ms 99.8 % none 11.8/min of 12 asked 26 % running",
		"deepseek-prod-us2": "unknown 2 h 10 min deepseek-prod-us2 no request has ended yet deepseek-ai/DeepSeek-V3.2 – – – – 0/min of 12 asked 42 % starting",
	} {
		if diff := cmp.Diff(want, textOf(t, body, `<tr id="t-`+name+`"`, "</tr>")); diff != "" {
			t.Errorf("row of %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestBannersSayWhatIsWrongWithTheDaemonItself(t *testing.T) {
	t.Parallel()
	banner := regexp.MustCompile(`data-banner="([a-z]+)"`)
	for name, test := range map[string]struct {
		change func(*view.Process)
		banner string
		text   []string
	}{
		"nothing": {func(*view.Process) {}, "", nil},
		"a reload that failed": {func(p *view.Process) {
			p.Config.Reload = &view.Reload{At: testNow.Add(-4 * time.Minute), Trigger: "signal", Error: "a.yml:1:2: one\na.yml:3:4: two\n"}
		}, "reload", []string{
			"The last reload failed", ">4 min</time> ago (signal)",
			"<li><code>a.yml:1:2: one</code></li><li><code>a.yml:3:4: two</code></li>",
		}},
		"a reload that did not": {func(p *view.Process) {
			p.Config.Reload = &view.Reload{At: testNow, Trigger: "poll", OK: true, Added: 1, Kept: 2}
		}, "", []string{"1 added, 0 changed, 0 removed, 2 kept"}},
		"a restart is needed": {func(p *view.Process) {
			p.Config.RestartRequired = []string{"metrics.histograms"}
		}, "restart", []string{"<code>metrics.histograms</code>"}},
		"a suspect instrument": {func(p *view.Process) {
			p.Instrument.Suspect = []string{"wake-up delay", "throttled"}
		}, "suspect", []string{
			"This exporter itself is not to be trusted now:</strong> wake-up delay; throttled",
		}},
		"bodies are kept": {func(p *view.Process) { p.Bodies = true }, "bodies", []string{"Prompts and answers are kept and shown"}},
		"it stops":        {func(p *view.Process) { p.State = "stopping" }, "state", []string{"The daemon is stopping."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := emptyDaemon(testNow)
			test.change(&d.process)
			_, body := pageOf(t, d, "/")
			got := ""
			for _, m := range banner.FindAllStringSubmatch(body, -1) {
				got += m[1]
			}
			if got != test.banner {
				t.Errorf("banners %q, want %q", got, test.banner)
			}
			for _, text := range test.text {
				if !strings.Contains(body, text) {
					t.Errorf("page has no %q", text)
				}
			}
		})
	}
}

func TestPageSaysThatNothingIsSentWithoutTargets(t *testing.T) {
	t.Parallel()
	_, body := pageOf(t, emptyDaemon(testNow), "/")
	if !strings.Contains(body, "There are no targets, so nothing is sent") || strings.Contains(body, "<table") {
		t.Errorf("page without targets:\n%s", body)
	}
}

func TestPageFoldsCollectorsThatWorkWhereThereAreMany(t *testing.T) {
	t.Parallel()
	d := &fakeDaemon{}
	for i := range shownCollectors {
		d.collectors = append(d.collectors, view.Collector{Kind: "server", Source: "10.0.0.1:8000", Target: fmt.Sprintf("t%d", i), State: "ok"})
	}
	if _, body := pageOf(t, d, "/"); strings.Contains(body, `id="working"`) {
		t.Errorf("%d collectors are folded", shownCollectors)
	}
	d.collectors = append(d.collectors, view.Collector{Kind: "gpu", Source: "node-a", State: "timeout"})
	_, body := pageOf(t, d, "/")
	shown, folded, found := strings.Cut(body, `<details class="box" id="working"><summary>6 collectors work</summary>`)
	if !found || !strings.Contains(shown, "node-a") || strings.Contains(shown, "for t0") || !strings.Contains(folded, "for t0") {
		t.Error("it is not so that what does not work is shown and the rest is folded")
	}
}

func TestPageShowsCollectorsAndWhatDiscoveryDrops(t *testing.T) {
	t.Parallel()
	d := emptyDaemon(testNow)
	d.collectors = []view.Collector{
		{Kind: "server", Source: "llama/10.0.0.1:8000", State: "ok", Last: new(testNow.Add(-9 * time.Second)), Duration: new(0.012), Samples: 214},
		{Kind: "gpu", Source: "node-a", State: "timeout", Detail: "deadline exceeded"},
	}
	d.discovery = []view.DiscoverySet{
		{Name: "pods", Targets: []string{"a", "b"}, Last: new(testNow.Add(-time.Minute)), DroppedCount: 1, Dropped: []view.Dropped{
			{Address: "10.0.0.7:80", Labels: map[string]string{"pod": "x"}, Reason: "max_targets", Detail: "2 are allowed"},
		}},
		{Name: "files", Error: "permission denied"},
	}
	_, body := pageOf(t, d, "/")
	for part, want := range map[string]string{
		`<h2 id="collectors"`: "Collectors Sources of metrics that are read from others Source State Last success Took Samples " +
			"node-a gpu timeout deadline exceeded never – 0 llama/10.0.0.1:8000 server ok 9 s ago 12 ms 214",
		`<details class="box" id="set-pods"`: `pods 2 targets, 1 dropped refreshed 1 min ago What pods has discovered and does not use Address Reason Labels ` +
			`10.0.0.7:80 max_targets 2 are allowed pod="x" a b`,
		`<details class="box" id="set-files"`: "files 0 targets error not refreshed yet permission denied",
	} {
		end := "</details>"
		if strings.HasPrefix(part, "<h2") {
			end = "</section>"
		}
		if diff := cmp.Diff(want, textOf(t, body, part, end)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", part, diff)
		}
	}
}

func TestPageOfATargetShowsWhyItFails(t *testing.T) {
	t.Parallel()
	code, body := pageOf(t, fleetOf(14, testNow), "/targets/gptoss-prod-eu1")
	if code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	for part, want := range map[string]string{
		`<section class="verdict`: "gptoss-prod-eu1 is failing for 39 min 48 of 60 requests failed: timeout_first_token " +
			"openai/gpt-oss-120b · chat · trickle, poisson 0.2/s · running · last success 1 min ago",
		`<dl class="figures"`: "Failed 48 of 60 timeout first token 41 http 5xx 7 5 arrivals dropped TTFT p50 340 ms p95 782 ms p99 1.26 s " +
			"ITL p50 20.4 ms p95 46.9 ms p99 75.5 ms Latency p50 3.06 s p95 7.04 s p99 11.3 s Goodput 17 % Rate 11.8/min of 12 asked 2 in flight",
		`<li id="f-req-gptoss-prod-eu1-9000"`: "timeout_first_token 2 s ago, after 10.1 s no token within 10s; the server had answered with headers and 3 keep-alives " +
			"req-gptoss-prod-eu1-9000 trace 4bf92f3577b34da6a3ce929d0e0e4736 Download its stream",
		`<tr data-slo="interactive"`: "interactive ttft <= 800 ms itl <= 50 ms missed 85 % 611 good 99 % 720",
	} {
		end := map[byte]string{'s': "</section>", 'd': "</dl>", 'l': "</li>", 't': "</tr>"}[part[1]]
		if diff := cmp.Diff(want, textOf(t, body, part, end)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", part, diff)
		}
	}
	if strings.Contains(body, "<dt>Prompt</dt>") {
		t.Error("page speaks of prompts although none are kept")
	}
	for _, text := range []string{`href="../api/v1/captures/req-gptoss-prod-eu1-9000" download`, `href="../api/v1/targets/gptoss-prod-eu1/records"`, "43 older failures"} {
		if !strings.Contains(body, text) {
			t.Errorf("page has no %q", text)
		}
	}
}

func TestPageShowsPromptsOnlyIfTheyAreKept(t *testing.T) {
	t.Parallel()
	d := fleetOf(1, testNow)
	name := d.targets[0].Name
	d.records[name][0].Prompt, d.records[name][0].Answer = "why <me>?", "because"
	_, body := pageOf(t, d, "/targets/"+name)
	for _, text := range []string{"why &lt;me&gt;?", "because"} {
		if strings.Count(body, text) != 1 {
			t.Errorf("page has not one %q", text)
		}
	}
}

func TestNoCacheKeepsThePageOfATarget(t *testing.T) {
	t.Parallel()
	o := options()
	o.Daemon = fleetOf(1, testNow)
	h := newHandler(t, o)
	for path, want := range map[string]string{"/": "no-cache", "/targets/qwen-prod-eu1": "no-store", "/targets/unknown": "no-store"} {
		if resp, _ := ask(t, h, http.MethodGet, path); resp.Header.Get("Cache-Control") != want {
			t.Errorf("%s: %q, want %q", path, resp.Header.Get("Cache-Control"), want)
		}
	}
}

func TestUnknownTargetIsNotFound(t *testing.T) {
	t.Parallel()
	code, body := pageOf(t, fleetOf(3, testNow), "/targets/%3Cb%3E")
	if code != http.StatusNotFound || !strings.Contains(body, "There is no target <code>&lt;b&gt;</code>") || !strings.Contains(body, `<a href="../">`) {
		t.Errorf("status %d:\n%s", code, body)
	}
}

func TestPageHasNoLinkToProfilesThatAreNotServed(t *testing.T) {
	t.Parallel()
	if _, body := ask(t, newHandler(t, options()), http.MethodGet, "/"); strings.Contains(body, "pprof") {
		t.Error("page links to profiles")
	}
}

func TestPagesArePackedForWhoeverTakesThat(t *testing.T) {
	t.Parallel()
	h := newHandler(t, options())
	for accepted, want := range map[string]string{
		"": "", "gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip; q=0": "", "identity": "", "deflate,gzip, br": "gzip", "x-gzip": "",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header.Set("Accept-Encoding", accepted)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := w.Header().Get("Content-Encoding")
		var body io.Reader = w.Body
		if got == "gzip" {
			var err error
			if body, err = gzip.NewReader(w.Body); err != nil {
				t.Fatal(err)
			}
		}
		text, err := io.ReadAll(body)
		if got != want || err != nil || !strings.HasSuffix(string(text), "</html>\n") {
			t.Errorf("%q: encoded as %q, want %q; %d bytes, %v", accepted, got, want, len(text), err)
		}
	}
}

func TestFilesOfThePageAreSentOnlyIfTheyHaveChanged(t *testing.T) {
	t.Parallel()
	h := newHandler(t, options())
	for _, a := range assetTypes {
		first, body := ask(t, h, http.MethodGet, "/"+a.name)
		if first.StatusCode != http.StatusOK || body == "" || first.Header.Get("Cache-Control") != "no-cache" ||
			first.Header.Get("Content-Type") != a.contentType {
			t.Errorf("%s: status %d, %v", a.name, first.StatusCode, first.Header)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+a.name, http.NoBody)
		r.Header.Set("If-None-Match", first.Header.Get("ETag"))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("%s again: status %d, %d bytes", a.name, w.Code, w.Body.Len())
		}
	}
}

func BenchmarkFleetPage(b *testing.B) {
	for name, n := range map[string]int{"14 targets": 14, "500 targets": 500} {
		b.Run(name, func(b *testing.B) {
			d := fleetOf(n, testNow)
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				_, body := pageOf(b, d, "/")
				size = len(body)
			}
			b.ReportMetric(float64(size), "B/page")
		})
	}
}

func BenchmarkTargetPage(b *testing.B) {
	d := fleetOf(14, testNow)
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		_, body := pageOf(b, d, "/targets/gptoss-prod-eu1")
		size = len(body)
	}
	b.ReportMetric(float64(size), "B/page")
}
