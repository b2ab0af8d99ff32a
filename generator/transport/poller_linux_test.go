//go:build amd64 || arm64

package transport

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// taking keeps what arrives.
type taking struct {
	mu      sync.Mutex
	got     bytes.Buffer
	reads   int
	stamped int
	enough  int // bytes after which it is over, 0 = never
	over    chan struct{}
	err     error
}

func (k *taking) arrived(p []byte, _ time.Time, kernelWall int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.got.Write(p)
	k.reads++
	if kernelWall != 0 {
		k.stamped++
	}
	if k.enough > 0 && k.got.Len() >= k.enough {
		close(k.over)
		return true
	}
	return false
}

func (k *taking) ended(err error) {
	k.err = err
	close(k.over)
}

// adopted is a connection in the hands of a poller, and its other end.
func adopted(t *testing.T, p *Poller) (*socket, net.Conn) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := (&net.Dialer{Control: stamp}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.adopt(conn.(*net.TCPConn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		_ = other.Close()
	})
	return s, other
}

func newPoller(t *testing.T) *Poller {
	t.Helper()
	p, err := NewPoller(metrics.NewSystemClock())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestThePollerGivesWhatArrivesWheneverItDoes(t *testing.T) {
	t.Parallel()
	p := newPoller(t)
	defer p.Close()
	text := strings.Repeat("0123456789", 100_000) // more than all reads that one socket gets at a time
	for name, write := range map[string]func(other net.Conn, listen func()){
		"after it is asked for": func(other net.Conn, listen func()) {
			listen()
			_, _ = io.WriteString(other, text)
			_ = other.Close()
		},
		"before it is asked for": func(other net.Conn, listen func()) {
			_, _ = io.WriteString(other, text[:100])
			listen()
			_, _ = io.WriteString(other, text[100:])
			_ = other.Close()
		},
	} {
		s, other := adopted(t, p)
		k := &taking{over: make(chan struct{})}
		write(other, func() {
			if err := s.listen(k, nil, k.over); err != nil {
				t.Error(err)
			}
		})
		<-k.over
		if !errors.Is(k.err, io.EOF) || k.got.String() != text {
			t.Errorf("%s: %d bytes, then %v, want %d and EOF", name, k.got.Len(), k.err, len(text))
		}
	}
}

func TestAfterTheEndOfAnExchangeItHearsOfNothing(t *testing.T) {
	t.Parallel()
	p := newPoller(t)
	defer p.Close()
	s, other := adopted(t, p)
	first, second := &taking{over: make(chan struct{}), enough: 1}, &taking{over: make(chan struct{}), enough: 1}
	for i, k := range []*taking{first, second} {
		if err := s.listen(k, nil, k.over); err != nil {
			t.Fatal(err)
		}
		_, _ = other.Write([]byte{'a' + byte(i)})
		<-k.over
	}
	if first.got.String() != "a" || second.got.String() != "b" {
		t.Errorf("got %q and %q, want a and b", first.got.String(), second.got.String())
	}
	if !s.alive() {
		t.Error("the connection is not alive")
	}
	_ = other.Close()
	closed := make([]byte, 1)
	for s.alive() { // until the end has arrived
		_, _ = other.Read(closed)
	}
}

func TestAResetIsToldAsAnError(t *testing.T) {
	t.Parallel()
	p := newPoller(t)
	defer p.Close()
	s, other := adopted(t, p)
	k := &taking{over: make(chan struct{})}
	if err := s.listen(k, nil, k.over); err != nil {
		t.Fatal(err)
	}
	_ = other.(*net.TCPConn).SetLinger(0)
	_ = other.Close()
	<-k.over
	var op *net.OpError
	if !errors.As(k.err, &op) || op.Op != "read" {
		t.Errorf("got %v, want an error of reading", k.err)
	}
}

func TestWritingEndsWithTheExchange(t *testing.T) {
	t.Parallel()
	p := newPoller(t)
	defer p.Close()
	for _, name := range []string{"cancelled", "answered"} {
		s, _ := adopted(t, p)
		cancelled, k := make(chan struct{}), &taking{over: make(chan struct{})}
		if err := s.listen(k, cancelled, k.over); err != nil {
			t.Fatal(err)
		}
		if name == "cancelled" {
			time.AfterFunc(10*time.Millisecond, func() { close(cancelled) })
		} else {
			time.AfterFunc(10*time.Millisecond, func() { close(k.over) })
		}
		if err := s.send(make([]byte, 64<<20)); !errors.Is(err, errInterrupted) {
			t.Errorf("%s: %v, want an interruption", name, err)
		}
		_ = s.Close()
	}
}

// The number of a closed descriptor is soon that of another connection.
func TestAClosedSocketTouchesNothing(t *testing.T) {
	t.Parallel()
	p := newPoller(t)
	defer p.Close()
	s, _ := adopted(t, p)
	if err := s.listen(&taking{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if s.alive() {
		t.Error("it is alive")
	}
	if err := s.listen(&taking{}, nil, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("listening: %v, want an error that it is closed", err)
	}
	if err := s.send([]byte("x")); err == nil {
		t.Error("it can be written to")
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing it again: %v", err)
	}
}

func TestAClosedPollerWatchesNothing(t *testing.T) {
	t.Parallel()
	p := newPoller(t)
	s, _ := adopted(t, p)
	p.Close()
	if err := s.listen(&taking{}, nil, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want an error that it is closed", err)
	}
}
