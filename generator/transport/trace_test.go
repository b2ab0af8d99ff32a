package transport

import (
	"errors"
	"net/http/httptrace"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// With HTTP/2 the answer may be there before net/http tells that the request was written.
func TestWhoeverWasAnsweredHasAsked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		failure error // of the write, told before the answer; nil = nothing was told
		sent    bool
	}{
		"nothing was told of the write": {nil, true},
		"the write has failed":          {errors.New("reset"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrace(metrics.NewSystemClock(), func() {})
			hooks := httptrace.ContextClientTrace(tr.roundTrip(t.Context()))
			if tc.failure != nil {
				hooks.WroteRequest(httptrace.WroteRequestInfo{Err: tc.failure})
			}
			hooks.GotFirstResponseByte()
			var got metrics.Timeline
			tr.finish(&got, &Answer{})
			if sent := got.Sent != 0; sent != tc.sent || sent && got.Sent != got.FirstByte {
				t.Errorf("sent at %d, the answer came at %d", got.Sent, got.FirstByte)
			}
		})
	}
}
