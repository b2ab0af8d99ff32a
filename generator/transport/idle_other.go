//go:build !unix

package transport

import (
	"errors"
	"net"
	"syscall"
)

// isConnectionEnd tells that writing failed because the connection has ended.
func isConnectionEnd(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// isIdle takes every connection for one that can be used: there is no way to look.
func isIdle(net.Conn) bool { return true }
