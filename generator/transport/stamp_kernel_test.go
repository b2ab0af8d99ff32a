//go:build linux && (amd64 || arm64)

package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// tcpPair is a connection to this process itself.
func tcpPair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	return conn.(*net.TCPConn), other.(*net.TCPConn)
}

func TestAStampedConnectionReadsLikeAnyOther(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		prepare func(t *testing.T, client net.Conn, server *net.TCPConn)
		into    int
		want    string
		err     error
		timeout bool
	}{
		{"bytes that are there", func(_ *testing.T, _ net.Conn, server *net.TCPConn) { _, _ = server.Write([]byte("abc")) }, 10, "abc", nil, false},
		{"more than fit", func(_ *testing.T, _ net.Conn, server *net.TCPConn) { _, _ = server.Write([]byte("abc")) }, 2, "ab", nil, false},
		{"bytes that come later", func(_ *testing.T, _ net.Conn, server *net.TCPConn) {
			time.AfterFunc(10*time.Millisecond, func() { _, _ = server.Write([]byte("late")) })
		}, 10, "late", nil, false},
		{"nothing asked for", func(*testing.T, net.Conn, *net.TCPConn) {}, 0, "", nil, false},
		{"the other side has closed", func(_ *testing.T, _ net.Conn, server *net.TCPConn) { _ = server.Close() }, 10, "", io.EOF, false},
		{"the other side has reset", func(t *testing.T, client net.Conn, server *net.TCPConn) {
			t.Helper()
			_, _ = client.Write([]byte("unread"))
			_ = server.SetLinger(0)
			_ = server.Close()
		}, 10, "", syscall.ECONNRESET, false},
		{"closed before", func(_ *testing.T, client net.Conn, _ *net.TCPConn) { _ = client.Close() }, 10, "", net.ErrClosed, false},
		{"closed while waiting", func(_ *testing.T, client net.Conn, _ *net.TCPConn) {
			time.AfterFunc(10*time.Millisecond, func() { _ = client.Close() })
		}, 10, "", net.ErrClosed, false},
		{"past the deadline before", func(_ *testing.T, client net.Conn, _ *net.TCPConn) {
			_ = client.SetReadDeadline(time.Now().Add(-time.Second))
		}, 10, "", os.ErrDeadlineExceeded, true},
		{"past the deadline while waiting", func(_ *testing.T, client net.Conn, _ *net.TCPConn) {
			_ = client.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		}, 10, "", os.ErrDeadlineExceeded, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tcp, server := tcpPair(t)
			client := stamped(tcp)
			s := newStamps(metrics.NewSystemClock())
			s.kernel = true
			slotOf(client).Store(s)
			tt.prepare(t, client, server)
			p := make([]byte, tt.into)
			n, err := client.Read(p)
			if string(p[:n]) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("read %q, %v, want %q, %v", p[:n], err, tt.want, tt.err)
			}
			var timeout net.Error
			if got := errors.As(err, &timeout) && timeout.Timeout(); got != tt.timeout {
				t.Errorf("timeout %v, want %v", got, tt.timeout)
			}
			// net/http and the classes look at the form of the error.
			var op *net.OpError
			if err != nil && !errors.Is(err, io.EOF) && (!errors.As(err, &op) || op.Op != "read" || !strings.HasPrefix(err.Error(), "read tcp ")) {
				t.Errorf("error %v, want a *net.OpError of a read", err)
			}
			if want := min(n, 1); s.read != int64(want) {
				t.Errorf("%d reads noted, want %d", s.read, want)
			}
		})
	}
}

func TestReadsOutsideAnExchangeAreNotNoted(t *testing.T) {
	t.Parallel()
	tcp, server := tcpPair(t)
	client := stamped(tcp)
	p := make([]byte, 10)
	read := func() {
		t.Helper()
		if _, err := server.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(p); err != nil {
			t.Fatal(err)
		}
	}
	read() // a handshake
	first, second := newStamps(metrics.NewSystemClock()), newStamps(metrics.NewSystemClock())
	slotOf(client).Store(first)
	read()
	slotOf(client).Store(second)
	read()
	read()
	slotOf(client).Store(nil)
	read()
	if first.read != 1 || second.read != 2 {
		t.Errorf("reads noted for two exchanges: %d and %d, want 1 and 2", first.read, second.read)
	}
}

func TestAConnectionThatIsNotTCPIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := stamped(conn); got != conn {
		t.Errorf("a unix socket became a %T", got)
	}
	tcp, _ := tcpPair(t)
	_ = tcp.Close()
	if got := stamped(tcp); got != net.Conn(tcp) {
		t.Errorf("a socket that refuses the option became a %T", got)
	}
}

func TestAReadAllocatesNothing(t *testing.T) {
	tcp, server := tcpPair(t)
	client := stamped(tcp)
	s := newStamps(metrics.NewSystemClock())
	s.kernel = true
	slotOf(client).Store(s)
	p, x := make([]byte, 10), []byte("x")
	body := make([]byte, 10)
	got := testing.AllocsPerRun(100, func() {
		_, _ = server.Write(x)
		s.begin(body)
		_, _ = client.Read(p)
		s.end(1, 1)
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
