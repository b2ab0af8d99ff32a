package transport

import (
	"slices"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// idleTimeout is how long a connection is kept without a request.
const idleTimeout = 5 * time.Minute

// pool holds the idle connections of a client. The one that was used last is taken first.
type pool struct {
	clock  *metrics.SystemClock
	maxAge time.Duration // of a connection that is to be used again; 0 = any

	mu     sync.Mutex
	idle   map[linkKey][]*link
	closed bool
}

// left is how long an idle connection may still be kept.
func (p *pool) left(l *link) time.Duration {
	if p.maxAge == 0 {
		return idleTimeout
	}
	return min(idleTimeout, p.maxAge-time.Duration(p.clock.Now()-l.opened))
}

// take gives an idle connection that is not too old and that the server has not closed; nil = there is none.
func (p *pool) take(key linkKey) *link {
	for {
		l := p.pop(key)
		if l == nil || p.left(l) > 0 && l.alive() {
			return l
		}
		l.close()
	}
}

func (p *pool) pop(key linkKey) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := p.idle[key]
	if len(links) == 0 {
		return nil
	}
	l := links[len(links)-1]
	links[len(links)-1] = nil
	p.idle[key] = links[:len(links)-1]
	l.expiry.Stop()
	return l
}

// put keeps a connection until it is taken or its time is over.
func (p *pool) put(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.left(l)
	if p.closed || left <= 0 {
		l.close()
		return
	}
	if p.idle == nil {
		p.idle = map[linkKey][]*link{}
	}
	p.idle[l.key] = append(p.idle[l.key], l)
	l.expiry = time.AfterFunc(left, func() { p.expire(l) })
}

func (p *pool) expire(l *link) {
	p.mu.Lock()
	at := slices.Index(p.idle[l.key], l)
	if at >= 0 {
		p.idle[l.key] = slices.Delete(p.idle[l.key], at, at+1)
	}
	p.mu.Unlock()
	if at >= 0 {
		l.close()
	}
}

// close ends all idle connections, and those that become idle later.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, links := range p.idle {
		for _, l := range links {
			l.expiry.Stop()
			l.close()
		}
	}
	p.idle = nil
}
