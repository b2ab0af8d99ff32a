package server

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// listing is one place a line, as it is asked for.
func listing(list []place) string {
	lines := make([]string, 0, len(list))
	for _, p := range list {
		line := p.url
		switch p.format {
		case iterations:
			line += " or JSON"
		case processes:
			line += " models"
		case exposed:
		}
		if p.after != nil {
			line += fmt.Sprintf(" after %v", p.after)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestPlacesAreOnTheHostOfTheEndpointOnly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		url    string
		config TargetConfig
		want   string
	}{
		"an unknown server": {
			"http://u:p@h:8000/v1/chat/completions?key=k",
			TargetConfig{Kind: mapping.Auto},
			`http://h:8000/metrics
http://h:8000/prometheus/metrics after [incompatible]
http://h:8000/v1/metrics after [not_found incompatible]
http://h:8000/metrics?autoload=false&model=org%2Fm%3AQ4 after [status]
http://h:8000/api/ps models after [not_found]`,
		},
		"the credential in the address goes along only if it is to": {
			"http://u:p@h:8000/v1?key=k",
			TargetConfig{Kind: mapping.VLLM, Auth: InheritAuth},
			"http://u:p@h:8000/metrics\nhttp://u:p@h:8000/v1/metrics after [not_found incompatible]",
		},
		"TensorRT-LLM is not asked for what it would lose": {"h:8000", TargetConfig{Kind: mapping.TRTLLM}, "http://h:8000/prometheus/metrics"},
		"unless it is to be": {
			"h:8000",
			TargetConfig{Kind: mapping.Auto, TRTLLMJSON: true},
			"http://h:8000/prometheus/metrics or JSON\nhttp://h:8000/metrics or JSON after [not_found incompatible]",
		},
		"only Triton is asked at another port": {"https://[::1]:8443/v2", TargetConfig{Kind: mapping.Triton}, "https://[::1]:8002/metrics\nhttps://[::1]:8443/metrics"},
		"NIM":                                  {"http://h/v1", TargetConfig{Kind: mapping.NIM}, "http://h/v1/metrics\nhttp://h/metrics after [not_found incompatible]"},
		"Ollama":                               {"http://h:11434/v1", TargetConfig{Kind: mapping.Ollama}, "http://h:11434/api/ps models"},
		"a router of llama.cpp must not load a model because it is looked at": {
			"http://h:8080", TargetConfig{Kind: mapping.LlamaCPP}, "http://h:8080/metrics\nhttp://h:8080/metrics?autoload=false&model=org%2Fm%3AQ4 after [status]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint, err := secret.URL(tc.url).Address()
			if err != nil {
				t.Fatal(err)
			}
			got := listing(places(&Target{URL: tc.url, Model: "org/m:Q4", Config: tc.config}, endpoint))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryKindHasPlaces(t *testing.T) {
	t.Parallel()
	endpoint, err := secret.URL("http://h").Address()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range mapping.Kinds {
		if list := places(&Target{Config: TargetConfig{Kind: kind}}, endpoint); len(list) == 0 || list[0].after != nil {
			t.Errorf("%s: places %v, want a first one that is always asked", kind, list)
		}
	}
}

func TestPublicAddressesAreThoseOfTheOpenInternet(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true, "100.128.0.1": true,
		"10.1.2.3": false, "192.168.0.1": false, "172.16.9.9": false, "127.0.0.1": false, "169.254.1.1": false, "100.64.0.1": false, "100.127.255.255": false,
		"0.0.0.0": false, "::1": false, "fd00::1": false, "fe80::1": false, "::ffff:10.0.0.1": false, "224.0.0.1": false,
	} {
		if got := isPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public %v, want %v", address, got, want)
		}
	}
}

func TestInstancesAreNamedByHostAndPort(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://h/metrics": "h:80", "https://H.example/x": "h.example:443", "h:8000": "h:8000", "http://[FD00::1]": "[fd00::1]:80", "https://u:p@h:1/": "h:1",
	} {
		u, err := secret.URL(raw).Address()
		if err != nil {
			t.Fatal(err)
		}
		if got := hostPort(u); got != want {
			t.Errorf("%s: instance %q, want %q", raw, got, want)
		}
	}
}
