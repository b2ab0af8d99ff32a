//go:build !linux

package main

import (
	"net"
	"time"
)

// arrivals reads a connection and knows when the last read returned, which is the best that can be known here.
type arrivals struct {
	conn net.Conn
	last time.Time
}

func newArrivals(conn net.Conn) *arrivals { return &arrivals{conn: conn} }

// Read implements io.Reader.
func (a *arrivals) Read(p []byte) (int, error) {
	n, err := a.conn.Read(p)
	a.last = time.Now()
	return n, err
}
