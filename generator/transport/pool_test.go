package transport

import (
	"context"
	"net"
	"testing"
)

// idleLink is a connection that nobody uses.
func idleLink(t *testing.T) *link {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(t.Context(), func() { _ = other.Close() })
	l := &link{under: &lower{conn}}
	l.conn = l.under
	return l
}

func TestThePoolGivesTheConnectionThatWasUsedLast(t *testing.T) {
	t.Parallel()
	var p pool
	defer p.close()
	first, second, elsewhere := idleLink(t), idleLink(t), idleLink(t)
	p.put("a", first)
	p.put("a", second)
	p.put("b", elsewhere)
	for _, want := range []*link{second, first, nil} {
		if got := p.take("a"); got != want {
			t.Errorf("got %p, want %p", got, want)
		}
	}
	if p.take("b") != elsewhere {
		t.Error("the connection to another server is gone")
	}
}

func TestAConnectionThatIsIdleForTooLongIsClosed(t *testing.T) {
	t.Parallel()
	var p pool
	defer p.close()
	l := idleLink(t)
	p.put("a", l)
	p.expire("a", l)
	if got := p.take("a"); got != nil {
		t.Error("an expired connection is given")
	}
	if _, err := l.conn.Write([]byte("x")); err == nil {
		t.Error("an expired connection is open")
	}
	taken := idleLink(t)
	p.put("a", taken)
	p.take("a")
	p.expire("a", taken) // the timer had fired already
	if _, err := taken.conn.Write([]byte("x")); err != nil {
		t.Errorf("a connection in use was closed: %v", err)
	}
}

func TestAClosedPoolKeepsNothing(t *testing.T) {
	t.Parallel()
	var p pool
	before, after := idleLink(t), idleLink(t)
	p.put("a", before)
	p.close()
	p.put("a", after)
	for _, l := range []*link{before, after} {
		if _, err := l.conn.Write([]byte("x")); err == nil {
			t.Error("a connection is open")
		}
	}
	if p.take("a") != nil {
		t.Error("a connection is given")
	}
}
