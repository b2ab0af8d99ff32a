//go:build e2e

package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
)

// link is a way for TCP to an address that can be cut.
type link struct {
	address, to string
	listener    net.Listener

	mu    sync.Mutex
	state linkState
	conns map[net.Conn]bool // of clients
}

type linkState int

const (
	open     linkState = iota
	resets             // whoever writes is thrown out
	swallows           // nothing that is written arrives, and nobody is told
)

func startLink(t *testing.T, to string) *link {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{address: listener.Addr().String(), to: to, listener: listener, conns: map[net.Conn]bool{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { l.serve(client) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.reset()
		serving.Wait()
	})
	return l
}

// put changes the state. What had arrived before still gets its answer, so that it is never in doubt whether a request did.
func (l *link) put(state linkState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
}

// reset ends all connections.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.Close()
	}
}

func (l *link) serve(client net.Conn) {
	l.mu.Lock()
	l.conns[client] = true
	l.mu.Unlock()
	defer func() {
		client.Close()
		l.mu.Lock()
		delete(l.conns, client)
		l.mu.Unlock()
	}()
	if tcp, ok := client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // closed means reset; if it cannot be, it is closed in peace
	}
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server) // until one of them is closed
		client.Close()
	})
	_, _ = io.Copy(gate{l, server}, client)
	server.Close()
	back.Wait()
}

// gate is where a link is cut.
type gate struct {
	l  *link
	to io.Writer
}

func (g gate) Write(p []byte) (int, error) {
	g.l.mu.Lock()
	state := g.l.state
	g.l.mu.Unlock()
	switch state {
	case resets:
		return 0, io.ErrClosedPipe
	case swallows:
		return len(p), nil
	case open:
	}
	return g.to.Write(p)
}
