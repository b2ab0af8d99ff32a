package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// answers play a server: what it says at each path, "" = a page.
type answers map[string]scrape.Reason

// asker notes who is asked.
func (a answers) asker(asked *[]string) func(*place) *reading {
	return func(p *place) *reading {
		path := strings.TrimPrefix(p.url, "http://h")
		*asked = append(*asked, path)
		r := &reading{place: p}
		switch reason := a[path]; reason {
		case "":
		case "json":
			r.err, r.json = &scrape.Error{Reason: scrape.Incompatible, Err: errors.New("JSON")}, true
		default:
			r.err = &scrape.Error{Reason: reason, Err: errors.New("no")}
		}
		return r
	}
}

// step is one look: the server as it then is, who is asked, and what comes of it.
type step struct {
	at     time.Duration
	server answers
	asked  string
	result string // "" = nobody was asked, "page", or the reason
}

func TestPagesAreFoundAndRemembered(t *testing.T) {
	t.Parallel()
	list := []place{
		{url: "http://h/metrics"},
		{url: "http://h/prometheus/metrics", after: noText},
		{url: "http://h/v1/metrics", after: elsewhere},
		{url: "http://h/metrics?model=m", after: noModel},
		{url: "http://h/api/ps", after: noPage, format: processes},
	}
	down := answers{"/metrics": scrape.Connect, "/prometheus/metrics": scrape.Connect, "/v1/metrics": scrape.Connect, "/metrics?model=m": scrape.Connect, "/api/ps": scrape.Connect}
	nothing := answers{"/metrics": scrape.NotFound, "/prometheus/metrics": scrape.NotFound, "/v1/metrics": scrape.NotFound, "/api/ps": scrape.NotFound}
	for name, steps := range map[string][]step{
		"the first place that has a page is asked at each look": {
			{0, answers{}, "/metrics", "page"},
			{5 * time.Second, answers{}, "/metrics", "page"},
		},
		"nothing is asked of a server that does not answer but whether it is there, once a minute": {
			{0, down, "/metrics", "connect"},
			{5 * time.Second, down, "", ""},
			{59 * time.Second, down, "", ""},
			{60 * time.Second, down, "/metrics", "connect"},
			{120 * time.Second, answers{}, "/metrics", "page"},
			{125 * time.Second, answers{}, "/metrics", "page"},
		},
		"a server without metrics is asked at three places, once a minute": {
			{0, nothing, "/metrics /v1/metrics /api/ps", "not_found"},
			{30 * time.Second, nothing, "", ""},
			{61 * time.Second, nothing, "/metrics /v1/metrics /api/ps", "not_found"},
		},
		"JSON at /metrics is not asked for again for an hour, it may be taken from somebody": {
			{0, answers{"/metrics": "json", "/prometheus/metrics": scrape.NotFound, "/v1/metrics": scrape.NotFound}, "/metrics /prometheus/metrics /v1/metrics", "incompatible"},
			{60 * time.Second, answers{"/metrics": "json", "/prometheus/metrics": scrape.NotFound, "/v1/metrics": scrape.NotFound}, "/prometheus/metrics /v1/metrics", "not_found"},
			{120 * time.Second, answers{"/metrics": "json"}, "/prometheus/metrics", "page"},
			{125 * time.Second, answers{"/metrics": "json"}, "/prometheus/metrics", "page"},
		},
		"after an hour it is": {
			{0, answers{"/metrics": "json", "/prometheus/metrics": scrape.NotFound, "/v1/metrics": scrape.NotFound}, "/metrics /prometheus/metrics /v1/metrics", "incompatible"},
			{time.Hour, answers{}, "/metrics", "page"},
		},
		"NIM": {
			{0, answers{"/metrics": scrape.NotFound}, "/metrics /v1/metrics", "page"},
			{5 * time.Second, answers{"/metrics": scrape.NotFound}, "/v1/metrics", "page"},
		},
		"a router of llama.cpp": {
			{0, answers{"/metrics": scrape.Status}, "/metrics /metrics?model=m", "page"},
			{5 * time.Second, answers{"/metrics": scrape.Status}, "/metrics?model=m", "page"},
		},
		"Ollama": {
			{0, answers{"/metrics": scrape.NotFound, "/v1/metrics": scrape.NotFound}, "/metrics /v1/metrics /api/ps", "page"},
			{5 * time.Second, answers{"/metrics": scrape.NotFound, "/v1/metrics": scrape.NotFound}, "/api/ps", "page"},
		},
		"a page that needs a credential is what is told, not the places that do not exist": {
			{0, answers{"/metrics": scrape.NotFound, "/v1/metrics": scrape.Auth, "/api/ps": scrape.NotFound}, "/metrics /v1/metrics /api/ps", "auth"},
		},
		"a known place is asked at each look while it fails, the others after the third time, once a minute": {
			{0, answers{}, "/metrics", "page"},
			{5 * time.Second, answers{"/metrics": scrape.NotFound, "/v1/metrics": scrape.NotFound, "/api/ps": scrape.NotFound}, "/metrics", "not_found"},
			{60 * time.Second, nothing, "/metrics", "not_found"},
			{65 * time.Second, nothing, "/metrics /v1/metrics /api/ps", "not_found"},
			{70 * time.Second, nothing, "/metrics", "not_found"},
			{130 * time.Second, answers{"/metrics": scrape.NotFound}, "/metrics /v1/metrics", "page"},
			{135 * time.Second, answers{"/metrics": scrape.NotFound}, "/v1/metrics", "page"},
		},
		"a server that comes back is seen at once": {
			{0, answers{}, "/metrics", "page"},
			{60 * time.Second, down, "/metrics", "connect"},
			{65 * time.Second, down, "/metrics", "connect"},
			{70 * time.Second, down, "/metrics", "connect"},
			{75 * time.Second, down, "/metrics", "connect"},
			{80 * time.Second, answers{}, "/metrics", "page"},
		},
		"what is too large is not fetched again before a minute": {
			{0, answers{}, "/metrics", "page"},
			{5 * time.Second, answers{"/metrics": scrape.TooLarge}, "/metrics", "too_large"},
			{10 * time.Second, answers{"/metrics": scrape.TooLarge}, "", ""},
			{65 * time.Second, answers{}, "/metrics", "page"},
			{70 * time.Second, answers{}, "/metrics", "page"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			follow(t, newFinder(list, false), steps)
		})
	}
}

func TestAConfiguredPageIsAskedForAtEachLookAndNowhereElse(t *testing.T) {
	t.Parallel()
	down := answers{"/metrics": scrape.Connect}
	follow(t, newFinder([]place{{url: "http://h/metrics"}}, true), []step{
		{0, down, "/metrics", "connect"},
		{5 * time.Second, down, "/metrics", "connect"},
		{10 * time.Second, down, "/metrics", "connect"},
		{15 * time.Second, down, "/metrics", "connect"},
		{20 * time.Second, answers{"/metrics": scrape.Incompatible}, "/metrics", "incompatible"},
		{25 * time.Second, answers{}, "", ""},
		{80 * time.Second, answers{}, "/metrics", "page"},
	})
}

func follow(t *testing.T, f *finder, steps []step) {
	t.Helper()
	for _, s := range steps {
		var asked []string
		r := f.find(int64(s.at), s.server.asker(&asked))
		result := "page"
		switch {
		case r == nil:
			result = ""
		case r.err != nil:
			result = string(scrape.ReasonOf(r.err))
		}
		if diff := cmp.Diff([]string{s.asked, s.result}, []string{strings.Join(asked, " "), result}); diff != "" {
			t.Errorf("at %v: asked, result (-want +got):\n%s", s.at, diff)
		}
	}
}
