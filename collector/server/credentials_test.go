package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// The credential of the traffic goes nowhere unless it is to, and then only to those who serve the target.
func TestCredentials(t *testing.T) {
	t.Parallel()
	withUser := func(t *Target) string { return strings.Replace(t.URL, "http://", "http://user:password@", 1) }
	for name, tc := range map[string]struct {
		target func(*Target)
		want   string
	}{
		"none by default":                  {func(*Target) {}, ""},
		"nor the one in the address":       {func(t *Target) { t.URL = withUser(t) }, ""},
		"inherited":                        {func(t *Target) { t.Config.Auth = InheritAuth }, "Bearer k3y"},
		"the one in an address of its own": {func(t *Target) { t.Config.MetricsURL = secret.URL(withUser(t) + "/metrics") }, "Basic dXNlcjpwYXNzd29yZA=="},
		"that of the address, inherited":   {func(t *Target) { t.URL, t.Config.Auth, t.Credential = withUser(t), InheritAuth, nil }, "Basic dXNlcjpwYXNzd29yZA=="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Pointer[http.Header]
			p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
				header := r.Header.Clone()
				seen.Store(&header)
				serving(vllm(1000, 5000, 3))(w, r)
			})
			target := auto("t", p.URL)
			target.Credential = func() (string, string, error) { return "Authorization", "Bearer k3y", nil }
			tc.target(&target)
			if target.Config.Auth != InheritAuth {
				target.Credential = nil
			}
			r := newRig(t, rigOptions{}, target)
			r.look()
			header := *seen.Load()
			if got := header.Get("Authorization"); got != tc.want {
				t.Errorf("Authorization %q, want %q", got, tc.want)
			}
			if got := header.Get("User-Agent"); got != "aiperf-exporter/test" {
				t.Errorf("User-Agent %q", got)
			}
			text := r.journal.String() + fmt.Sprint(r.series(""))
			for _, hidden := range []string{"k3y", "password", "user:"} {
				if strings.Contains(text, hidden) {
					t.Errorf("%q stands in logs or labels:\n%s", hidden, text)
				}
			}
		})
	}
}

// What is configured for the pages of a target says that there is one.
func TestPagesThatACredentialIsMissingForAreDown(t *testing.T) {
	t.Parallel()
	unreadable := func() (string, string, error) { return "", "", errors.New("open key: no such file") }
	for name, tc := range map[string]struct {
		target func(*Target)
		global string // client of all targets
		before bool   // it is down before it was asked
		log    string
	}{
		"auth, and no key": {
			func(t *Target) { t.Config.Auth, t.Credential = InheritAuth, unreadable }, "", true,
			`WARN msg="server metrics cannot be read" err="internal: get PEER/metrics: read credential: open key: no such file" places=1`,
		},
		"auth, and the wrong key": {
			func(t *Target) { t.Config.Auth = InheritAuth }, "", true,
			`WARN msg="server metrics cannot be read" err="auth: get PEER/metrics: status 401" places=1`,
		},
		"a client of its own, and no key": {
			func(t *Target) { t.Config.Client, t.Credential = "c", unreadable }, "", true,
			`WARN msg="server metrics cannot be read" err="internal: get PEER/metrics: read credential: open key: no such file" places=1`,
		},
		"a client of all targets, and no key": {
			func(t *Target) { t.Credential = unreadable }, "c", false,
			`WARN msg="server metrics cannot be read" err="internal: get PEER/metrics: read credential: open key: no such file" places=1`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
			target := auto("t", p.URL)
			tc.target(&target)
			r := newRig(t, rigOptions{config: func(c *Config) { c.Client = tc.global }}, target)
			down := map[string]float64{"aiperf_server_up instance_id=" + p.instance() + " target=t": 0}
			if tc.before {
				wantSeries(t, down, r.series("aiperf_server_up"))
			}
			r.look()
			r.look()
			wantSeries(t, down, r.series("aiperf_server_up"))
			wantLines(t, r, p, tc.log)
		})
	}
}

// An API of the public is not missed because its credential may go to pages of metrics, too.
func TestACredentialIsNoReasonToAskThePublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]map[string]float64{"8.8.8.8": {}, "127.0.0.1": {"aiperf_server_up instance_id=api.example:1 target=t": 0}} {
		target := auto("t", "https://api.example:1")
		target.Config.Auth = InheritAuth
		r := newRig(t, rigOptions{
			resolver: &resolver{names: map[string][]string{"api.example": {address}}},
			client: func(scrape.Options) (getter, error) {
				return &scripted{func(context.Context, string) ([]byte, error) { return nil, refused() }}, nil
			},
		}, target)
		wantSeries(t, map[string]float64{}, r.series("aiperf_server_up"))
		r.look()
		wantSeries(t, want, r.series("aiperf_server_up"))
	}
}

func TestTargetsWithCredentialsOfTheirOwnAreReadApart(t *testing.T) {
	t.Parallel()
	var seen [2]atomic.Int64
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-Key") {
		case "a":
			seen[0].Add(1)
		case "b":
			seen[1].Add(1)
		}
		serving(vllm(1000, 5000, 3))(w, r)
	})
	a, b := auto("a", p.URL), auto("b", p.URL)
	for _, t := range []*Target{&a, &b} {
		t.Config.Auth = InheritAuth
		t.Credential = func() (string, string, error) { return "X-Key", t.Name, nil }
	}
	r := newRig(t, rigOptions{}, a, b)
	r.look()
	if got := [2]int64{seen[0].Load(), seen[1].Load()}; got != [2]int64{1, 1} {
		t.Errorf("requests by credential %v, want one each", got)
	}
}

func TestFilesThatCannotBeReadAreToldAtOnce(t *testing.T) {
	t.Parallel()
	target := auto("t", "http://h")
	target.HTTP.TLSConfig.CAFile = "testdata/no-such-file"
	deps := Deps{Clock: metrics.NewSystemClock(), Logger: slog.New(slog.DiscardHandler)}
	_, err := New(DefaultConfig(), []Target{target}, deps)
	if err == nil || !strings.Contains(err.Error(), `target "t"`) {
		t.Errorf("error %v, want one that names the target", err)
	}
	if _, err = New(DefaultConfig(), []Target{auto("u", "ftp://h")}, deps); err == nil || !strings.Contains(err.Error(), `target "u"`) {
		t.Errorf("error %v, want one that names the target", err)
	}
}
