package transport

import (
	"slices"
	"sync"
	"time"
)

// idleTimeout is how long a connection is kept without a request.
const idleTimeout = 5 * time.Minute

// pool holds the idle connections of a client. The one that was used last is taken first.
type pool struct {
	mu     sync.Mutex
	idle   map[linkKey][]*link
	closed bool
}

// take gives an idle connection that the server has not closed; nil = there is none.
func (p *pool) take(key linkKey) *link {
	for {
		l := p.pop(key)
		if l == nil || l.alive() {
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

// put keeps a connection until it is taken or idleTimeout is over.
func (p *pool) put(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.close()
		return
	}
	if p.idle == nil {
		p.idle = map[linkKey][]*link{}
	}
	p.idle[l.key] = append(p.idle[l.key], l)
	l.expiry = time.AfterFunc(idleTimeout, func() { p.expire(l) })
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
