//go:build linux && (amd64 || arm64)

package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket is a TCP connection that has been taken from the Go runtime, which would wake up for each segment. It is read by the poller,
// with the kernel's receive time (SO_TIMESTAMPNS), and written by the goroutine of its exchange.
type socket struct {
	net.Conn // closed: only its addresses are of use
	poller   *Poller
	fd       int       // -1 = closed
	oob      [8]uint64 // aligned as a header of the kernel is

	// For TLS: its reads take what the poller has read, and what it writes waits in memory to be sent.
	fed    []byte
	failed error
	plain  []byte // the poller's, for what TLS makes of it
	outMu  sync.Mutex
	out    []byte

	stamp int64 // of the read before, of the same exchange; 0 = none

	mu        sync.Mutex // guards taker, and fd against being closed while it is read
	taker     taker
	writable  chan struct{}
	cancelled <-chan struct{}
	answered  <-chan struct{}

	// Guarded by the poller.
	watched   uint32 // events; 0 = none yet
	forgotten bool
}

// stamp is a dialler's control function: it asks the kernel for stamps before the first segment can arrive. Where that is refused, the
// reads fall back.
func stamp(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
}

// adopt takes a connection over: afterwards only the socket may be used.
func (p *Poller) adopt(tcp *net.TCPConn) (*socket, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var refused error
	err = raw.Control(func(original uintptr) {
		fd, refused = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = errors.Join(err, refused); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	_ = tcp.Close() // the descriptor of the runtime; the connection goes on
	return &socket{Conn: tcp, fd: fd, poller: p, plain: p.plain, writable: make(chan struct{}, 1)}, nil
}

// listen has what arrives handed to the taker. Writing ends when one of the channels is closed.
func (s *socket) listen(t taker, cancelled, answered <-chan struct{}) error {
	s.mu.Lock()
	s.taker, s.cancelled, s.answered = t, cancelled, answered
	s.fed, s.failed = nil, nil
	s.mu.Unlock()
	return s.poller.watch(s, 0)
}

// maxReads bounds how much of one connection is read while others wait.
const maxReads = 16

// ready reads what has arrived.
func (s *socket) ready(flags uint32, buffer []byte) {
	if flags&unix.EPOLLOUT != 0 {
		select {
		case s.writable <- struct{}{}:
		default:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	const last = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	for range maxReads {
		if s.taker == nil || s.fd < 0 {
			return
		}
		n, err := s.receive(buffer)
		now := time.Now()
		switch {
		case errors.Is(err, unix.EAGAIN):
			return
		case err != nil:
			s.end(&net.OpError{Op: "read", Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: os.NewSyscallError("recvmsg", err)})
			return
		case n == 0:
			s.end(io.EOF)
			return
		}
		stamp := s.kernelWall()
		if s.stamp != 0 && stamp > s.stamp {
			s.poller.noteGap(time.Duration(stamp - s.stamp))
		}
		s.stamp = stamp
		if s.taker.arrived(buffer[:n], now, stamp) {
			s.taker, s.stamp = nil, 0
			return
		}
		if n < len(buffer) && flags&last == 0 {
			return // all that there was; what arrives from now on is told
		}
	}
	_ = s.poller.watch(s, 0) // others first; told again at once
}

func (s *socket) end(err error) {
	t := s.taker
	s.taker = nil
	t.ended(err)
}

// receive reads once. It does not block, so that the scheduler need not know.
func (s *socket) receive(p []byte) (int, error) {
	iov := unix.Iovec{Base: &p[0]}
	iov.SetLen(len(p))
	msg := unix.Msghdr{Iov: &iov, Iovlen: 1, Control: (*byte)(unsafe.Pointer(&s.oob[0]))}
	for {
		msg.SetControllen(int(unsafe.Sizeof(s.oob)))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&msg)), unix.MSG_DONTWAIT)
		switch errno {
		case 0:
			if msg.Controllen == 0 {
				s.oob[1] = 0
			}
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// kernelWall is the wall-clock instant in nanoseconds in the control message of the last read, 0 if there is none. The message is a
// header (16 bytes: length, level, type) and a struct timespec.
func (s *socket) kernelWall() int64 {
	header := (*unix.Cmsghdr)(unsafe.Pointer(&s.oob[0]))
	if header.Level != unix.SOL_SOCKET || header.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	return int64(s.oob[2])*1e9 + int64(s.oob[3])
}

// Read gives TLS what the poller has read.
func (s *socket) Read(p []byte) (int, error) {
	switch {
	case len(s.fed) > 0:
		n := copy(p, s.fed)
		s.fed = s.fed[n:]
		return n, nil
	case s.failed != nil:
		return 0, s.failed
	}
	return 0, errNoMore
}

// Write keeps what TLS writes until flush.
func (s *socket) Write(p []byte) (int, error) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	s.out = append(s.out, p...)
	return len(p), nil
}

// flush sends what TLS has written, unless the exchange ends before.
func (s *socket) flush() error {
	for {
		whole, err := s.tryFlush()
		if err != nil || whole {
			return err
		}
		if err = s.awaitWritable(); err != nil {
			return err
		}
	}
}

// tryFlush sends as much of what TLS has written as the socket takes.
func (s *socket) tryFlush() (whole bool, err error) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	n, err := s.trySend(s.out)
	s.out = s.out[:copy(s.out, s.out[n:])]
	return len(s.out) == 0, err
}

// send sends all of p, unless the exchange ends before.
func (s *socket) send(p []byte) error {
	for {
		n, err := s.trySend(p)
		if p = p[n:]; err != nil || len(p) == 0 {
			return err
		}
		if err = s.awaitWritable(); err != nil {
			return err
		}
	}
}

// trySend sends as much of p as the socket takes.
func (s *socket) trySend(p []byte) (sent int, err error) {
	for sent < len(p) {
		n, err := unix.SendmsgN(s.fd, p[sent:], nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch {
		case err == nil:
			sent += n
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return sent, nil
		default:
			op := &net.OpError{Op: "write", Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: os.NewSyscallError("sendmsg", err)}
			return sent, writeError(op)
		}
	}
	return sent, nil
}

func (s *socket) awaitWritable() error {
	s.poller.writers.Add(1) // which are not to wait for a quantum
	defer s.poller.writers.Add(-1)
	if err := s.poller.watch(s, unix.EPOLLOUT); err != nil {
		return err
	}
	select {
	case <-s.writable:
		return nil
	case <-s.cancelled:
	case <-s.answered:
	}
	return errInterrupted
}

// alive tells whether an idle connection can still be used.
func (s *socket) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fd >= 0 && nothingArrived(s.fd)
}

// Close ends the connection. After it returns the taker hears of nothing any more.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taker = nil
	if s.fd < 0 {
		return nil
	}
	_, _ = s.tryFlush() // the farewell of TLS
	s.poller.forget(s)
	err := unix.Close(s.fd)
	s.fd = -1 // the number may soon be that of another connection
	return os.NewSyscallError("close", err)
}

// SetDeadline implements net.Conn; what an exchange may take is watched elsewhere.
func (s *socket) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (s *socket) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (s *socket) SetWriteDeadline(time.Time) error { return nil }

// keepStamping opens a socket for which nothing will ever arrive but which asks for stamps. The kernel stamps arriving packets only while
// some socket asks, and starts and stops with a delay, by patching its own code. A request on a fresh connection would often get its
// answer first, and each would have the kernel patched twice. nil where it cannot be had, as then the stamps fall back.
func keepStamping() io.Closer {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	file := os.NewFile(uintptr(fd), "timestamps")
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		_ = file.Close()
		return nil
	}
	return file
}
