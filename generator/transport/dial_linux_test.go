package transport_test

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// unanswering is an address of this machine on which connecting takes for ever: the queue of those to be accepted is full.
func unanswering(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err = unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: portOf(bound)}).String()
	// One that is not answered may be the doing of a machine that stands still.
	for unanswered := 0; unanswered < 4; {
		dialer := net.Dialer{Timeout: 100 * time.Millisecond}
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			unanswered++
			continue
		}
		unanswered = 0
		t.Cleanup(func() { _ = conn.Close() })
	}
	return address
}

// net/http goes on dialling when the request has given up. It counts what the whole process holds, so it does not run beside others.
func TestDialsThatNobodyWaitsForEnd(t *testing.T) {
	address := unanswering(t)
	for _, reuse := range []transport.Reuse{transport.Fresh, transport.KeepAlive} {
		client := newClient(t, func(c *transport.Config) {
			c.Reuse = reuse
			c.Timeouts.Connect = 50 * time.Millisecond
		})
		goroutines, descriptors := goleak.IgnoreCurrent(), openDescriptors(t)
		for range 20 {
			if r := do(t, client, "http://"+address); r.Class != metrics.ErrTimeoutConnect || r.ConnObtained {
				t.Errorf("class %q (%v), want %q", r.Class, r.Err, metrics.ErrTimeoutConnect)
			}
		}
		goleak.VerifyNone(t, goroutines) // tries for a second, the system for two minutes
		if got := openDescriptors(t); got > descriptors {
			t.Errorf("%s: %d descriptors, %d before", reuse, got, descriptors)
		}
	}
}

// A failure between connecting and listening leaves nothing open.
func TestAFailedHandshakeLeavesNothingBehind(t *testing.T) {
	client := newClient(t)
	url := strings.Replace(serve(t, func(p *peer) { p.send("this is no TLS\r\n") }), "http:", "https:", 1)
	do(t, client, url)
	before := openDescriptors(t)
	for range 20 {
		if r := do(t, client, url); r.Class != metrics.ErrTLS {
			t.Errorf("class %q (%v), want %q", r.Class, r.Err, metrics.ErrTLS)
		}
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for range 3000 {
		if openDescriptors(t) <= before {
			return
		}
		<-again.C // the server's own end may still be closing
	}
	t.Errorf("%d descriptors, %d before", openDescriptors(t), before)
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
