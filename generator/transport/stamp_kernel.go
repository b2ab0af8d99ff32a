//go:build linux && (amd64 || arm64)

package transport

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stampedConn is a TCP connection whose reads come with the kernel's receive time (SO_TIMESTAMPNS), so that a late goroutine, a garbage
// collection or a busy CPU does not look like a slow server. Only one goroutine at a time may read it, as net/http does.
type stampedConn struct {
	net.Conn // not *net.TCPConn, whose WriteTo would read past Read
	raw      syscall.RawConn
	slot     stampSlot

	// State of the read in progress: fields, and a function made once, because a closure for each read would be allocated.
	receive func(fd uintptr) bool
	into    []byte
	n, oobn int
	err     error
	oob     [64]byte
}

// stamped wraps a new connection; one that is not TCP, or whose socket refuses the option, stays as it is.
func stamped(conn net.Conn) net.Conn {
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
	c := &stampedConn{Conn: tcp, raw: raw}
	c.receive = c.recvmsg
	return c
}

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

// LocalAddr implements net.Conn; see stampedAddr.
func (c *stampedConn) LocalAddr() net.Addr { return stampedAddr{c.Conn.LocalAddr(), &c.slot} }

// Read implements net.Conn.
func (c *stampedConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s := c.slot.Load(); s != nil {
		s.waiting()
	}
	c.into, c.n, c.oobn, c.err = p, 0, 0, nil
	err := c.raw.Read(c.receive)
	now := time.Now()
	c.into = nil
	switch {
	case err != nil:
		return 0, c.readError(err)
	case c.err != nil:
		return 0, c.readError(os.NewSyscallError("recvmsg", c.err))
	case c.n == 0:
		return 0, io.EOF
	}
	// Asked again: an idle connection waits for the answer to an exchange that has not begun yet.
	if s := c.slot.Load(); s != nil {
		s.note(now, c.kernelWall())
	}
	return c.n, nil
}

// readError gives an error the form that reading a net.TCPConn gives it.
func (c *stampedConn) readError(err error) error {
	if raw, ok := errors.AsType[*net.OpError](err); ok { // closed, or past the deadline
		err = raw.Err
	}
	return &net.OpError{Op: "read", Net: "tcp", Source: c.Conn.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
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
