package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// kept is how a client makes and keeps connections.
type kept struct {
	Reuse      transport.Reuse
	FreshEvery int
	DNSRefresh time.Duration
	IPFamily   transport.IPFamily
}

func TestClientsConnectAsTheyAreTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]kept{
		"{}":                                     {transport.Fresh, 10, 0, transport.AnyFamily},
		"{reuse: both}":                          {transport.Both, 10, 0, transport.AnyFamily},
		"{reuse: both, fresh_every: 3}":          {transport.Both, 3, 0, transport.AnyFamily},
		"{reuse: keepalive, dns_refresh: 1m30s}": {transport.KeepAlive, 10, 90 * time.Second, transport.AnyFamily},
		"{reuse: both, dns_refresh: 5m}":         {transport.Both, 10, 5 * time.Minute, transport.AnyFamily},
		"{dns_refresh: 0s}":                      {transport.Fresh, 10, 0, transport.AnyFamily},
		`{ip_family: "4"}`:                       {transport.Fresh, 10, 0, transport.OnlyIPv4},
		`{ip_family: "6", http_version: "2"}`:    {transport.Fresh, 10, 0, transport.OnlyIPv6},
		`{ip_family: any, reuse: both, proxy_url: "http://p:1"}`: {transport.Both, 10, 0, transport.AnyFamily},
	} {
		config := loaded(t, "http_clients: {c: "+text+"}\ntargets: [{name: a, url: 'https://llm', model: m, client: c, endpoint: {type: chat}}]\n")
		generated, err := config.Generator()
		if err != nil {
			t.Fatal(err)
		}
		c := generated.Targets[0].Client
		if diff := cmp.Diff(want, kept{c.Reuse, c.FreshEvery, c.DNSRefresh, c.IPFamily}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestPresetsGiveTheLimitsThatAreNotWritten(t *testing.T) {
	t.Parallel()
	const preset = "preset: mlperf-llama3.1-8b-interactive"
	ttft := func(d time.Duration) metrics.Threshold {
		return metrics.Threshold{Metric: metrics.SLOTimeToFirstToken, Limit: float64(d)}
	}
	itl := func(d time.Duration) metrics.Threshold {
		return metrics.Threshold{Metric: metrics.SLOInterTokenLatency, Limit: float64(d)}
	}
	total := metrics.Threshold{Metric: metrics.SLORequestLatency, Limit: 2e9}
	for text, want := range map[string]metrics.SLO{
		preset:                                  {Objective: 0.99, Thresholds: []metrics.Threshold{ttft(500 * time.Millisecond), itl(30 * time.Millisecond)}},
		preset + ", objective: 0.95":            {Objective: 0.95, Thresholds: []metrics.Threshold{ttft(500 * time.Millisecond), itl(30 * time.Millisecond)}},
		preset + ", time_to_first_token: 300ms": {Objective: 0.99, Thresholds: []metrics.Threshold{ttft(300 * time.Millisecond), itl(30 * time.Millisecond)}},
		preset + ", request_latency: 2s":        {Objective: 0.99, Thresholds: []metrics.Threshold{ttft(500 * time.Millisecond), itl(30 * time.Millisecond), total}},
		`preset: "", inter_token_latency: 30ms`: {Objective: 0.99, Thresholds: []metrics.Threshold{itl(30 * time.Millisecond)}},
	} {
		config := loaded(t, "slos: {s: {"+text+"}}\ntargets: [{name: a, url: 'https://llm', model: m, slo: s, endpoint: {type: chat}}]\n")
		want.Name, want.Window, want.CountDrops = "s", 30*24*time.Hour, true
		if diff := cmp.Diff([]metrics.SLO{want}, config.AllSLOs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
