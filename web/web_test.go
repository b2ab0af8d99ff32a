package web

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// options of a handler that serves nothing special.
func options() *Options {
	return &Options{
		Registry:      prometheus.NewPedanticRegistry(),
		Logger:        slog.New(slog.DiscardHandler),
		Start:         time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Version:       "1.2.3",
		TelemetryPath: "/metrics",
		Daemon:        emptyDaemon(testNow),
		Now:           func() time.Time { return testNow },
	}
}

func newHandler(t *testing.T, o *Options) *Handler {
	t.Helper()
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends a request to a handler and gives the answer with its body.
func ask(t *testing.T, h http.Handler, method, path string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
	resp := w.Result()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestEachPathAnswersWithItsTypeAndBody(t *testing.T) {
	t.Parallel()
	o := options()
	o.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "aiperf_up", Help: "Whether it is up."}, func() float64 { return 1 }))
	h := newHandler(t, o)
	h.Ready()
	type answer struct {
		Code        int
		Type, Cache string
	}
	for path, test := range map[string]struct {
		want answer
		body string // what the body contains
	}{
		"/":            {answer{200, "text/html; charset=utf-8", "no-cache"}, "There are no targets"},
		"/style.css":   {answer{200, "text/css; charset=utf-8", "no-cache"}, "prefers-color-scheme: dark"},
		"/icon.svg":    {answer{200, "image/svg+xml", "no-cache"}, "<svg"},
		"/favicon.ico": {answer{200, "image/svg+xml", "no-cache"}, "<svg"},
		"/metrics":     {answer{200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", ""}, "aiperf_up 1\n"},
		"/config":      {answer{200, "text/yaml; charset=utf-8", "no-store"}, "targets: []\n"},
		"/-/healthy":   {answer{200, "text/plain; charset=utf-8", ""}, "healthy\n"},
		"/-/ready":     {answer{200, "text/plain; charset=utf-8", ""}, "ready\n"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			resp, body := ask(t, h, http.MethodGet, path)
			got := answer{resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Cache-Control")}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(body, test.body) {
				t.Errorf("body has no %q:\n%s", test.body, body)
			}
		})
	}
}

func TestPathsThatAreNoPageAreNotFound(t *testing.T) {
	t.Parallel()
	h := newHandler(t, options())
	for _, path := range []string{
		"/metric", "/metrics/", "/metrics/x", "/config/x", "/-/", "/-/x", "/api", "/api/v1/x", "/assets/index.html", "/index.html",
		"/probe", "/api/v1/captures", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if resp, _ := ask(t, h, http.MethodGet, path); resp.StatusCode != http.StatusNotFound {
				t.Errorf("status %d, want 404: a scraper with a wrong path must not look healthy", resp.StatusCode)
			}
		})
	}
}

func TestPagesCanOnlyBeRead(t *testing.T) {
	t.Parallel()
	o := options()
	o.Pprof = true
	h := newHandler(t, o)
	paths := []string{"/", "/metrics", "/config", "/-/healthy", "/-/ready", "/style.css", "/debug/pprof/symbol"}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		for _, path := range paths {
			t.Run(method+" "+path, func(t *testing.T) {
				t.Parallel()
				resp, _ := ask(t, h, method, path)
				if resp.StatusCode != http.StatusMethodNotAllowed {
					t.Errorf("status %d, want 405", resp.StatusCode)
				}
				if diff := cmp.Diff("GET, HEAD", resp.Header.Get("Allow")); diff != "" {
					t.Errorf("Allow (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestHEADGivesTheHeadersWithoutTheBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHandler(t, options()))
	t.Cleanup(server.Close)
	for _, path := range []string{"/", "/metrics", "/config", "/-/healthy"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusOK || len(body) != 0 {
				t.Errorf("status %d with %d bytes, want 200 without", resp.StatusCode, len(body))
			}
			if resp.Header.Get("Content-Type") == "" {
				t.Error("no Content-Type")
			}
		})
	}
}

func TestReadinessFollowsTheDaemonAndNeverComesBack(t *testing.T) {
	t.Parallel()
	h := newHandler(t, options())
	type answer struct {
		Code int
		Body string
	}
	for _, step := range []struct {
		name string
		do   func()
		want answer
	}{
		{"at first", func() {}, answer{503, "starting\n"}},
		{"when it is ready", h.Ready, answer{200, "ready\n"}},
		{"when it stops", func() { h.Stopping() }, answer{503, "stopping\n"}},
		{"when it gets ready after it was told to stop", h.Ready, answer{503, "stopping\n"}},
	} {
		step.do()
		resp, body := ask(t, h, http.MethodGet, "/-/ready")
		if diff := cmp.Diff(step.want, answer{resp.StatusCode, body}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		if resp, _ := ask(t, h, http.MethodGet, "/-/healthy"); resp.StatusCode != http.StatusOK {
			t.Errorf("%s the process is not healthy: %d", step.name, resp.StatusCode)
		}
	}
}

func TestStoppingTellsWhetherItWasReady(t *testing.T) {
	t.Parallel()
	h := newHandler(t, options())
	if h.Stopping() {
		t.Error("a handler that never was ready says it was")
	}
	h = newHandler(t, options())
	h.Ready()
	if !h.Stopping() {
		t.Error("a handler that was ready says it never was")
	}
}

func TestConfigurationIsTheTextWithItsHash(t *testing.T) {
	t.Parallel()
	resp, body := ask(t, newHandler(t, options()), http.MethodGet, "/config")
	if diff := cmp.Diff("targets: []\n", body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("0123456789ab", resp.Header.Get("X-Config-Hash")); diff != "" {
		t.Errorf("hash (-want +got):\n%s", diff)
	}
}

func TestPrefixStandsBeforeEveryPath(t *testing.T) {
	t.Parallel()
	o := options()
	o.RoutePrefix, o.TelemetryPath, o.Pprof = "/aiperf/eu", "/internal/metrics", true
	h := newHandler(t, o)
	for path, want := range map[string]int{
		"/aiperf/eu/":                 200,
		"/aiperf/eu/internal/metrics": 200,
		"/aiperf/eu/config":           200,
		"/aiperf/eu/style.css":        200,
		"/aiperf/eu/-/healthy":        200,
		"/aiperf/eu/debug/pprof/":     200,
		"/aiperf/eu/debug/pprof/heap": 200,
		"/internal/metrics":           404,
		"/metrics":                    404,
		"/config":                     404,
		"/-/healthy":                  404,
		"/debug/pprof/":               404,
		"/aiperf/eu/metrics":          404,
		"/aiperf/eu/internal":         404,
	} {
		if resp, _ := ask(t, h, http.MethodGet, path); resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, resp.StatusCode, want)
		}
	}
	for _, path := range []string{"/", "/aiperf/eu"} {
		resp, _ := ask(t, h, http.MethodGet, path)
		if resp.StatusCode/100 != 3 || resp.Header.Get("Location") != "/aiperf/eu/" {
			t.Errorf("%s: status %d to %q, want a redirect to /aiperf/eu/", path, resp.StatusCode, resp.Header.Get("Location"))
		}
	}
}

func TestProfilesAreServedOnlyWhenEnabled(t *testing.T) {
	t.Parallel()
	o := options()
	o.Pprof = true
	h := newHandler(t, o)
	for path, want := range map[string]string{
		"/debug/pprof/":                     "goroutine",
		"/debug/pprof/goroutine?debug=1":    "goroutine profile: total",
		"/debug/pprof/cmdline":              "web.test",
		"/debug/pprof/symbol?0x0":           "num_symbols",
		"/debug/pprof/heap?debug=1":         "heap profile",
		"/debug/pprof/trace?seconds=0.0001": "go 1.",
	} {
		resp, body := ask(t, h, http.MethodGet, path)
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: status %d without %q in %d bytes", path, resp.StatusCode, want, len(body))
		}
		if got := resp.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control %q, want no-store", path, got)
		}
	}
	if resp, _ := ask(t, h, http.MethodGet, "/debug/pprof/nothing"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a profile that does not exist: status %d, want 404", resp.StatusCode)
	}
}

func TestPathsThatCannotBeServedAreErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		telemetry, prefix, want string
	}{
		"the telemetry path is the page of the configuration":     {"/config", "", `telemetry path "/config": another page is there`},
		"the telemetry path is the readiness":                     {"/-/ready", "/x", `telemetry path "/-/ready": another page is there`},
		"the telemetry path is the entry page":                    {"/", "", `telemetry path "/" below "": not a path`},
		"the telemetry path is a pattern":                         {"/{name}", "", `telemetry path "/{name}" below "": not a path`},
		"the telemetry path does not begin with a slash":          {"metrics", "", `telemetry path "metrics" below "": not a path`},
		"the prefix ends with a slash":                            {"/metrics", "/x/", `telemetry path "/metrics" below "/x/": not a path`},
		"the prefix leads out of itself":                          {"/metrics", "/x/..", `telemetry path "/metrics" below "/x/..": not a path`},
		"the telemetry path has an empty segment in its middle":   {"/a//b", "", `telemetry path "/a//b" below "": not a path`},
		"the telemetry path is one of the API":                    {"/api/v1/x", "", `telemetry path "/api/v1/x": another page is there`},
		"the telemetry path has a character with another meaning": {"/metrics?x", "", `telemetry path "/metrics?x" below "": not a path`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			o.TelemetryPath, o.RoutePrefix = test.telemetry, test.prefix
			_, err := New(o)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
