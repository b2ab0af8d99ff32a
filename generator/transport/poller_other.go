//go:build !linux || !(amd64 || arm64)

package transport

import (
	"context"
	"net"
	"syscall"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Poller does nothing here: only Linux gives kernel receive times, elsewhere each exchange reads its connection itself.
type Poller struct{}

// NewPoller makes one.
func NewPoller(*metrics.SystemClock) (*Poller, error) { return &Poller{}, nil }

// Close ends it.
func (*Poller) Close() {}

// canPoll tells whether connections can be read by a poller.
const canPoll = false

func stamp(_, _ string, _ syscall.RawConn) error { return nil }

func (*Poller) adopt(*net.TCPConn) (*socket, error) { panic("transport: no poller here") }

type socket struct {
	net.Conn
	fed    []byte
	failed error
	plain  []byte
}

func (*socket) listen(taker, <-chan struct{}, <-chan struct{}) error { return context.Canceled }

func (*socket) alive() bool { return false }

func (*socket) send([]byte) error { return context.Canceled }

func (*socket) flush() error { return context.Canceled }
