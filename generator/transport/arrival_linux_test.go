package transport_test

import (
	"crypto/tls"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
)

// arrived waits until all that was sent has reached the client's socket, as its acknowledgement tells, and gives the instant.
func (p *peer) arrived() int64 {
	p.poll(func() bool {
		unacknowledged := 0
		raw, err := p.tcp.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { unacknowledged, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
		}
		return err != nil || unacknowledged == 0
	})
	return clock.Now()
}

// taken waits until the client has read all that has arrived: until then the kernel may join it with what arrives next, under one stamp.
func (p *peer) taken() {
	p.poll(func() bool {
		fd, ok := p.client()
		if !ok {
			return true
		}
		unread, err := unix.IoctlGetInt(fd, unix.SIOCINQ)
		return err != nil || unread == 0
	})
}

// client is the client's end of the connection, which is a descriptor of this process too.
func (p *peer) client() (fd int, ok bool) {
	for fd := range 1024 {
		local, err := unix.Getsockname(fd)
		if err != nil {
			continue
		}
		remote, err := unix.Getpeername(fd)
		if err == nil && portOf(local) == p.RemoteAddr().(*net.TCPAddr).Port && portOf(remote) == p.LocalAddr().(*net.TCPAddr).Port {
			return fd, true
		}
	}
	return 0, false
}

func portOf(address unix.Sockaddr) int {
	if inet, ok := address.(*unix.SockaddrInet4); ok {
		return inet.Port
	}
	return 0
}

// poll asks each millisecond until done.
func (p *peer) poll(done func() bool) {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-p.over.Done():
			return
		}
	}
}

// window is when the bytes of an event arrived: not before sent, and before there.
type window struct{ sent, there int64 }

// holds tells whether an instant lies in the window.
func (w window) holds(at int64) bool { return w.sent <= at && at < w.there }

// lockstep holds the client up in the handler of each event until the next text of the server lies in the client's socket.
type lockstep struct {
	texts   []string
	handled chan struct{} // an event is in the handler
	there   chan window   // the next text has arrived; closed after the last
	windows []window      // of all texts; the handler's
}

func newLockstep(texts ...string) *lockstep {
	return &lockstep{texts: texts, handled: make(chan struct{}), there: make(chan window)}
}

// deliver is the server's side.
func (l *lockstep) deliver(p *peer) {
	defer close(l.there)
	for i, text := range l.texts {
		if i > 0 {
			p.wait(l.handled)
		}
		sent := clock.Now()
		p.send(text)
		select {
		case l.there <- window{sent, p.arrived()}:
		case <-p.over.Done():
			return
		}
	}
	p.wait(l.handled)
}

// hold is the client's side, a handler's verdict.
func (l *lockstep) hold(seen) transport.Verdict {
	if len(l.windows) == 0 {
		l.windows = append(l.windows, <-l.there)
	}
	l.handled <- struct{}{}
	if w, ok := <-l.there; ok {
		l.windows = append(l.windows, w)
	}
	return transport.Token
}

// stamping waits until the kernel stamps what arrives, and has it go on until the test is over.
func stamping(t *testing.T) (client *transport.Client, url string) {
	t.Helper()
	url = serve(t, func(p *peer) {
		p.request()
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	})
	client = newClient(t)
	for do(t, client, url).StampFallbacks > 0 {
		runtime.Gosched()
	}
	return client, url
}

// The kernel stamps while somebody asks for it. It must not stop between two requests, or the first answers on fresh connections, all
// that a slow load ever has, would fall back. This test does not run beside others, which ask too.
func TestTheKernelGoesOnStampingBetweenRequests(t *testing.T) {
	client, url := stamping(t)
	for range 200 {
		r := do(t, client, url)
		if err := r.failed(); err != nil || !r.KernelStamps || r.StampFallbacks != 0 {
			t.Fatalf("kernel stamps %v, %d reads without: %v", r.KernelStamps, r.StampFallbacks, err)
		}
	}
}

// both runs a test over plain TCP and under TLS.
func both(t *testing.T, test func(t *testing.T, serve func(*testing.T, func(*peer)) (url string, trust option))) {
	t.Helper()
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		test(t, func(t *testing.T, script func(*peer)) (string, option) {
			t.Helper()
			return serve(t, script), func(*transport.Config) {}
		})
	})
	t.Run("TLS", func(t *testing.T) {
		t.Parallel()
		test(t, func(t *testing.T, script func(*peer)) (string, option) {
			t.Helper()
			url, authority := serveTLS(t, script)
			return url, trusting(authority)
		})
	})
}

func TestKernelStampsFollowTheServerWhileTheReaderIsHeldUp(t *testing.T) {
	t.Parallel()
	stamping(t)
	both(t, func(t *testing.T, serve func(*testing.T, func(*peer)) (string, option)) {
		t.Helper()
		for _, timestamps := range []transport.Timestamps{transport.KernelTimestamps, transport.ReadTimestamps} {
			steps := newLockstep(chunk(sse("a")), chunk(sse("b")), chunk(sse("c")), chunk(sse("d")))
			url, trust := serve(t, func(p *peer) {
				p.request()
				p.send(chunkedHead)
				steps.deliver(p)
				p.send(lastChunk)
				p.request()
			})
			client := newClient(t, trust, keepAlive, func(c *transport.Config) { c.Timestamps = timestamps })
			r := doWith(t.Context(), client, stream(url), steps.hold)
			if err := r.failed(); err != nil || r.data() != "[a][b][c][d]" {
				t.Fatalf("events %s: %v", r.data(), err)
			}
			for i, ev := range r.events[1:] {
				w := steps.windows[i+1]
				if kernel := timestamps == transport.KernelTimestamps; w.holds(ev.at) != kernel {
					t.Errorf("%s stamps: event %q is stamped %d, sent at %d, there at %d", timestamps, ev.Data, ev.at, w.sent, w.there)
				}
			}
		}
	})
}

// parts sends texts one after the other, each when the client has read the one before, whether or not it gives anything for it.
func (p *peer) parts(texts ...string) []window {
	var windows []window
	for _, text := range texts {
		p.taken()
		sent := clock.Now()
		p.send(text)
		windows = append(windows, window{sent, p.arrived()})
	}
	return windows
}

// In a chunked body a read of net/http returns only when the chunk that it has begun is complete or the slice is full, so that an event
// waits there for bytes that are not its own.
func TestAnEventIsStampedWithItsOwnArrivalWhereverChunksAreCut(t *testing.T) {
	t.Parallel()
	stamping(t)
	a, b, c := sse("a"), sse("b"), sse("c")
	two := chunk(a + b)
	middle := strings.Index(two, b)
	header := strings.Index(chunk(b), "data")
	for _, tt := range []struct {
		name  string
		parts []string
		want  []int // the part that completes each event
	}{
		{"the header of the next chunk comes with the event", []string{chunk(a) + chunk(b)[:header], chunk(b)[header:], chunk(c) + lastChunk}, []int{0, 1, 2}},
		{"two events in one chunk come apart", []string{two[:middle], two[middle:], chunk(c) + lastChunk}, []int{0, 1, 2}},
		{"an event comes with half of the next", []string{two[:middle+5], two[middle+5:], chunk(c) + lastChunk}, []int{0, 1, 2}},
		{"one chunk comes in five parts", []string{two[:3], two[3:6], two[6:middle], two[middle:], chunk(c) + lastChunk}, []int{2, 3, 4}},
		{"the end of the body comes late", []string{chunk(a), chunk(b), chunk(c) + "0\r\n", "\r\n"}, []int{0, 1, 2}},
		{"the line break behind the chunk comes late", []string{chunk(a)[:len(chunk(a))-2], "\r\n" + chunk(b), chunk(c) + lastChunk}, []int{0, 1, 2}},
		{"nothing is cut", []string{chunk(a), chunk(b), chunk(c) + lastChunk}, []int{0, 1, 2}},
		{"everything comes at once", []string{chunk(a) + two + lastChunk, ""}, []int{0, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, serve func(*testing.T, func(*peer)) (string, option)) {
				t.Helper()
				arrivals := make(chan []window, 1)
				url, trust := serve(t, func(p *peer) {
					p.request()
					p.send(chunkedHead)
					p.arrived()
					arrivals <- p.parts(tt.parts...)
					p.request() // the end of the connection would be another arrival
				})
				r := do(t, newClient(t, trust, keepAlive), url)
				windows := <-arrivals
				if err := r.failed(); err != nil || len(r.events) != len(tt.want) {
					t.Fatalf("events %s: %v", r.data(), err)
				}
				for i, part := range tt.want {
					if w := windows[part]; !w.holds(r.events[i].at) {
						t.Errorf("event %q is stamped %d, want within [%d, %d), when part %d arrived", r.events[i].Data, r.events[i].at, w.sent, w.there, part)
					}
				}
			})
		})
	}
}

func TestTheHeaderIsStampedWithItsOwnArrival(t *testing.T) {
	t.Parallel()
	stamping(t)
	half := len(chunkedHead) / 2
	for _, tt := range []struct {
		name                     string
		parts                    []string
		firstByte, header, event int // the part that brings it
	}{
		{"apart from the first event", []string{chunkedHead, chunk(sse("a")) + lastChunk}, 0, 0, 1},
		{"together with the first event", []string{chunkedHead + chunk(sse("a")), lastChunk}, 0, 0, 0},
		{"in two parts", []string{chunkedHead[:half], chunkedHead[half:], chunk(sse("a")) + lastChunk}, 0, 1, 2},
		{"after an interim answer", []string{"HTTP/1.1 100 Continue\r\n\r\n", chunkedHead, chunk(sse("a")) + lastChunk}, 0, 1, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, serve func(*testing.T, func(*peer)) (string, option)) {
				t.Helper()
				arrivals := make(chan []window, 1)
				url, trust := serve(t, func(p *peer) {
					p.request()
					arrivals <- p.parts(tt.parts...)
					p.request()
				})
				r := do(t, newClient(t, trust, keepAlive), url)
				windows := <-arrivals
				if err := r.failed(); err != nil || r.data() != "[a]" {
					t.Fatalf("events %s: %v", r.data(), err)
				}
				for _, instant := range []struct {
					name string
					at   int64
					part int
				}{{"first byte", r.time.FirstByte, tt.firstByte}, {"header", r.time.Header, tt.header}, {"event", r.events[0].at, tt.event}} {
					if w := windows[instant.part]; !w.holds(instant.at) {
						t.Errorf("%s is stamped %d, want within [%d, %d), when part %d arrived", instant.name, instant.at, w.sent, w.there, instant.part)
					}
				}
				r.checkOrder(t)
			})
		})
	}
}

// The kernel keeps one stamp for what waits in a socket, so that of events that arrived while the reader was held up only the last one's
// instant is known. They are told apart from others by the number of their read.
func TestEventsThatWaitedTogetherShareTheStampOfTheLast(t *testing.T) {
	t.Parallel()
	stamping(t)
	held, release := make(chan struct{}), make(chan window, 1)
	url := serve(t, func(p *peer) {
		p.request()
		p.send(chunkedHead + chunk(sse("a")))
		p.wait(held)
		p.send(chunk(sse("b")))
		p.arrived()
		sent := clock.Now()
		p.send(chunk(sse("c")))
		release <- window{sent, p.arrived()}
		p.taken()
		p.send(chunk(sse("d")) + lastChunk)
		p.request()
	})
	var last window
	r := doWith(t.Context(), newClient(t, keepAlive), stream(url), func(ev seen) transport.Verdict {
		if ev.Data == "a" {
			close(held)
			last = <-release
		}
		return transport.Token
	})
	if err := r.failed(); err != nil || r.data() != "[a][b][c][d]" {
		t.Fatalf("events %s: %v", r.data(), err)
	}
	a, b, c, d := r.events[0], r.events[1], r.events[2], r.events[3]
	if b.at != c.at || b.read != c.read || !last.holds(c.at) {
		t.Errorf("b at %d (read %d), c at %d (read %d), want both of one read within [%d, %d)", b.at, b.read, c.at, c.read, last.sent, last.there)
	}
	if a.read == b.read || c.read == d.read {
		t.Errorf("reads %d, %d, %d and %d, want b and c alone to share theirs", a.read, b.read, c.read, d.read)
	}
	if waited := r.KernelDelay; waited < last.there-c.at {
		t.Errorf("the bytes waited %d ns, want at least the %d until the reader was let go", waited, last.there-c.at)
	}
}

// halving sends the next write in two parts, each when the one before has been read.
type halving struct {
	net.Conn
	peer    *peer
	windows chan []window // of the halves; nil = do not halve
}

// Write implements net.Conn.
func (h *halving) Write(p []byte) (int, error) {
	if h.windows == nil {
		return h.Conn.Write(p)
	}
	raw := *h.peer
	raw.Conn = h.Conn
	h.windows <- raw.parts(string(p[:len(p)/2]), string(p[len(p)/2:]))
	h.windows = nil
	return len(p), nil
}

func TestWhatTLSCarriesHasArrivedWhenItsRecordIsWhole(t *testing.T) {
	t.Parallel()
	stamping(t)
	pair, authority := certificate(t)
	windows := make(chan []window, 1)
	var under *halving
	url := serveOn(t, func(p *peer) {
		p.request()
		p.send(chunkedHead)
		p.arrived()
		under.peer, under.windows = p, windows
		p.send(chunk(sse("a")))
		p.taken()
		p.send(lastChunk)
		p.request()
	}, func(conn *net.TCPConn) net.Conn {
		under = &halving{Conn: conn}
		return tls.Server(under, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13})
	})
	r := do(t, newClient(t, keepAlive, trusting(authority)), strings.Replace(url, "http:", "https:", 1))
	halves := <-windows
	if err := r.failed(); err != nil || r.data() != "[a]" {
		t.Fatalf("events %s: %v", r.data(), err)
	}
	if !halves[1].holds(r.events[0].at) {
		t.Errorf("event is stamped %d, want within [%d, %d), when the second half arrived; the first came in [%d, %d)",
			r.events[0].at, halves[1].sent, halves[1].there, halves[0].sent, halves[0].there)
	}
}
