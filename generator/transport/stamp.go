package transport

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// maxDrift is how far the wall clock may have moved against the monotonic one between two reads of an exchange before it must have been
// set: slewing stays far below.
const maxDrift = 20 * time.Millisecond

// mark says of a part of the bytes that a read of the body gave when they arrived.
type mark struct {
	end  int   // behind the part's last byte, counted from the beginning of the read
	at   int64 // nanoseconds since the process epoch
	read int64 // number of the connection's read that brought the part
}

// stamps notes when the bytes of one exchange reached this machine. The connection notes each of its reads; the exchange asks after each
// read of the body. Usually one stands for the other, but not in a chunked body: with a chunk begun and its data not there yet, net/http
// goes back to the connection although it has bytes to give, and what arrived first would get the stamp of what came last. So the bytes
// that are there when the connection is about to be read again are marked with the stamp they have.
//
// How many those are nobody tells. It is seen from the slice that net/http fills: it was zero before, and text has no zero bytes. An
// answer that has some gets the later stamp.
type stamps struct {
	clock *metrics.SystemClock

	// The lock is for the connection's next reader, which may wait for the next exchange's answer before this one has let go.
	mu        sync.Mutex
	kernel    bool  // the connection notes its reads
	offset    int64 // of the wall clock from the monotonic one, at the last look
	at        int64 // arrival of the last read's last segment, 0 = nothing read yet
	read      int64 // number of reads
	delay     int64 // longest time from arrival to the return of the read
	fallbacks int64 // reads whose kernel stamp was missing or impossible
	body      []byte
	marks     []mark
	room      [4]mark // so that usual bodies allocate none
}

// newStamps looks at the clocks for the first time.
func newStamps(clock *metrics.SystemClock) *stamps {
	now := time.Now()
	return &stamps{clock: clock, offset: now.UnixNano() - clock.At(now)}
}

// ofKernel tells that the connection notes its reads.
func (s *stamps) ofKernel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kernel = true
}

// note records a read of the connection that returned at now and whose last segment reached the socket at the wall-clock instant
// kernelWall, 0 = unknown.
//
// The translation to the monotonic epoch uses no offset between the clocks that could be out of date: now holds one reading of both, taken
// together, so the time in the kernel is a difference of two wall-clock instants and is taken off the monotonic one. It may be long, when
// this process was stopped; only if the wall clock was set since the last look is it worth nothing.
func (s *stamps) note(now time.Time, kernelWall int64) {
	s.record(s.clock.At(now), now.UnixNano(), kernelWall)
}

// record is note with the two readings of the clocks apart.
func (s *stamps) record(mono, wall, kernelWall int64) {
	offset, delay := wall-mono, wall-kernelWall
	s.mu.Lock()
	defer s.mu.Unlock()
	drift := time.Duration(offset - s.offset)
	s.offset = offset
	if kernelWall == 0 || delay < 0 || drift.Abs() > maxDrift {
		delay = 0
		s.fallbacks++
	}
	// A later read never brings earlier bytes, whatever was done to the wall clock.
	s.at = max(s.at, mono-delay)
	s.delay = max(s.delay, delay)
	s.read++
}

// waiting tells that the connection is about to be read.
func (s *stamps) waiting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.body == nil {
		return
	}
	begin := 0
	if n := len(s.marks); n > 0 {
		begin = s.marks[n-1].end
	}
	filled := bytes.IndexByte(s.body[begin:], 0)
	if filled < 0 {
		filled = len(s.body) - begin
	}
	if filled > 0 {
		s.marks = append(s.marks, mark{begin + filled, s.at, s.read})
	}
}

// begin tells that a read of the body will fill p, which is zero.
func (s *stamps) begin(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.body = p
	if s.marks == nil {
		s.marks = s.room[:0]
	}
	s.marks = s.marks[:0]
}

// end tells that the read of the body gave n bytes at the instant now, and returns their marks, valid until the next begin.
func (s *stamps) end(n int, now int64) []mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.body = nil
	if !s.kernel {
		s.at = now
		s.read++
	}
	if marked := len(s.marks); n > 0 && (marked == 0 || s.marks[marked-1].end < n) {
		s.marks = append(s.marks, mark{n, s.at, s.read})
	}
	return s.marks
}

// arrival is the instant at which the bytes read last reached this machine; now, where the connection does not tell.
func (s *stamps) arrival() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == 0 {
		return s.clock.Now()
	}
	return s.at
}

// tell reports how the stamps came about.
func (s *stamps) tell(answer *Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer.KernelStamps, answer.StampFallbacks, answer.KernelDelay = s.kernel, s.fallbacks, s.delay
}

// stampSlot is where a stamped connection finds the stamps of the exchange that it serves; nil between exchanges.
type stampSlot = atomic.Pointer[stamps]

// stampedAddr lets a stamped connection be found again under the wrappers that TLS and connection tracking put around it: they all
// hand through LocalAddr.
type stampedAddr struct {
	net.Addr
	slot *stampSlot
}

// slotOf finds the slot of a connection; nil if it is not stamped.
func slotOf(conn net.Conn) *stampSlot {
	if addr, ok := conn.LocalAddr().(stampedAddr); ok {
		return addr.slot
	}
	return nil
}
