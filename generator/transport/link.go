package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

const (
	// readBytes is large enough to take what a busy stream sends between two reads at once.
	readBytes = 64 << 10
	// plainBytes is what a record of TLS holds at most.
	plainBytes = 16 << 10
)

// link is a connection to the server, which serves one exchange at a time. Its socket is read by the poller where the kernel stamps what
// arrives, else by a goroutine of the exchange.
type link struct {
	key    linkKey
	opened int64     // when the name was looked up
	conn   net.Conn  // what is written to: TLS, or the same as under
	under  *lower    // TCP
	tls    *tls.Conn // nil = none
	socket *socket   // nil: read by a goroutine

	x      *exchange
	closed bool
	stamps stampClock
	reads  int64
	expiry *time.Timer // of an idle connection
}

// linkKey tells connections apart that cannot stand in for each other.
type linkKey struct {
	origin   string      // scheme, host and port
	settings *tls.Config // changes with the files of certificates
}

// lower is what TLS has under it: first the connection with which the handshake is made, then the socket.
type lower struct{ net.Conn }

// exchange sends a request and waits for the end of its answer. written is called when the bytes of the request are not needed any more;
// whole tells that all have been sent. reusable tells that another request may follow on the connection; otherwise it must be closed.
func (l *link) exchange(ctx context.Context, x *exchange, request []byte, written func(whole bool)) (reusable bool, err error) {
	if err = l.listen(ctx, x); err != nil {
		x.end = x.body.clock.Now()
		return false, err
	}
	unsent := l.write(ctx, request)
	written(unsent == nil)
	if unsent != nil && !isEnd(unsent) {
		l.close() // nothing will come of it
	}
	select {
	case <-x.done:
	case <-ctx.Done():
		l.close()
	}
	select {
	case <-x.done:
		// A server that refuses a request may close without reading it: its answer says more than the failure to write.
		return unsent == nil && x.clean && !l.closed, x.err
	default:
	}
	x.end = x.body.clock.Now()
	if unsent != nil && ctx.Err() == nil {
		return false, unsent
	}
	return false, x.body.judge(ctx.Err())
}

// isEnd tells that writing failed because of what the server or the exchange did, which is told to the exchange too.
func isEnd(err error) bool {
	return errors.Is(err, errInterrupted) || errors.Is(err, errConnectionEnded)
}

// listen has what arrives handed to the exchange, until that is over.
func (l *link) listen(ctx context.Context, x *exchange) error {
	l.reads = 0
	if l.socket != nil {
		l.x = x
		l.stamps.look()
		if l.tls != nil {
			x.settle = l.settle
		}
		return l.socket.listen(l, ctx.Done(), x.done)
	}
	if err := l.under.SetDeadline(time.Time{}); err != nil {
		return err
	}
	l.x = x
	// A server may answer before it has read everything, and read no further; then the rest is not sent.
	x.settle = func() bool {
		_ = l.under.SetDeadline(time.Unix(1, 0))
		return l.tls == nil || l.settle()
	}
	go l.readAll(x)
	return nil
}

// write sends the request, or as much of it as the server wants.
func (l *link) write(ctx context.Context, request []byte) error {
	switch {
	case l.socket == nil:
		stop := context.AfterFunc(ctx, func() { _ = l.under.SetWriteDeadline(time.Unix(1, 0)) })
		_, err := l.conn.Write(request)
		if !stop() {
			return errInterrupted
		}
		if err != nil {
			return writeError(err)
		}
		return nil
	case l.tls == nil:
		return l.socket.send(request)
	}
	// TLS must not be held up, because the poller needs it to read: it writes into memory, a part at a time, and that is sent.
	for len(request) > 0 {
		part := request[:min(len(request), readBytes)]
		request = request[len(part):]
		if _, err := l.tls.Write(part); err != nil {
			return err
		}
		if err := l.socket.flush(); err != nil {
			return err
		}
	}
	return nil
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
	l.closed = true
	if l.socket == nil {
		_ = l.under.SetDeadline(time.Now().Add(time.Second)) // for the farewell of TLS
	}
	_ = l.conn.Close()
	if l.socket == nil && l.x != nil {
		<-l.x.done // its goroutine
	}
}

// readAll reads the connection on a goroutine of its own; the return of a read is the instant of arrival.
func (l *link) readAll(x *exchange) {
	buffer := make([]byte, readBytes)
	for !x.contained(func() (over bool) { return l.readOnce(x, buffer) }) {
	}
}

func (l *link) readOnce(x *exchange, buffer []byte) (over bool) {
	n, err := l.conn.Read(buffer)
	now := x.body.clock.Now()
	l.reads++
	if n > 0 && x.arrived(buffer[:n], arrival{at: now, now: now, read: l.reads}) {
		return true
	}
	if err != nil {
		x.ended(err)
	}
	return err != nil
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
	return l.x.contained(func() bool { return l.decrypted(p, a) })
}

// decrypted takes bytes of TLS.
func (l *link) decrypted(p []byte, a arrival) (over bool) {
	l.socket.fed = p
	plain := l.socket.plain
	for {
		n, err := l.tls.Read(plain)
		if n > 0 && l.x.arrived(plain[:n], a) {
			return true
		}
		switch {
		case err == nil:
		case errors.Is(err, errNoMore):
			return false
		default:
			l.x.ended(err)
			return true
		}
	}
}

// ended implements taker. TLS may make something else of the end.
func (l *link) ended(err error) {
	if l.tls == nil {
		l.x.ended(err)
		return
	}
	l.socket.fed, l.socket.failed = nil, err
	l.x.contained(func() bool {
		_, err := l.tls.Read(l.socket.plain)
		l.x.ended(err)
		return true
	})
}

// settle finds out whether TLS holds more than the answer that has just ended; then the connection cannot be used again.
func (l *link) settle() bool {
	var one [1]byte
	n, err := l.tls.Read(one[:])
	var timeout net.Error
	return n == 0 && errors.As(err, &timeout) && timeout.Timeout()
}

var (
	// errInterrupted tells that the rest of a request is not wanted any more.
	errInterrupted = errors.New("request was not read to its end")
	// errConnectionEnded tells that the server has ended the connection while the request was written.
	errConnectionEnded = errors.New("connection ended while the request was written")
)

// writeError marks an error of writing that reading will tell of too.
func writeError(err error) error {
	if isConnectionEnd(err) {
		return errors.Join(errConnectionEnded, err)
	}
	return err
}

// errNoMore tells TLS that what has arrived is used up. It is temporary, so that TLS goes on when there is more.
var errNoMore = temporary{}

type temporary struct{}

func (temporary) Error() string   { return "nothing more has arrived" }
func (temporary) Timeout() bool   { return true }
func (temporary) Temporary() bool { return true }
