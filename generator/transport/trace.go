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
	writing  int64 // the header is in net/http's buffer, the next thing is the system call
	obtained bool
	reused   bool
	tlsError error
	slot     *stampSlot // of the connection, nil if it has none
	stamps   *stamps
}

func newTrace(clock *metrics.SystemClock, connected func()) *trace {
	return &trace{clock: clock, connected: connected, stamps: newStamps(clock)}
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
		GotConn:      t.gotConn,
		WroteHeaders: func() { t.setFirst(&t.writing) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				t.set(&tl.Sent)
			}
		},
		GotFirstResponseByte: func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			tl.FirstByte = t.stamps.arrival()
		},
	})
}

func (t *trace) gotConn(info httptrace.GotConnInfo) {
	t.mu.Lock()
	t.timeline.ConnDone = t.clock.Now()
	t.obtained, t.reused = true, info.Reused
	if t.slot = slotOf(info.Conn); t.slot != nil {
		t.stamps.ofKernel()
		t.slot.Store(t.stamps)
	}
	t.mu.Unlock()
	t.connected()
}

// lookingUp tells that a name is being looked up and no connection has been tried yet.
func (t *trace) lookingUp() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.timeline.DNSStart != 0 && t.timeline.ConnectStart == 0
}

// start is the last instant before the exchange leaves this process: the look-up of the name or the connection if there is a new one, else
// the write. net/http hands both to goroutines of its own, and what they wait for a processor is no time of the server; it stands in the
// dispatch delay. Without such an instant, and where bytes of an earlier answer are in the way, it is that of the call.
func (t *trace) start(of *metrics.Timeline) int64 {
	at := t.writing
	if !t.reused {
		at = t.timeline.DNSStart
		if dial := t.timeline.ConnectStart; at == 0 || dial != 0 && dial < at {
			at = dial
		}
	}
	if at < of.Start || of.Header != 0 && at > of.Header {
		return of.Start
	}
	return at
}

// finish lets the connection go and copies what was collected into the timeline, whose Sched, Issue and everything from Header on are
// the caller's, as is a first idea of Start.
func (t *trace) finish(into *metrics.Timeline, answer *Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slot != nil {
		t.slot.CompareAndSwap(t.stamps, nil)
	}
	answer.ConnObtained, answer.ConnReused = t.obtained, t.reused
	t.stamps.tell(answer)
	from := &t.timeline
	into.Start = t.start(into)
	into.ConnStart, into.ConnDone = from.ConnStart, from.ConnDone
	into.Sent, into.FirstByte = from.Sent, from.FirstByte
	// What was dialled for this exchange while it got a connection of another one has cost it nothing.
	if !t.reused {
		into.DNSStart, into.DNSDone = from.DNSStart, from.DNSDone
		into.ConnectStart, into.ConnectDone = from.ConnectStart, from.ConnectDone
		into.TLSStart, into.TLSDone = from.TLSStart, from.TLSDone
	}
	if into.FirstByte == 0 {
		return
	}
	// A pooled connection may hold bytes that came before the request. They are taken for its answer, which cannot precede it.
	into.FirstByte = max(into.FirstByte, into.Start)
	// The write is stamped by a goroutine after it has returned, the answer by the kernel: on a busy machine the answer may have arrived
	// before the write is noticed to be done. A server may also answer before it has read the whole request.
	into.Sent = min(into.Sent, into.FirstByte)
}
