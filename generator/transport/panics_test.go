package transport_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
)

// TestTLSThatPanicsIsThePanicOfItsRequest, and not of whoever reads for all of them.
func TestTLSThatPanicsIsThePanicOfItsRequest(t *testing.T) {
	t.Parallel()
	for _, timestamps := range []transport.Timestamps{transport.KernelTimestamps, transport.ReadTimestamps} {
		t.Run(string(timestamps), func(t *testing.T) {
			t.Parallel()
			url, authority := serveTLS(t, func(p *peer) {
				for p.request() != nil {
					p.send(chunkedHead + chunk(sse("a")) + lastChunk)
				}
			})
			client := newClient(t, trusting(authority), func(c *transport.Config) { c.Timestamps = timestamps })
			client.BreakTLS()
			for range 2 {
				if cause := panicOf(func() { do(t, client, url) }); !strings.Contains(cause, "nobody has thought") || !strings.Contains(cause, "crypto/tls") {
					t.Errorf("the request panics with %q, want that of TLS with its stack", cause)
				}
			}
		})
	}
}

// panicOf is what work panics with; "" = it does not.
func panicOf(work func()) (cause string) {
	defer func() {
		if v := recover(); v != nil {
			cause = fmt.Sprint(v)
		}
	}()
	work()
	return ""
}
