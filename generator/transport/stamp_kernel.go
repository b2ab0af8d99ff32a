//go:build linux && (amd64 || arm64)

package transport

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// stampedConn is a TCP connection whose reads come with the kernel's receive time (SO_TIMESTAMPNS), so that a late goroutine, a garbage
// collection or a busy CPU does not look like a slow server.
type stampedConn struct {
	*net.TCPConn
	raw    syscall.RawConn
	stamps stamps

	// State of the read in progress: fields, and a function made once, because a closure for each read would be allocated.
	receive func(fd uintptr) bool
	into    []byte
	n, oobn int
	err     error
	oob     [64]byte
}

// stamped wraps a new connection; one that is not TCP, or whose socket refuses the option, stays as it is.
func stamped(conn net.Conn, clock *metrics.SystemClock) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return conn
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return conn
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
	if err != nil || refused != nil {
		return conn
	}
	c := &stampedConn{TCPConn: tcp, raw: raw}
	c.stamps.clock = clock
	c.receive = c.recvmsg
	return c
}

// LocalAddr implements net.Conn; see stampedAddr.
func (c *stampedConn) LocalAddr() net.Addr { return stampedAddr{c.TCPConn.LocalAddr(), &c.stamps} }

// WriteTo hides the method of TCPConn, which would read past Read.
func (c *stampedConn) WriteTo(w io.Writer) (int64, error) {
	n, err := io.Copy(w, struct{ io.Reader }{c})
	if err != nil {
		return n, fmt.Errorf("copy from connection: %w", err)
	}
	return n, nil
}

// Read implements net.Conn.
func (c *stampedConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.into, c.n, c.oobn, c.err = p, 0, 0, nil
	err := c.raw.Read(c.receive)
	now := time.Now()
	c.into = nil
	switch {
	case err != nil: // closed, or past its deadline
		return 0, err //nolint:wrapcheck // net/http looks at the net.OpError itself
	case c.err != nil:
		return 0, &net.OpError{Op: "read", Net: "tcp", Addr: c.RemoteAddr(), Err: os.NewSyscallError("recvmsg", c.err)}
	case c.n == 0:
		return 0, io.EOF
	}
	c.stamps.note(now, c.kernelWall())
	return c.n, nil
}

// recvmsg reads once; false means that nothing was there and the poller shall wait. The raw system call is used because
// unix.Recvmsg allocates.
func (c *stampedConn) recvmsg(fd uintptr) bool {
	iov := unix.Iovec{Base: &c.into[0]}
	iov.SetLen(len(c.into))
	msg := unix.Msghdr{Iov: &iov, Iovlen: 1, Control: &c.oob[0]}
	msg.SetControllen(len(c.oob))
	for {
		n, _, errno := unix.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&msg)), 0)
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false
		case 0:
			c.n, c.oobn = int(n), int(msg.Controllen)
		default:
			c.err = errno
		}
		return true
	}
}

// kernelWall is the wall-clock instant in nanoseconds in the control message of the last read, 0 if there is none. The message is a
// header (16 bytes: length, level, type) and a struct timespec.
func (c *stampedConn) kernelWall() int64 {
	if c.oobn < 32 {
		return 0
	}
	header := (*unix.Cmsghdr)(unsafe.Pointer(&c.oob[0]))
	if header.Level != unix.SOL_SOCKET || header.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	sec := int64(binary.NativeEndian.Uint64(c.oob[16:]))
	nsec := int64(binary.NativeEndian.Uint64(c.oob[24:]))
	return sec*1e9 + nsec
}
