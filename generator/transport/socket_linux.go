//go:build linux && (amd64 || arm64)

package transport

import (
	"encoding/binary"
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

// errInterrupted tells that the rest of a request is not wanted any more.
var errInterrupted = errors.New("request was not read to its end")

// socket is a TCP connection that has been taken from the Go runtime, which would wake up for each segment. It is read by the poller,
// with the kernel's receive time (SO_TIMESTAMPNS), and written by the goroutine of its exchange.
type socket struct {
	net.Conn // closed: only its addresses are of use
	fd       int
	poller   *Poller
	oob      [64]byte

	// For TLS, whose reads take what the poller has read.
	fed    []byte
	failed error

	mu         sync.Mutex
	taker      taker
	registered bool
	closed     bool
	writable   chan struct{}
	cancelled  <-chan struct{}
	answered   <-chan struct{}
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
	return &socket{Conn: tcp, fd: fd, poller: p, writable: make(chan struct{}, 1)}, nil
}

// listen has what arrives handed to the taker. Writing ends when one of the channels is closed.
func (s *socket) listen(t taker, cancelled, answered <-chan struct{}) error {
	s.mu.Lock()
	s.taker, s.cancelled, s.answered = t, cancelled, answered
	s.fed, s.failed = nil, nil
	s.mu.Unlock()
	return s.poller.watch(s, unix.EPOLLIN)
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
		if s.taker == nil {
			return
		}
		n, err := s.receive(buffer)
		now := time.Now()
		switch {
		case err == unix.EAGAIN:
			return
		case err != nil:
			s.end(&net.OpError{Op: "read", Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: os.NewSyscallError("recvmsg", err)})
		case n == 0:
			s.end(io.EOF)
		case s.taker.arrived(buffer[:n], now, s.kernelWall()):
			s.taker = nil
		case n < len(buffer) && flags&last == 0:
			return // all that there was; what arrives from now on is told
		}
	}
	_ = s.poller.watch(s, unix.EPOLLIN) // others first; told again at once
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
	msg := unix.Msghdr{Iov: &iov, Iovlen: 1, Control: &s.oob[0]}
	for {
		msg.SetControllen(len(s.oob))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&msg)), unix.MSG_DONTWAIT)
		switch errno {
		case 0:
			if msg.Controllen == 0 {
				s.oob = [64]byte{}
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
	sec := int64(binary.NativeEndian.Uint64(s.oob[16:]))
	nsec := int64(binary.NativeEndian.Uint64(s.oob[24:]))
	return sec*1e9 + nsec
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

// Write sends all of p, unless the exchange ends before.
func (s *socket) Write(p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		n, err := unix.SendmsgN(s.fd, p[sent:], nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch {
		case err == nil:
			sent += n
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			if err = s.awaitWritable(); err != nil {
				return sent, err
			}
		default:
			return sent, &net.OpError{Op: "write", Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: os.NewSyscallError("sendmsg", err)}
		}
	}
	return sent, nil
}

func (s *socket) awaitWritable() error {
	if err := s.poller.watch(s, unix.EPOLLIN|unix.EPOLLOUT); err != nil {
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
func (s *socket) alive() bool { return nothingArrived(s.fd) }

// Close ends the connection. After it returns the taker hears of nothing any more.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed, s.taker = true, nil
	s.poller.forget(s)
	return os.NewSyscallError("close", unix.Close(s.fd))
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
