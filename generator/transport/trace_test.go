package transport

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestTheTimelineIsInOrderWhateverTheHooksSay(t *testing.T) {
	t.Parallel()
	dial := metrics.Timeline{DNSStart: 101, DNSDone: 102, ConnectStart: 103, ConnectDone: 104, TLSStart: 105, TLSDone: 106}
	for _, tt := range []struct {
		name      string
		collected metrics.Timeline
		reused    bool
		want      metrics.Timeline // with Start = 100
	}{
		{"an answer after the request", metrics.Timeline{ConnDone: 110, Sent: 120, FirstByte: 200}, false, metrics.Timeline{ConnDone: 110, Sent: 120, FirstByte: 200}},
		{"no answer", metrics.Timeline{Sent: 120}, false, metrics.Timeline{Sent: 120}},
		{"the answer had arrived before the write was noticed", metrics.Timeline{Sent: 210, FirstByte: 200}, false, metrics.Timeline{Sent: 200, FirstByte: 200}},
		{"an answer to a request that never was sent in full", metrics.Timeline{FirstByte: 200}, false, metrics.Timeline{FirstByte: 200}},
		{"bytes that lay in a pooled connection before the request", metrics.Timeline{Sent: 120, FirstByte: 50}, true, metrics.Timeline{Sent: 100, FirstByte: 100}},
		{"a write that was noticed to be done after everything", metrics.Timeline{Sent: 900, FirstByte: 200}, false, metrics.Timeline{Sent: 200, FirstByte: 200}},
		{"a dial of our own", dial, false, dial},
		{"a dial that was not waited for, as another connection became free", dial, true, metrics.Timeline{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := newTrace(metrics.NewSystemClock(), func() {})
			tr.timeline, tr.reused = tt.collected, tt.reused
			got := metrics.Timeline{Sched: 1, Issue: 2, Start: 100, Header: 300, End: 400}
			tr.finish(&got, &Answer{})
			tt.want.Sched, tt.want.Issue, tt.want.Header, tt.want.End = 1, 2, 300, 400
			tt.want.Start = 100
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("timeline (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfAddressesTriedSideBySideTheFirstThatWorksCounts(t *testing.T) {
	t.Parallel()
	clock := metrics.NewSystemClock()
	tr := newTrace(clock, func() {})
	hooks := httptrace.ContextClientTrace(tr.roundTrip(t.Context()))
	// step makes sure that the next instant is a later one.
	step := func() int64 {
		at := clock.Now()
		for clock.Now() == at {
			continue
		}
		return clock.Now()
	}
	hooks.ConnectStart("tcp", "[::1]:1")
	afterFirst := step()
	hooks.ConnectStart("tcp", "127.0.0.1:1")
	hooks.ConnectDone("tcp", "[::1]:1", errors.New("refused"))
	beforeDone := step()
	hooks.ConnectDone("tcp", "127.0.0.1:1", nil)
	afterDone := step()
	hooks.ConnectDone("tcp", "[::2]:1", nil)
	hooks.TLSHandshakeStart()
	hooks.TLSHandshakeDone(tls.ConnectionState{}, errors.New("no"))
	var got metrics.Timeline
	tr.finish(&got, &Answer{})
	if got.ConnectStart == 0 || got.ConnectStart > afterFirst {
		t.Errorf("connecting began at %d, want with the first attempt, before %d", got.ConnectStart, afterFirst)
	}
	if got.ConnectDone < beforeDone || got.ConnectDone > afterDone {
		t.Errorf("connected at %d, want with the first success, in [%d, %d]", got.ConnectDone, beforeDone, afterDone)
	}
	if got.TLSStart == 0 || got.TLSDone != 0 || tr.tlsError == nil {
		t.Errorf("TLS from %d to %d, error %v, want a handshake that failed", got.TLSStart, got.TLSDone, tr.tlsError)
	}
}

// net/http goes on dialling for requests to come after the exchange has ended, and calls its hooks.
func TestHooksThatRunLateChangeNothing(t *testing.T) {
	t.Parallel()
	tr := newTrace(metrics.NewSystemClock(), func() {})
	hooks := httptrace.ContextClientTrace(tr.roundTrip(t.Context()))
	hooks.GetConn("x:1")
	var got metrics.Timeline
	var answer Answer
	tr.finish(&got, &answer)
	want, wantAnswer := got, answer
	plain, other := net.Pipe()
	defer plain.Close()
	defer other.Close()
	hooks.ConnectStart("tcp", "x")
	hooks.ConnectDone("tcp", "x", nil)
	hooks.GotConn(httptrace.GotConnInfo{Conn: plain})
	hooks.WroteRequest(httptrace.WroteRequestInfo{})
	hooks.GotFirstResponseByte()
	if got != want || answer.ConnObtained != wantAnswer.ConnObtained {
		t.Errorf("timeline %+v, want %+v", got, want)
	}
}
