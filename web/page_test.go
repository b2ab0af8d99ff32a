package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPageShowsTheTargets(t *testing.T) {
	t.Parallel()
	o := options()
	o.Targets = func() []Target {
		return []Target{
			{Name: "llama", Model: "Llama-3.1-8B", URL: "http://127.0.0.1:8000", Endpoint: "chat", Workload: "short", Load: "steady, poisson 2/s", SLOs: "fast, sure"},
			{Name: "other", Model: "m", URL: "http://127.0.0.1:8001", Endpoint: "completions", Workload: "long", Load: "calm, constant every 30s"},
		}
	}
	_, body := ask(t, newHandler(t, o), http.MethodGet, "/")
	cell := regexp.MustCompile(`<t[hd](?: scope="row"| data-label="[^"]*")>(?:<code>)?([^<]*)`)
	var got []string
	for _, m := range cell.FindAllStringSubmatch(body, -1) {
		got = append(got, m[1])
	}
	want := []string{
		"llama", "Llama-3.1-8B", "http://127.0.0.1:8000", "chat", "short", "steady, poisson 2/s", "fast, sure",
		"other", "m", "http://127.0.0.1:8001", "completions", "long", "calm, constant every 30s", "–",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	for _, text := range []string{"1.2.3", "2026-01-02 03:04:05 UTC", "0123456789ab"} {
		if !strings.Contains(body, text) {
			t.Errorf("page has no %q", text)
		}
	}
}

func TestPageSaysThatNothingIsSentWithoutTargets(t *testing.T) {
	t.Parallel()
	_, body := ask(t, newHandler(t, options()), http.MethodGet, "/")
	if !strings.Contains(body, "no enabled targets") || strings.Contains(body, "<table") {
		t.Errorf("page without targets:\n%s", body)
	}
}

func TestPageEscapesWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	const hostile = `"><script>alert('x')</script><img src=x onerror=alert(1)>`
	o := options()
	o.Version, o.ConfigHash = hostile, hostile
	o.Targets = func() []Target {
		return []Target{{Name: hostile, Model: hostile, URL: "javascript:alert(1)" + hostile, Endpoint: hostile, Workload: hostile, Load: hostile, SLOs: hostile}}
	}
	_, body := ask(t, newHandler(t, o), http.MethodGet, "/")
	for _, text := range []string{"<script", "<img src=x", "onerror=alert(1)>", `href="javascript:`} {
		if strings.Contains(body, text) {
			t.Errorf("%q got through to the page:\n%s", text, body)
		}
	}
	if n := strings.Count(body, "&lt;script&gt;"); n != 9 {
		t.Errorf("%d of 9 hostile texts are shown as text", n)
	}
}

// The policy forbids scripts and styles in the page itself, and everything from elsewhere.
func TestPageNeedsNothingThatItsPolicyForbids(t *testing.T) {
	t.Parallel()
	o := options()
	o.Pprof = true
	h := newHandler(t, o)
	_, body := ask(t, h, http.MethodGet, "/")
	for _, text := range []string{"<script", "<style", " style=", "://", "data:", "url("} {
		if strings.Contains(body, text) {
			t.Errorf("page has %q", text)
		}
	}
	_, css := ask(t, h, http.MethodGet, "/style.css")
	for _, text := range []string{"@import", "url("} {
		if strings.Contains(css, text) {
			t.Errorf("style sheet has %q", text)
		}
	}
}

var link = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

func TestLinksOfThePageAreRelativeAndLeadToPages(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"without a prefix": "", "behind a prefix": "/aiperf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			o.RoutePrefix, o.TelemetryPath, o.Pprof = prefix, "/all/metrics", true
			h := newHandler(t, o)
			h.Ready()
			_, body := ask(t, h, http.MethodGet, prefix+"/")
			seen := map[string]bool{}
			for _, m := range link.FindAllStringSubmatch(body, -1) {
				seen[m[1]] = true
				if strings.HasPrefix(m[1], "/") {
					t.Errorf("%q is not relative", m[1])
				}
				if resp, _ := ask(t, h, http.MethodGet, prefix+"/"+m[1]); resp.StatusCode != http.StatusOK {
					t.Errorf("%q leads to %d", m[1], resp.StatusCode)
				}
			}
			want := map[string]bool{
				"icon.svg": true, "style.css": true, "all/metrics": true, "config": true, "-/healthy": true, "-/ready": true, "debug/pprof/": true,
			}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPageTellsWhatTheDaemonIsDoing(t *testing.T) {
	t.Parallel()
	h := newHandler(t, options())
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, `class="state starting">starting<`},
		{h.Ready, `class="state ready">ready<`},
		{func() { h.Stopping() }, `class="state stopping">stopping<`},
	} {
		step.do()
		if _, body := ask(t, h, http.MethodGet, "/"); !strings.Contains(body, step.want) {
			t.Errorf("page has no %s", step.want)
		}
	}
}

func TestPageHasNoLinkToProfilesThatAreNotServed(t *testing.T) {
	t.Parallel()
	if _, body := ask(t, newHandler(t, options()), http.MethodGet, "/"); strings.Contains(body, "pprof") {
		t.Error("page links to profiles")
	}
}
