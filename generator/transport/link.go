package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// link is a connection to the server, which serves one exchange at a time. Its socket is read by the poller where the kernel stamps what
// arrives, else by a goroutine of the exchange.
type link struct {
	conn   net.Conn  // what is written to: TLS, or the same as under
	under  *lower    // TCP
	tls    *tls.Conn // nil = none
	socket *socket   // nil: read by a goroutine

	x      *exchange
	stamps stampClock
	reads  int64
	plain  []byte      // for what TLS gives
	expiry *time.Timer // of an idle connection
}

// lower is what TLS has under it: first the connection with which the handshake is made, then the socket.
type lower struct{ net.Conn }

const (
	// readBytes is large enough to take what a busy stream sends between two reads at once.
	readBytes = 64 << 10
	// plainBytes is what a record of TLS holds at most.
	plainBytes = 16 << 10
)

// exchange sends a request and waits for the end of its answer. sent is called when the last byte is written.
func (l *link) exchange(ctx context.Context, x *exchange, request []byte, sent func()) error {
	if err := l.listen(ctx, x); err != nil {
		x.end = x.body.clock.Now()
		return err
	}
	unsent := l.write(ctx, request)
	if unsent == nil {
		sent()
	}
	// A server that refuses a request may close without reading it: the answer says more than the failure to write.
	select {
	case <-x.done:
	case <-ctx.Done():
		l.close()
	}
	select {
	case <-x.done:
	default:
		x.end = x.body.clock.Now()
		return x.body.judge(ctx.Err())
	}
	switch {
	case unsent == nil:
		return x.err
	case x.err != nil && x.body.answer.Status == 0:
		return unsent
	}
	x.response.reusable = false
	return x.err
}

// listen has what arrives handed to the exchange, until that is over.
func (l *link) listen(ctx context.Context, x *exchange) error {
	l.x, l.reads = x, 0
	if l.socket != nil {
		l.stamps.look()
		return l.socket.listen(l, ctx.Done(), x.done)
	}
	if err := l.under.SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	// A server may answer before it has read everything, and read no further; then the rest is not sent.
	x.interrupt = func() { _ = l.under.SetWriteDeadline(time.Unix(1, 0)) }
	go l.readAll(x)
	return nil
}

// write sends the request, or as much of it as the server wants.
func (l *link) write(ctx context.Context, request []byte) error {
	if l.socket == nil {
		defer context.AfterFunc(ctx, func() { _ = l.under.SetWriteDeadline(time.Unix(1, 0)) })()
	}
	_, err := l.conn.Write(request)
	return err
}

// alive tells whether an idle connection can still be used.
func (l *link) alive() bool {
	if l.socket != nil {
		return l.socket.alive()
	}
	return isIdle(l.under.Conn)
}

// close ends the connection. After it returns the exchange hears of nothing any more.
func (l *link) close() {
	_ = l.conn.Close()
	if l.socket == nil && l.x != nil {
		<-l.x.done // its goroutine
	}
}

// readAll reads the connection on a goroutine of its own; the return of a read is the instant of arrival.
func (l *link) readAll(x *exchange) {
	buffer := make([]byte, readBytes)
	for {
		n, err := l.conn.Read(buffer)
		now := x.body.clock.Now()
		l.reads++
		if n > 0 && x.arrived(buffer[:n], arrival{at: now, now: now, read: l.reads}) {
			return
		}
		if err != nil {
			x.ended(err, errors.Is(err, io.EOF))
			return
		}
	}
}

// arrived implements taker: bytes of the socket, which may be those of TLS.
func (l *link) arrived(p []byte, now time.Time, kernelWall int64) (over bool) {
	a, stamped := l.stamps.arrival(now, kernelWall)
	l.reads++
	a.read = l.reads
	answer := l.x.body.answer
	if stamped {
		answer.KernelDelay = max(answer.KernelDelay, a.now-a.at)
	} else {
		answer.StampFallbacks++
	}
	if l.tls == nil {
		return l.x.arrived(p, a)
	}
	l.socket.fed = p
	plain := l.plainBuffer()
	for {
		n, err := l.tls.Read(plain)
		if n > 0 && l.x.arrived(plain[:n], a) {
			l.settle()
			return true
		}
		switch {
		case err == nil:
		case errors.Is(err, errNoMore):
			return false
		default:
			l.x.ended(err, errors.Is(err, io.EOF))
			return true
		}
	}
}

// settle finds out whether TLS holds more than the answer; then the connection is not used again.
func (l *link) settle() {
	if n, err := l.tls.Read(l.plain); n > 0 || !errors.Is(err, errNoMore) {
		l.x.response.reusable = false
	}
}

// ended implements taker. TLS may make something else of the end.
func (l *link) ended(err error) {
	if l.tls != nil {
		l.socket.fed, l.socket.failed = nil, err
		_, err = l.tls.Read(l.plainBuffer())
	}
	l.x.ended(err, errors.Is(err, io.EOF))
}

func (l *link) plainBuffer() []byte {
	if l.plain == nil {
		l.plain = make([]byte, plainBytes)
	}
	return l.plain
}

// errNoMore tells TLS that what has arrived is used up. It is temporary, so that TLS goes on when there is more.
var errNoMore = temporary{}

type temporary struct{}

func (temporary) Error() string   { return "nothing more has arrived" }
func (temporary) Timeout() bool   { return true }
func (temporary) Temporary() bool { return true }
