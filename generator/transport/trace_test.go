package transport

import (
	"errors"
	"net/http/httptrace"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// With HTTP/2 the answer may be there before net/http tells that the request was written, and it ends the write when the server did not want all of it.
func TestWhoeverWasAnsweredHasAsked(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{ // of the write, told before the answer; nil = nothing was told
		"nothing was told of the write": nil,
		"the answer has ended it":       errors.New("stopped"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrace(metrics.NewSystemClock(), func() {})
			hooks := httptrace.ContextClientTrace(tr.roundTrip(t.Context()))
			if failure != nil {
				hooks.WroteRequest(httptrace.WroteRequestInfo{Err: failure})
			}
			hooks.GotFirstResponseByte()
			var got metrics.Timeline
			tr.finish(&got, &Answer{})
			if got.Sent == 0 || got.Sent != got.FirstByte {
				t.Errorf("sent at %d, the answer came at %d", got.Sent, got.FirstByte)
			}
		})
	}
}
