package transport

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// arrival says when the bytes of a read reached this machine.
type arrival struct {
	at     int64 // the instant
	now    int64 // when they were handed over
	read   int64 // number of the connection's read that brought them
	kernel bool  // the kernel has stamped them
}

// exchange is one request on a connection of ours and what comes back. Whoever reads the connection hands it what arrives, one call at a
// time; the goroutine of the request waits for done.
type exchange struct {
	body     *body
	response response
	timeline *metrics.Timeline
	last     arrival
	// interrupt ends the writing of the request, which is not wanted any more; nil = that happens by done.
	interrupt func()
	done      chan struct{} // closed when nothing more is wanted or will come
	end       int64         // when that was
	err       error
	panicked  any
}

// arrived takes the bytes of a read and tells whether the exchange is over.
func (x *exchange) arrived(p []byte, a arrival) (over bool) {
	defer func() {
		// It is thrown again where the exchange is waited for: whoever reads serves others too.
		if cause := recover(); cause != nil {
			x.panicked = fmt.Sprintf("%v\n%s", cause, debug.Stack())
			over = x.finish(nil)
		}
	}()
	a.at = max(a.at, x.timeline.Start, x.last.at)
	x.last = a
	if x.timeline.FirstByte == 0 {
		x.timeline.FirstByte = a.at
	}
	over, err := x.response.write(p)
	x.body.answer.DecodeTime += x.body.clock.Now() - a.now
	if err != nil {
		return x.finish(x.body.judge(err))
	}
	if !over {
		return false
	}
	if x.response.stage == complete {
		err = x.body.end()
	}
	return x.finish(err)
}

// ended tells that the connection will bring nothing more: io.EOF if the server has closed it.
func (x *exchange) ended(err error, eof bool) {
	if !eof {
		x.finish(x.body.judge(fmt.Errorf("read answer: %w", err)))
		return
	}
	if err = x.response.end(); err == nil {
		err = x.body.end()
	}
	x.finish(x.body.judge(err))
}

// finish ends the exchange: a whole answer has ended when its last bytes arrived, a broken one when that is noticed.
func (x *exchange) finish(err error) bool {
	x.err, x.end = err, x.last.at
	if err != nil || x.response.stage == inRest {
		x.end = x.body.clock.Now()
	}
	if x.interrupt != nil {
		x.interrupt()
	}
	close(x.done)
	return true
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
