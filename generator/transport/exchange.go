package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// arrival says when the bytes of a read reached this machine.
type arrival struct {
	at   int64 // the instant
	now  int64 // when they were handed over
	read int64 // number of the connection's read that brought them
}

// exchange is one request on a connection of ours and what comes back. Whoever reads the connection hands it what arrives, one call at a
// time; the goroutine of the request waits for done.
type exchange struct {
	body     *body
	response response
	timeline *metrics.Timeline
	last     arrival
	// settle is called when the exchange is over, before done: it ends what still goes on for it, and tells whether the connection holds
	// nothing more; nil = there is nothing to do.
	settle func() bool

	// What came of it, to be read after done.
	done     chan struct{} // closed when nothing more is wanted or will come
	end      int64         // when that was
	err      error
	clean    bool // the connection may serve another exchange
	panicked any
}

func newExchange(b *body, timeline *metrics.Timeline) *exchange {
	x := &exchange{body: b, timeline: timeline, done: make(chan struct{})}
	x.response.sink = x
	return x
}

// arrived takes the bytes of a read and tells whether the exchange is over.
func (x *exchange) arrived(p []byte, a arrival) (over bool) {
	a.at = max(a.at, x.timeline.Start, x.last.at)
	x.last = a
	if x.timeline.FirstByte == 0 {
		x.timeline.FirstByte = a.at
	}
	return x.guard(func() (bool, error) {
		over, err := x.response.write(p)
		if err == nil && x.response.stage == complete {
			err = x.body.end()
		}
		return over, err
	})
}

// ended tells that the connection will bring nothing more: io.EOF if the server has closed it.
func (x *exchange) ended(err error) {
	x.guard(func() (bool, error) {
		if !errors.Is(err, io.EOF) {
			x.response.reusable = false
			return true, fmt.Errorf("read answer: %w", err)
		}
		if err := x.response.end(); err != nil {
			return true, err
		}
		return true, x.body.end()
	})
}

// guard runs a step, and ends the exchange if that was the last one.
func (x *exchange) guard(step func() (over bool, err error)) (over bool) {
	return x.contained(func() bool {
		began := x.body.clock.Now()
		over, err := step()
		x.body.answer.DecodeTime += x.body.clock.Now() - began
		if over = over || err != nil; over {
			x.finish(x.body.judge(err))
		}
		return over
	})
}

// contained does something with bytes of the server. A panic ends the exchange, and is kept for the goroutine of the request: whoever reads serves others
// too.
func (x *exchange) contained(work func() (over bool)) (over bool) {
	defer func() {
		if cause := recover(); cause != nil {
			x.broken(cause)
			x.finish(nil)
			over = true
		}
	}()
	return work()
}

// broken notes a panic.
func (x *exchange) broken(cause any) {
	x.panicked = fmt.Sprintf("%v\n%s", cause, debug.Stack())
	x.response.reusable = false
}

// finish ends the exchange: a whole answer has ended when its last bytes arrived, a broken one when that is noticed.
func (x *exchange) finish(err error) {
	x.err, x.end = err, x.last.at
	if err != nil {
		x.end = x.body.clock.Now()
	}
	settled := x.settled()
	x.clean = settled && err == nil && x.response.reusable && x.response.stage == complete
	close(x.done)
}

// settled settles the exchange. What TLS still holds may have it panic too.
func (x *exchange) settled() (ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			x.broken(cause)
		}
	}()
	return x.settle == nil || x.settle()
}

// head implements responseSink.
func (x *exchange) head(status int, header http.Header) error {
	x.timeline.Header = x.last.at
	return x.body.begin(status, header, x.last.at)
}

// part implements responseSink.
func (x *exchange) part(p []byte) (enough bool, err error) {
	return x.body.write(p, x.last.at, x.last.read, x.last.now)
}
