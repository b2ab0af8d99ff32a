//go:build unix

package transport

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// isIdle tells whether a connection has neither ended nor brought anything that was not asked for.
func isIdle(conn net.Conn) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	idle := false
	err = raw.Control(func(fd uintptr) { idle = nothingArrived(int(fd)) })
	return err == nil && idle
}

// isConnectionEnd tells that writing failed because the connection has ended.
func isConnectionEnd(err error) bool {
	return errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET)
}

func nothingArrived(fd int) bool {
	var one [1]byte
	_, _, err := unix.Recvfrom(fd, one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == unix.EAGAIN
}
