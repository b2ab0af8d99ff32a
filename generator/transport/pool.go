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
	idle   map[string][]*link // by origin
	closed bool
}

// take gives an idle connection that the server has not closed; nil = there is none.
func (p *pool) take(origin string) *link {
	for {
		l := p.pop(origin)
		if l == nil || l.alive() {
			return l
		}
		l.close()
	}
}

func (p *pool) pop(origin string) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := p.idle[origin]
	if len(links) == 0 {
		return nil
	}
	l := links[len(links)-1]
	links[len(links)-1] = nil
	p.idle[origin] = links[:len(links)-1]
	l.expiry.Stop()
	return l
}

// put keeps a connection until it is taken or idleTimeout is over.
func (p *pool) put(origin string, l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.close()
		return
	}
	if p.idle == nil {
		p.idle = map[string][]*link{}
	}
	p.idle[origin] = append(p.idle[origin], l)
	l.expiry = time.AfterFunc(idleTimeout, func() { p.expire(origin, l) })
}

func (p *pool) expire(origin string, l *link) {
	p.mu.Lock()
	at := slices.Index(p.idle[origin], l)
	if at >= 0 {
		p.idle[origin] = slices.Delete(p.idle[origin], at, at+1)
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
