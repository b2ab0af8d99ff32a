package transport

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// trace collects how an exchange gets its connection. Its hooks run on goroutines of the dialler and of net/http, some even after the
// exchange has ended, hence the lock and the copy at the end.
type trace struct {
	clock     *metrics.SystemClock
	connected func()         // called once, when a connection has been obtained
	sent      func(at int64) // called once, when the whole request has been written; nil = nobody wants to know

	mu       sync.Mutex
	timeline metrics.Timeline
	obtained bool
	reused   bool
	family   metrics.IPFamily // of the connection
	tlsError error
	// certsExpire is when the first certificate ends that the server has shown.
	certsExpire time.Time
}

func newTrace(clock *metrics.SystemClock, connected func()) *trace {
	return &trace{clock: clock, connected: connected}
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

// dialling watches the look-up of a name and the tries to connect.
func (t *trace) dialling(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, t.dialHooks())
}

func (t *trace) dialHooks() *httptrace.ClientTrace {
	tl := &t.timeline
	return &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { t.setFirst(&tl.DNSStart) },
		DNSDone:      func(httptrace.DNSDoneInfo) { t.setFirst(&tl.DNSDone) },
		ConnectStart: func(string, string) { t.setFirst(&tl.ConnectStart) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				t.setFirst(&tl.ConnectDone)
			}
		},
	}
}

// roundTrip watches a whole round trip of net/http.
func (t *trace) roundTrip(ctx context.Context) context.Context {
	tl := &t.timeline
	hooks := t.dialHooks()
	hooks.GetConn = func(string) { t.set(&tl.ConnStart) }
	hooks.TLSHandshakeStart = func() { t.setFirst(&tl.TLSStart) }
	hooks.TLSHandshakeDone = t.handshakeDone
	hooks.GotConn = func(info httptrace.GotConnInfo) { t.got(info.Reused, info.Conn.RemoteAddr()) }
	hooks.WroteRequest = func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			t.wrote()
		}
	}
	hooks.GotFirstResponseByte = func() { t.set(&tl.FirstByte) }
	return httptrace.WithClientTrace(ctx, hooks)
}

func (t *trace) handshakeDone(state tls.ConnectionState, err error) {
	if err == nil {
		t.setFirst(&t.timeline.TLSDone)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.tlsError = err
		return
	}
	for _, certificate := range state.PeerCertificates {
		if end := certificate.NotAfter; t.certsExpire.IsZero() || end.Before(t.certsExpire) {
			t.certsExpire = end
		}
	}
}

// got notes that there is a connection with that other end.
func (t *trace) got(reused bool, peer net.Addr) {
	t.mu.Lock()
	t.timeline.ConnDone = t.clock.Now()
	t.obtained, t.reused, t.family = true, reused, familyOf(peer)
	t.mu.Unlock()
	t.connected()
}

// familyOf is the version of IP that leads to an address. IPv4 may be used on a socket of IPv6.
func familyOf(address net.Addr) metrics.IPFamily {
	tcp, ok := address.(*net.TCPAddr)
	switch {
	case !ok:
		return ""
	case tcp.IP.To4() != nil:
		return metrics.IPv4
	}
	return metrics.IPv6
}

// wrote notes that the whole request has been written.
func (t *trace) wrote() {
	t.set(&t.timeline.Sent)
	if t.sent != nil {
		t.sent(t.timeline.Sent)
	}
}

// lookingUp tells that a name is being looked up and no connection has been tried yet.
func (t *trace) lookingUp() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.timeline.DNSStart != 0 && t.timeline.ConnectStart == 0
}

// finish copies what was collected into the timeline, which has everything else.
func (t *trace) finish(into *metrics.Timeline, answer *Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answer.ConnObtained, answer.ConnReused, answer.IPFamily = t.obtained, t.reused, t.family
	from := &t.timeline
	into.ConnStart, into.ConnDone = from.ConnStart, from.ConnDone
	into.Sent = from.Sent
	if from.FirstByte != 0 {
		into.FirstByte = from.FirstByte
	}
	// What was dialled for this exchange while it got a connection of another one has cost it nothing.
	if !t.reused {
		into.DNSStart, into.DNSDone = from.DNSStart, from.DNSDone
		into.ConnectStart, into.ConnectDone = from.ConnectStart, from.ConnectDone
		into.TLSStart, into.TLSDone = from.TLSStart, from.TLSDone
		answer.CertsExpire = t.certsExpire
	}
	if into.FirstByte != 0 {
		// A pooled connection may hold bytes that came before the request. They are taken for its answer, which cannot precede it.
		into.FirstByte = max(into.FirstByte, into.Start)
		// Whoever was answered has asked, at the latest by then. The write is stamped when it has returned, the answer by the kernel, so the answer
		// may have arrived before the write is noticed to be done; net/http tells of it from a goroutine of its own, with HTTP/2 perhaps after the
		// answer; and a server that answers before it has read the whole request may end the write.
		if into.Sent == 0 || into.Sent > into.FirstByte {
			into.Sent = into.FirstByte
		}
	}
	// A server may close before the write is noticed to be done.
	into.End = max(into.End, into.Start, into.Sent)
}
