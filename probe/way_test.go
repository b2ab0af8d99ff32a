package probe

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestAProxyIsGivenOnlyNamesThatAreAllowed(t *testing.T) {
	t.Parallel()
	proxy := serve(t, stream) // to http://, a proxy is a server that is asked for a whole URL
	through, err := url.Parse(proxy.at("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		target string
		allow  []string
		want   Reason
	}{
		"a name that is allowed":             {"http://good.example", []string{"good.example"}, ""},
		"a name, and networks are allowed":   {"http://good.example", everything, ReasonAddressRefused},
		"an address in an allowed network":   {"http://10.1.2.3", []string{"10.0.0.0/8"}, ""},
		"an address of this machine":         {"http://127.0.0.1", everything, ReasonNotAllowed},
		"the metadata of a cloud, by number": {"http://169.254.169.254", everything, ReasonNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, allow(test.allow...), func(r *rig) {
				module := chat()
				module.Client.HTTP.ProxyURL = promconfig.URL{URL: through}
				r.modules["chat"] = Module{Target: module}
			})
			if _, err := r.ask(t.Context(), test.target, "chat"); refusal(t, err) != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	t.Cleanup(func() {
		if n := proxy.accepted.Load(); n != 2 {
			t.Errorf("%d connections to the proxy, want those of the two that are allowed", n)
		}
	})
}

func TestTheGuardHoldsForHTTP2AndTLSToo(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(stream))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []transport.HTTPVersion{transport.HTTP1, transport.HTTP2} {
		r := newRig(t, allow("good.example", "*.wild.example"), knowing(map[string][][]string{
			"good.example": {{"127.0.0.1"}}, "here.wild.example": {{"127.0.0.1"}},
		}), func(r *rig) {
			module := chat()
			module.Client.Version = version
			module.Client.HTTP.TLSConfig.InsecureSkipVerify = true
			r.modules["chat"] = Module{Target: module}
		})
		result, err := r.ask(t.Context(), "https://good.example:"+u.Port(), "chat")
		if err != nil {
			t.Fatal(err)
		}
		got := shown(t, result)
		want := float64(server.Certificate().NotAfter.Unix())
		if got["probe_success"] != 1 || got["aiperf_probe_ssl_earliest_cert_expiry_timestamp_seconds"] != want || got["aiperf_probe_phase_seconds{tls}"] <= 0 {
			t.Errorf("HTTP/%s: got %v", version, got)
		}
		if _, err := r.ask(t.Context(), "https://here.wild.example:"+u.Port(), "chat"); refusal(t, err) != ReasonAddressRefused {
			t.Errorf("HTTP/%s: got %v", version, err)
		}
	}
}

// A module that takes one version of IP alone connects to no address of the other one, and what it connects to is judged as ever.
func TestTheGuardHoldsForTheVersionOfIPThatIsWanted(t *testing.T) {
	t.Parallel()
	s := serve(t, stream)
	for _, test := range []struct {
		allow  string
		family transport.IPFamily
		want   metrics.IPFamily // of the connection, "" = it is refused
	}{
		{"both.example", transport.OnlyIPv4, metrics.IPv4},
		{"both.example", transport.OnlyIPv6, metrics.IPv6},
		{"127.0.0.1/32", transport.OnlyIPv4, metrics.IPv4},
		{"127.0.0.1/32", transport.OnlyIPv6, ""},
		{"::1/128", transport.OnlyIPv4, ""},
		{"::1/128", transport.OnlyIPv6, metrics.IPv6},
	} {
		r := newRig(t, allow(test.allow), knowing(map[string][][]string{"both.example": {{"127.0.0.1", "::1"}}}), func(r *rig) {
			module := chat()
			module.Client.IPFamily = test.family
			r.modules["chat"] = Module{Target: module}
		})
		before := s.accepted.Load()
		result, err := r.ask(t.Context(), s.at("both.example"), "chat")
		if test.want == "" {
			if refusal(t, err) != ReasonAddressRefused || s.accepted.Load() != before {
				t.Errorf("%s, IPv%s: got %v, and %d connections", test.allow, test.family, err, s.accepted.Load()-before)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if result.outcome() != resultSuccess || result.record.IPFamily != test.want {
			t.Errorf("%s, IPv%s: %s by IPv%s: %s", test.allow, test.family, result.outcome(), result.record.IPFamily, result.record.Detail)
		}
	}
}
