//go:build unix

package transport

import (
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

func nothingArrived(fd int) bool {
	var one [1]byte
	_, _, err := unix.Recvfrom(fd, one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == unix.EAGAIN
}
