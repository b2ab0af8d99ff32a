package transport

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// trace collects the phases of one exchange. Its hooks run on goroutines of net/http, some even after the exchange has ended, hence
// the lock and the copy at the end.
type trace struct {
	clock     *metrics.SystemClock
	connected func() // called once, when a connection has been obtained

	mu       sync.Mutex
	timeline metrics.Timeline
	obtained bool
	reused   bool
	tlsError error
	stamps   *stamps // of the connection, nil if it has none
	before   int64   // fallbacks of the connection before this exchange
}

// set stamps under the lock, so that instants of different hooks cannot overtake each other.
func (t *trace) set(field *int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*field = t.clock.Now()
}

// setFirst keeps the first instant: with several addresses, names and connections are tried side by side.
func (t *trace) setFirst(field *int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *field == 0 {
		*field = t.clock.Now()
	}
}

func (t *trace) attach(ctx context.Context) context.Context {
	tl := &t.timeline
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:  func(string) { t.set(&tl.ConnStart) },
		DNSStart: func(httptrace.DNSStartInfo) { t.setFirst(&tl.DNSStart) },
		DNSDone:  func(httptrace.DNSDoneInfo) { t.setFirst(&tl.DNSDone) },
		ConnectStart: func(string, string) {
			t.setFirst(&tl.ConnectStart)
		},
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				t.setFirst(&tl.ConnectDone)
			}
		},
		TLSHandshakeStart: func() { t.setFirst(&tl.TLSStart) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				t.setFirst(&tl.TLSDone)
				return
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			t.tlsError = err
		},
		GotConn: t.gotConn,
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				t.set(&tl.Sent)
			}
		},
		GotFirstResponseByte: func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			tl.FirstByte = t.arrival()
		},
	})
}

func (t *trace) gotConn(info httptrace.GotConnInfo) {
	t.mu.Lock()
	t.timeline.ConnDone = t.clock.Now()
	t.obtained, t.reused = true, info.Reused
	if t.stamps = stampsOf(info.Conn); t.stamps != nil {
		t.before = t.stamps.fallbacks.Load()
	}
	t.mu.Unlock()
	t.connected()
}

// arrival is the instant at which the bytes read last reached this machine.
func (t *trace) arrival() int64 {
	if t.stamps != nil {
		return t.stamps.at.Load()
	}
	return t.clock.Now()
}

// headerArrival is arrival for a caller that does not hold the lock.
func (t *trace) headerArrival() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.arrival()
}

// finish copies what was collected into the timeline, whose Sched, Issue, Start and everything from Header on are the caller's.
func (t *trace) finish(into *metrics.Timeline) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := &t.timeline
	into.ConnStart, into.ConnDone = from.ConnStart, from.ConnDone
	into.DNSStart, into.DNSDone = from.DNSStart, from.DNSDone
	into.ConnectStart, into.ConnectDone = from.ConnectStart, from.ConnectDone
	into.TLSStart, into.TLSDone = from.TLSStart, from.TLSDone
	into.Sent, into.FirstByte = from.Sent, from.FirstByte
	// The write is stamped by a goroutine after it has returned, the answer by the kernel: on a busy machine the answer may have arrived
	// before the write is noticed to be done.
	if into.FirstByte != 0 && into.Sent > into.FirstByte {
		into.Sent = max(into.FirstByte, into.Start)
	}
}
