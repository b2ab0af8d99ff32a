package transport

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// idleLink is a connection that nobody uses.
func idleLink(t *testing.T, origin string) *link {
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
	l := &link{key: linkKey{origin: origin}, under: &lower{conn}}
	l.conn = l.under
	return l
}

func TestThePoolGivesTheConnectionThatWasUsedLast(t *testing.T) {
	t.Parallel()
	var p pool
	defer p.close()
	first, second, elsewhere := idleLink(t, "a"), idleLink(t, "a"), idleLink(t, "b")
	p.put(first)
	p.put(second)
	p.put(elsewhere)
	for _, want := range []*link{second, first, nil} {
		if got := p.take(linkKey{origin: "a"}); got != want {
			t.Errorf("got %p, want %p", got, want)
		}
	}
	if p.take(linkKey{origin: "b"}) != elsewhere {
		t.Error("the connection to another server is gone")
	}
}

func TestAConnectionThatIsIdleForTooLongIsClosed(t *testing.T) {
	t.Parallel()
	var p pool
	defer p.close()
	l := idleLink(t, "a")
	p.put(l)
	p.expire(l)
	if got := p.take(linkKey{origin: "a"}); got != nil {
		t.Error("an expired connection is given")
	}
	if _, err := l.conn.Write([]byte("x")); err == nil {
		t.Error("an expired connection is open")
	}
	taken := idleLink(t, "a")
	p.put(taken)
	p.take(linkKey{origin: "a"})
	p.expire(taken) // the timer had fired already
	if _, err := taken.conn.Write([]byte("x")); err != nil {
		t.Errorf("a connection in use was closed: %v", err)
	}
}

func TestAConnectionIsKeptForNoLongerThanItMayBeUsed(t *testing.T) {
	t.Parallel()
	clock := metrics.NewSystemClock()
	p := pool{clock: clock, maxAge: time.Hour}
	defer p.close()
	young, old := idleLink(t, "a"), idleLink(t, "a")
	young.opened, old.opened = clock.Now()-int64(time.Minute), clock.Now()-int64(time.Hour)
	if left := p.left(young); left != idleTimeout {
		t.Errorf("%v left, want all of the idle time", left)
	}
	aged := &link{opened: clock.Now() - int64(57*time.Minute)}
	if left := p.left(aged); left <= 0 || left > 3*time.Minute {
		t.Errorf("%v left, want what is left of the hour", left)
	}
	p.put(old)
	if _, err := old.conn.Write([]byte("x")); err == nil {
		t.Error("a connection that is too old is kept")
	}
	p.put(young)
	young.opened = old.opened // an hour has passed, and the timer is late
	if p.take(linkKey{origin: "a"}) != nil {
		t.Error("a connection that has become too old is given")
	}
	if _, err := young.conn.Write([]byte("x")); err == nil {
		t.Error("a connection that has become too old is open")
	}
}

func TestAClosedPoolKeepsNothing(t *testing.T) {
	t.Parallel()
	var p pool
	before, after := idleLink(t, "a"), idleLink(t, "a")
	p.put(before)
	p.close()
	p.put(after)
	for _, l := range []*link{before, after} {
		if _, err := l.conn.Write([]byte("x")); err == nil {
			t.Error("a connection is open")
		}
	}
	if p.take(linkKey{origin: "a"}) != nil {
		t.Error("a connection is given")
	}
}
