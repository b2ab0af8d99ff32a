package main

import (
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arrivals reads a connection and knows when the bytes read last reached its socket. On a busy machine that can be long before the
// server gets to read them, and it is the server's delay then, not the client's.
type arrivals struct {
	conn net.Conn
	raw  syscall.RawConn // nil where the kernel gives no times
	last time.Time
}

func newArrivals(conn net.Conn) *arrivals {
	a := &arrivals{conn: conn}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return a
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return a
	}
	var refused error
	err = raw.Control(func(fd uintptr) { refused = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	if err == nil && refused == nil {
		a.raw = raw
	}
	return a
}

// Read implements io.Reader.
func (a *arrivals) Read(p []byte) (int, error) {
	if a.raw == nil {
		n, err := a.conn.Read(p)
		a.last = time.Now()
		return n, err
	}
	var n, controls int
	var failed error
	control := make([]byte, 64)
	err := a.raw.Read(func(fd uintptr) bool {
		for failed = unix.EINTR; failed == unix.EINTR; {
			n, controls, _, _, failed = unix.Recvmsg(int(fd), p, control, 0)
		}
		return failed != unix.EAGAIN
	})
	a.last = time.Now()
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	if at, ok := receiveTime(control[:controls]); ok {
		// Back from now, so that the instant keeps its monotonic reading and can be compared with those of chunks.
		a.last = a.last.Add(-a.last.Round(0).Sub(at))
	}
	return n, nil
}

// receiveTime finds the time of the last segment in the control messages of a read.
func receiveTime(control []byte) (time.Time, bool) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return time.Time{}, false
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
			at := (*unix.Timespec)(unsafe.Pointer(&m.Data[0]))
			return time.Unix(at.Unix()), true
		}
	}
	return time.Time{}, false
}
