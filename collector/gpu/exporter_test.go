package gpu

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// asking is a collector of dcgm-exporters at the addresses.
func asking(t *testing.T, urls ...string) *Collector {
	t.Helper()
	config := DefaultConfig()
	for _, u := range urls {
		config.DCGM.URLs = append(config.DCGM.URLs, secret.URL(u))
	}
	c, err := New(config, promconfig.HTTPClientConfig{}, nil, Deps{Clock: metrics.NewSystemClock(), Logger: slog.New(slog.DiscardHandler), UserAgent: "test/1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range c.feeds {
			f.source.Close()
		}
	})
	return c
}

func TestAnExporterIsAskedOverHTTP(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("testdata/dcgm.prom")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		answer  func(w http.ResponseWriter)
		state   State
		devices int
		reason  string // of the failure that is counted
	}{
		{"a page", func(w http.ResponseWriter) { _, _ = w.Write(page) }, OK, 4, ""},
		{"a page of something else", func(w http.ResponseWriter) { _, _ = w.Write([]byte("up 1\n")) }, NoDevices, 0, ""},
		{"no permission", func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, NoPermission, 0, "auth"},
		{"no page", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, Failed, 0, "not_found"},
		{"a web site", func(w http.ResponseWriter) { _, _ = w.Write([]byte("<!DOCTYPE html><html></html>")) }, Failed, 0, "incompatible"},
		{"more GPUs than a page may have", func(w http.ResponseWriter) {
			for i := range maxDevices + 1 {
				fmt.Fprintf(w, "DCGM_FI_DEV_POWER_USAGE{gpu=\"%d\",UUID=\"GPU-%[1]d\"} 400\n", i)
			}
		}, Failed, 0, "too_large"},
		{"half a page", func(w http.ResponseWriter) {
			_, _ = w.Write(append(slices.Clip(page), `DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-`...))
		}, Failed, 0, "parse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/metrics" || r.UserAgent() != "test/1" {
					t.Errorf("asked for %s as %s", r.URL.Path, r.UserAgent())
				}
				c.answer(w)
			}))
			defer server.Close()
			collector := asking(t, strings.Replace(server.URL, "http://", "http://user:password@", 1))
			f := collector.feeds[0]
			f.look(t.Context())
			v := f.show(collector.deps.Clock.Now())
			if v.state != c.state || len(v.live) != c.devices {
				t.Errorf("state %s with %d devices, want %s with %d", v.state, len(v.live), c.state, c.devices)
			}
			if got := failures(collector); got != c.reason {
				t.Errorf("counted %q, want %q", got, c.reason)
			}
		})
	}
}

// failures are the reasons of failures that are counted.
func failures(c *Collector) string {
	var out []string
	for _, f := range c.Families() {
		if f.GetName() != "aiperf_scrape_errors_total" {
			continue
		}
		for _, m := range f.Metric {
			if m.GetCounter().GetValue() == 0 {
				continue
			}
			for _, l := range m.Label {
				if l.GetName() == "reason" {
					out = append(out, l.GetValue())
				}
			}
		}
	}
	return strings.Join(out, " ")
}

func TestXIDErrorsAreCountedFromPageToPage(t *testing.T) {
	t.Parallel()
	code := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",UUID=\"GPU-a\"} %d\n", code)
	}))
	defer server.Close()
	c := asking(t, server.URL)
	for _, code = range []int{0, 79} {
		c.feeds[0].look(t.Context())
	}
	want := []string{"GPU-a last_xid 79", "GPU-a xid_errors_total{79} 1"}
	if diff := cmp.Diff(want, tell(c.feeds[0].show(c.deps.Clock.Now()).live)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestFailuresAreToldWithoutCredentials(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c := asking(t, strings.Replace(server.URL, "http://", "http://user:password@", 1)+"/metrics?token=secret")
	r := c.feeds[0].source.Read(t.Context())
	if r.State != Failed || !strings.Contains(r.Message, "404") {
		t.Errorf("reading = %+v, want a failure that tells the status", r)
	}
	for _, word := range []string{"user", "password", "token", "secret"} {
		if strings.Contains(r.Message, word) {
			t.Errorf("message %q holds %q", r.Message, word)
		}
	}
}

func TestEachLineAboutAPageNamesIt(t *testing.T) {
	t.Parallel()
	bad := httptest.NewServer(http.NotFoundHandler())
	defer bad.Close()
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 400` + "\n"))
	}))
	defer good.Close()
	c := asking(t, strings.Replace(bad.URL, "http://", "http://user:password@", 1)+"/metrics", good.URL+"/metrics?token=secret")
	var log bytes.Buffer
	for _, f := range c.feeds {
		f.logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
		f.look(t.Context())
	}
	want := `level=ERROR msg="gpu source changed" gpu_source=dcgm url=` + bad.URL + `/metrics state=error devices=0 reason="not_found: get ` + bad.URL +
		`/metrics: status 404"` + "\n" +
		`level=INFO msg="gpu source changed" gpu_source=dcgm url=` + good.URL + `/metrics state=ok devices=1` + "\n"
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestTheEndOfTheProgramIsNoFailure(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	c := asking(t, server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.feeds[0].look(ctx) }()
	<-asked
	cancel()
	<-done
	if got := failures(c); got != "" {
		t.Errorf("counted %q, want nothing", got)
	}
	if got := c.feeds[0].show(0).state; got != "" {
		t.Errorf("state = %q, want none", got)
	}
}

func TestTheWorstPageIsTheStateOfASource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		states []State
		want   State
	}{
		{nil, Disabled},
		{[]State{""}, NoDevices},
		{[]State{"", OK}, OK},
		{[]State{NoDevices, OK}, OK},
		{[]State{OK, Failed, OK}, Failed},
		{[]State{NoPermission, NoDevices}, NoPermission},
	} {
		collector := &Collector{}
		views := make([]view, len(c.states))
		for i, s := range c.states {
			collector.feeds = append(collector.feeds, &feed{recipe: recipe{name: DCGM}})
			views[i].state = s
		}
		if got := collector.state(DCGM, views); got != c.want {
			t.Errorf("states %q: %s, want %s", c.states, got, c.want)
		}
	}
}

func TestReadingsAreObserved(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 400` + "\n"))
	}))
	defer server.Close()
	c := asking(t, server.URL)
	var got []Reading
	c.feeds[0].observe = func(r *Reading) { got = append(got, *r) }
	c.feeds[0].look(t.Context())
	if len(got) != 1 || got[0].Source != DCGM || got[0].At <= 0 || got[0].At > c.deps.Clock.Now() {
		t.Fatalf("observed %+v, want one reading of now", got)
	}
	if diff := cmp.Diff([]string{"GPU-a power_watts 400"}, tell(got[0].Devices)); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

func TestPagesAreWaitedForNoLongerThanTheInterval(t *testing.T) {
	t.Parallel()
	config := DefaultConfig()
	config.DCGM.URLs = []secret.URL{"node:1"}
	config.AMD.URLs, config.AMD.Interval = []secret.URL{"node:2"}, 3*time.Second
	c, err := New(config, promconfig.HTTPClientConfig{}, nil, Deps{Clock: metrics.NewSystemClock(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[SourceName]time.Duration{}
	for _, f := range c.feeds {
		got[f.name] = f.source.(*exporter).wait
		f.source.Close()
	}
	if diff := cmp.Diff(map[SourceName]time.Duration{DCGM: 10 * time.Second, AMD: 3 * time.Second}, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}
