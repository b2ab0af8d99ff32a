package transport

import (
	"net/http"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// renewal holds the connections that net/http keeps. Their age cannot be limited there, so they are replaced, all together: no request
// begins on one that is older than maxAge.
type renewal struct {
	open   func() (http.RoundTripper, error)
	clock  *metrics.SystemClock
	maxAge time.Duration // 0 = they stay

	mu      sync.Mutex
	current *batch
	closed  bool
}

// batch are connections of which none was opened before an instant.
type batch struct {
	http.RoundTripper
	since   int64
	users   int  // requests under way
	retired bool // no more requests will come
}

// take gives the connections for one request, which must give them back when it is over.
func (r *renewal) take() (*batch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if b := r.current; r.maxAge == 0 || now-b.since < int64(r.maxAge) {
		b.users++
		return b, nil
	}
	if err := r.renew(now); err != nil {
		return nil, err
	}
	r.current.users++
	return r.current, nil
}

// begin makes the first connections possible; files of certificates that cannot be read are errors.
func (r *renewal) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.renew(r.clock.Now())
}

// renew puts new connections in the place of the present ones. r.mu is held.
func (r *renewal) renew(now int64) error {
	opened, err := r.open()
	if err != nil {
		return err
	}
	r.retire()
	r.current = &batch{RoundTripper: opened, since: now, retired: r.closed}
	return nil
}

// give takes the connections back after a request.
func (r *renewal) give(b *batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b.users--; b.users == 0 && b.retired {
		closeIdle(b.RoundTripper)
	}
}

// close ends all idle connections, and those that become idle later.
func (r *renewal) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.retire()
}

// retire ends the connections that are idle, if there are any yet. r.mu is held.
func (r *renewal) retire() {
	if r.current != nil {
		r.current.retired = true
		closeIdle(r.current.RoundTripper)
	}
}

func closeIdle(connections http.RoundTripper) {
	if closer, ok := connections.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
