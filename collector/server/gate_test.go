package server

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// resolver gives addresses of names, or an error for those that it does not know, and counts what it is asked.
type resolver struct {
	names map[string][]string
	asked int
}

func (r *resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.asked++
	var out []netip.Addr
	for _, a := range r.names[host] {
		out = append(out, netip.MustParseAddr(a))
	}
	if out == nil {
		return nil, errors.New("no such host")
	}
	return out, nil
}

func TestOnlyHTTPSOnPublicAddressesIsLeftAlone(t *testing.T) {
	t.Parallel()
	names := map[string][]string{"api.vendor.example": {"8.8.8.8"}, "inside.example": {"10.0.0.7", "fd00::7"}, "both.example": {"10.0.0.7", "8.8.8.8"}}
	for raw, want := range map[string]bool{
		"http://api.vendor.example":  true, // plain http is no offer to the public
		"https://api.vendor.example": false,
		"https://inside.example":     true,
		"https://both.example":       false,
		"https://10.0.0.1:8443":      true,
		"https://8.8.8.8":            false,
		"https://[2606:4700::1]":     false,
		"https://localhost.unknown":  false,
	} {
		u, err := secret.URL(raw).Address()
		if err != nil {
			t.Fatal(err)
		}
		g := newGate(u, &resolver{names: names})
		if got := g == nil || g.open(t.Context(), 0, slog.New(slog.DiscardHandler)); got != want {
			t.Errorf("%s: may be asked %v, want %v", raw, got, want)
		}
	}
}

func TestANameIsLookedUpUntilThatSucceedsOnce(t *testing.T) {
	t.Parallel()
	u, err := secret.URL("https://late.example").Address()
	if err != nil {
		t.Fatal(err)
	}
	r := &resolver{}
	g := newGate(u, r)
	for i, step := range []struct {
		at    time.Duration
		known bool
		open  bool
		asked int
	}{
		{0, false, false, 1},
		{59 * time.Second, true, false, 1}, // once a minute
		{60 * time.Second, true, true, 2},
		{time.Hour, true, true, 2},
	} {
		if step.known {
			r.names = map[string][]string{"late.example": {"10.0.0.1"}}
		}
		if got := g.open(t.Context(), int64(step.at), slog.New(slog.DiscardHandler)); got != step.open || r.asked != step.asked {
			t.Errorf("step %d: open %v after %d lookups, want %v after %d", i, got, r.asked, step.open, step.asked)
		}
	}
}
