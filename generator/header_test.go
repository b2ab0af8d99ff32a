package generator

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestHeadersOfARequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		endpoint endpoint.Config
		traits   endpoint.Traits
		session  string
		parent   string
		trace    metrics.Trace
		stream   bool
		want     http.Header // beside those of every request
	}{
		"a request alone": {
			want: http.Header{"X-Request-Id": {"r"}, "Accept": {"application/json"}},
		},
		"a stream in a session": {
			session: "s", stream: true,
			want: http.Header{"X-Request-Id": {"r"}, "X-Correlation-Id": {"s"}, "Accept": {"text/event-stream"}},
		},
		"the session under another name, and for routers": {
			endpoint: endpoint.Config{SessionHeader: "X-Sess", AffinityHeaders: []string{"x-session-affinity", "X-SMG-Routing-Key"}, Headers: map[string]string{"X-Session-Affinity": "mine"}},
			session:  "s",
			want: http.Header{
				"X-Request-Id": {"r"}, "X-Sess": {"s"}, "X-Session-Affinity": {"s"}, "X-Smg-Routing-Key": {"s"}, "Accept": {"application/json"},
			},
		},
		"a sub-agent names its parent to Dynamo": {
			endpoint: endpoint.Config{AffinityHeaders: []string{"x-dynamo-session-id"}},
			session:  "s", parent: "p",
			want: http.Header{
				"X-Request-Id": {"r"}, "X-Correlation-Id": {"s"}, "X-Dynamo-Session-Id": {"s"}, "X-Dynamo-Parent-Session-Id": {"p"}, "Accept": {"application/json"},
			},
		},
		"and to nobody else": {
			endpoint: endpoint.Config{AffinityHeaders: []string{"X-Session-Affinity"}},
			session:  "s", parent: "p",
			want: http.Header{"X-Request-Id": {"r"}, "X-Correlation-Id": {"s"}, "X-Session-Affinity": {"s"}, "Accept": {"application/json"}},
		},
		"a parent is no sub-agent": {
			endpoint: endpoint.Config{AffinityHeaders: []string{"X-Dynamo-Session-ID"}},
			session:  "s",
			want:     http.Header{"X-Request-Id": {"r"}, "X-Correlation-Id": {"s"}, "X-Dynamo-Session-Id": {"s"}, "Accept": {"application/json"}},
		},
		"the context of a span that is sent": {
			trace: metrics.Trace{ID: [16]byte{0x0a, 15: 0xf1}, Span: [8]byte{7: 2}, Sampled: true},
			want: http.Header{
				"X-Request-Id": {"r"}, "Accept": {"application/json"}, "Traceparent": {"00-0a0000000000000000000000000000f1-0000000000000002-01"},
			},
		},
		"the context of one that is not sent": {
			trace: metrics.Trace{ID: [16]byte{0xff}, Span: [8]byte{0xee}},
			want: http.Header{
				"X-Request-Id": {"r"}, "Accept": {"application/json"}, "Traceparent": {"00-ff000000000000000000000000000000-ee00000000000000-00"},
			},
		},
		"what the protocol wants, unless the user wants something else": {
			endpoint: endpoint.Config{Headers: map[string]string{"anthropic-version": "2030-01-01", "x-request-id": "own"}},
			traits:   endpoint.Traits{Header: http.Header{"anthropic-version": {"2023-06-01"}, "X-Kept": {"yes"}}},
			want:     http.Header{"X-Request-Id": {"own"}, "Anthropic-Version": {"2030-01-01"}, "X-Kept": {"yes"}, "Accept": {"application/json"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asks := &generation{config: &TargetConfig{Name: "t", Endpoint: test.endpoint}}
			asks.headers = baseHeader(asks.config, &test.traits, "agent/1")
			want := test.want
			want["User-Agent"], want["X-Aiperf-Exporter"] = []string{"agent/1"}, []string{"t"}
			want["Accept-Encoding"], want["Content-Type"] = []string{"identity"}, []string{"application/json"}
			for range 2 { // one request leaves nothing behind for the next
				got := asks.header(&metrics.Record{RequestID: "r", Trace: test.trace}, &workload.Turn{Session: test.session, Parent: test.parent}, "application/json", test.stream)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}
