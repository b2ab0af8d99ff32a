package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

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
