package transport

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// maxKernelDelay is how long bytes may plausibly lie in the kernel before they are read. A larger or a negative difference means that
// the wall clock was set in between.
const maxKernelDelay = time.Second

// stamps holds when the last bytes of a connection arrived. It is written by whoever reads the connection and read by whoever got the
// bytes, one after the other; the fields are atomic because a pooled connection may already be read for its next request.
type stamps struct {
	clock     *metrics.SystemClock
	at        atomic.Int64 // arrival of the last read's last segment
	delay     atomic.Int64 // from arrival to the return of the read
	read      atomic.Int64 // number of reads
	fallbacks atomic.Int64 // reads whose kernel stamp was missing or impossible
}

// note records a read that returned at now and whose last segment reached the socket at the wall-clock instant kernelWall, 0 = unknown.
//
// The translation to the monotonic epoch needs no stored offset between the clocks: now holds one reading of both, taken together, so
// the time in the kernel is a difference of two wall-clock instants that are at most a second apart, and is taken off the monotonic one.
func (s *stamps) note(now time.Time, kernelWall int64) {
	at := s.clock.At(now)
	delay := now.UnixNano() - kernelWall
	if kernelWall == 0 || delay < 0 || delay > int64(maxKernelDelay) {
		delay = 0
		s.fallbacks.Add(1)
	}
	s.at.Store(at - delay)
	s.delay.Store(delay)
	s.read.Add(1)
}

// stampedAddr lets a stamped connection be found again under the wrappers that TLS and connection tracking put around it: they all
// hand through LocalAddr.
type stampedAddr struct {
	net.Addr
	stamps *stamps
}

// stampsOf finds the stamps of a connection; nil if it is not stamped.
func stampsOf(conn net.Conn) *stamps {
	if addr, ok := conn.LocalAddr().(stampedAddr); ok {
		return addr.stamps
	}
	return nil
}
