package transport

import (
	"bytes"
	"errors"
	"sync"
)

// errPayloadReleased is what net/http sees of a request body that it still sends when the exchange has ended.
var errPayloadReleased = errors.New("exchange has ended")

// payload is the body of one request as net/http sends it. Its bytes are the caller's, who takes them back when Do returns; but net/http
// may go on sending them on a goroutine of its own, e.g. when the server has refused the request without reading it. So they are
// released first.
//
// It has no other methods, so that net/http cannot send it a second time on its own: one arrival is one request.
type payload struct {
	mu       sync.Mutex
	bytes    bytes.Reader
	released bool
}

func newPayload(p []byte) *payload {
	body := &payload{}
	body.bytes.Reset(p)
	return body
}

// Read implements io.Reader.
func (p *payload) Read(into []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released {
		return 0, errPayloadReleased
	}
	return p.bytes.Read(into)
}

// Close implements io.Closer.
func (p *payload) Close() error { return nil }

func (p *payload) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released = true
	p.bytes.Reset(nil)
}
