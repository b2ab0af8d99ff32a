package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// direct speaks HTTP/1.1 on connections of its own. Everything up to the last byte of the request happens on the goroutine of the
// exchange, so that no hand-over stands between the start of its clock and the server.
type direct struct {
	config     *Config
	clock      *metrics.SystemClock
	poller     *Poller // reads the connections; nil: each exchange reads its own
	authorizer *authorizer
	turns      turns
	idle       pool
	requests   sync.Pool // *bytes.Buffer
}

func newDirect(config *Config, clock *metrics.SystemClock, poller *Poller) (*direct, error) {
	a, err := newAuthorizer(&config.HTTP, config.dialForToken)
	if err != nil {
		return nil, err
	}
	d := &direct{config: config, clock: clock, authorizer: a, turns: turns{config: config}, idle: pool{clock: clock, maxAge: config.DNSRefresh}}
	if canPoll && config.Timestamps == KernelTimestamps {
		d.poller = poller
	}
	d.requests.New = func() any { return new(bytes.Buffer) }
	return d, nil
}

// dialForToken opens a connection on which a token is asked for. Nothing else bounds how long that may take.
func (c *Config) dialForToken(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: c.Timeouts.Connect}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(c.Timeouts.FirstToken))
}

// Close implements carrier.
func (d *direct) Close() { d.idle.close() }

// carry implements carrier.
func (d *direct) carry(ctx context.Context, request *http.Request, t *trace, b *body, timeline *metrics.Timeline) error {
	timeline.End = timeline.Start
	ready, err := d.authorizer.complete(request)
	if err != nil {
		return err
	}
	keep := d.turns.keep()
	wire := d.requests.Get().(*bytes.Buffer)
	if err = writeRequest(wire, ready.request, b.payload, keep); err != nil {
		return err
	}
	l, err := d.obtain(ctx, ready, keep, t, b.handler, timeline)
	if err != nil {
		timeline.End = d.clock.Now()
		d.letGo(wire)
		return err
	}
	x := newExchange(b, timeline)
	b.answer.KernelStamps = l.socket != nil
	reusable, err := l.exchange(ctx, x, wire.Bytes(), func(whole bool) {
		if whole {
			t.wrote()
		}
		d.letGo(wire) // thousands of answers may be waited for
	})
	timeline.End = x.end
	if reusable && keep {
		d.idle.put(l)
	} else {
		l.close()
	}
	if x.panicked != nil {
		panic(x.panicked)
	}
	return err
}

// letGo takes back the bytes of a request.
func (d *direct) letGo(wire *bytes.Buffer) {
	if wire.Cap() <= maxKeptBytes {
		wire.Reset()
		d.requests.Put(wire)
	}
}

// obtain gives a connection: an idle one if kept ones will do, or one that is opened. The clock starts with the opening, or when there is
// nothing left to do but to write.
func (d *direct) obtain(ctx context.Context, ready authorized, kept bool, t *trace, handler Handler, timeline *metrics.Timeline) (*link, error) {
	t.set(&t.timeline.ConnStart)
	key := linkKey{ready.request.URL.Scheme + "://" + ready.request.URL.Host, ready.tls}
	if kept {
		if l := d.idle.take(key); l != nil {
			t.got(true, l.under.RemoteAddr())
			timeline.Start = t.timeline.ConnDone
			handler.Start(timeline.Start)
			return l, nil
		}
	}
	timeline.Start = t.timeline.ConnStart
	handler.Start(timeline.Start)
	l, err := d.connect(ctx, t, ready)
	if err != nil {
		return nil, err
	}
	l.key = key
	t.got(false, l.under.RemoteAddr())
	return l, nil
}

// maxKeptBytes is how large a buffer may be that is kept for later requests.
const maxKeptBytes = 1 << 20

// connect opens a connection.
func (d *direct) connect(ctx context.Context, t *trace, ready authorized) (*link, error) {
	to, err := destinationOf(ready.request)
	if err != nil {
		return nil, err
	}
	var also func(network, address string, raw syscall.RawConn) error
	if d.poller != nil {
		also = stamp
	}
	address := net.JoinHostPort(to.host, strconv.Itoa(int(to.port)))
	conn, err := d.config.dialler(to, also).DialContext(t.dialling(ctx), d.config.IPFamily.network(), address)
	if err != nil {
		return nil, err
	}
	l := &link{opened: t.timeline.ConnStart, under: &lower{conn}, stamps: stampClock{clock: d.clock}}
	l.conn = l.under
	if ready.request.URL.Scheme == "https" {
		if err = l.secure(ctx, t, ready.tls, to.host); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	if tcp, ok := conn.(*net.TCPConn); ok && d.poller != nil {
		if l.socket, err = d.poller.adopt(tcp); err != nil {
			_ = conn.Close()
			return nil, err
		}
		l.under.Conn = l.socket
	}
	return l, nil
}

// secure makes the handshake of TLS.
func (l *link) secure(ctx context.Context, t *trace, settings *tls.Config, host string) error {
	settings = settings.Clone()
	if settings.ServerName == "" {
		settings.ServerName = host
	}
	settings.NextProtos = []string{"http/1.1"}
	l.tls = tls.Client(l.under, settings)
	l.conn = l.tls
	t.setFirst(&t.timeline.TLSStart)
	err := l.tls.HandshakeContext(ctx)
	t.handshakeDone(l.tls.ConnectionState(), err)
	return err
}

// hostPort is where a request goes to.
func hostPort(request *http.Request) (host, port string, err error) {
	host, err = httpguts.PunycodeHostPort(request.URL.Hostname())
	if err != nil {
		return "", "", fmt.Errorf("host %q: %w", request.URL.Hostname(), err)
	}
	if port = request.URL.Port(); port != "" {
		return host, port, nil
	}
	if request.URL.Scheme == "https" {
		return host, "443", nil
	}
	return host, "80", nil
}
