//go:build unix

package main

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"time"
)

// backlog is a port whose queue of connections is full: the kernel answers no further one.
type backlog struct {
	address string
	queued  []net.Conn
}

// fill makes a port that stays full while its connections are held.
func (b *backlog) fill(ctx context.Context) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	syscall.CloseOnExec(fd)
	if err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	if err = syscall.Listen(fd, 0); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return fmt.Errorf("name of the socket: %w", err)
	}
	b.address = fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	dialer := net.Dialer{Timeout: time.Second}
	const most = 64
	for range most {
		c, err := dialer.DialContext(ctx, "tcp", b.address)
		if err != nil {
			return ctx.Err() // the queue is full
		}
		b.queued = append(b.queued, c)
	}
	return fmt.Errorf("%s takes more than %d connections", b.address, most)
}
