//go:build linux && (amd64 || arm64)

package transport

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// pollQuantum is how long the poller sleeps between two looks while much arrives.
const pollQuantum = time.Millisecond

// Poller reads the connections of all clients on one goroutine, and hands each what arrives on it. Because the kernel notes when that
// was, it need not hurry: while more than one event a millisecond arrives, it looks once a millisecond and takes all there is, instead
// of waking up for each. What arrives on one connection within such a millisecond is one read.
//
// Close ends it when no client uses it any more.
type Poller struct {
	clock    *metrics.SystemClock
	sockets  int      // epoll of the sockets
	gate     *os.File // epoll of sockets, armed for one event: the runtime's own poller wakes up only when this one wants it to
	gateFD   int
	raw      syscall.RawConn
	arrived  func(gate uintptr) bool // asks the gate; made once, because a closure for each wait would be allocated
	stamping io.Closer
	ended    chan struct{}

	mu     sync.Mutex
	byFD   map[int32]*socket
	closed bool
}

// canPoll tells whether connections can be read by a poller.
const canPoll = true

// NewPoller starts the goroutine.
func NewPoller(clock *metrics.SystemClock) (*Poller, error) {
	sockets, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("poller: %w", os.NewSyscallError("epoll_create", err))
	}
	p := &Poller{clock: clock, sockets: sockets, ended: make(chan struct{}), byFD: map[int32]*socket{}}
	if err := p.openGate(); err != nil {
		_ = unix.Close(sockets)
		return nil, fmt.Errorf("poller: %w", err)
	}
	p.stamping = keepStamping()
	go p.run()
	return p, nil
}

func (p *Poller) openGate() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create", err)
	}
	if err = unix.SetNonblock(fd, true); err == nil { // else the runtime would not poll it
		err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, p.sockets, &unix.EpollEvent{Events: unix.EPOLLONESHOT, Fd: int32(p.sockets)})
	}
	if err != nil {
		_ = unix.Close(fd)
		return os.NewSyscallError("epoll_ctl", err)
	}
	p.gateFD, p.gate = fd, os.NewFile(uintptr(fd), "poller")
	event := make([]unix.EpollEvent, 1)
	p.arrived = func(gate uintptr) bool {
		n, _ := unix.EpollWait(int(gate), event, 0)
		return n > 0
	}
	p.raw, err = p.gate.SyscallConn()
	return err
}

// Close ends the goroutine.
func (p *Poller) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.gate.Close()
	<-p.ended
	_ = unix.Close(p.sockets)
	if p.stamping != nil {
		_ = p.stamping.Close()
	}
}

// run looks, hands out, and waits: until something arrives, or a quantum while much does.
func (p *Poller) run() {
	defer close(p.ended)
	var events [256]unix.EpollEvent
	var ready [256]*socket
	buffer := make([]byte, readBytes)
	pace := pollQuantum * 10 // mean time between events
	last := p.clock.Now()
	for busy := false; ; busy = pace < pollQuantum {
		if busy {
			time.Sleep(pollQuantum)
		} else if !p.park() {
			return
		}
		n := p.look(events[:], ready[:])
		now := p.clock.Now()
		gap := min(time.Duration(now-last), 10*pollQuantum) // a pause says nothing about what comes after it
		pace += (gap/time.Duration(max(n, 1)) - pace) / 8
		last = now
		for i := range n {
			if s := ready[i]; s != nil {
				s.ready(events[i].Events, buffer)
			}
			ready[i] = nil
		}
	}
}

// look asks which sockets are ready.
func (p *Poller) look(events []unix.EpollEvent, ready []*socket) int {
	n, err := unix.EpollWait(p.sockets, events, 0)
	if err != nil {
		return 0 // interrupted
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range n {
		ready[i] = p.byFD[events[i].Fd]
	}
	return n
}

// park sleeps until a socket is ready, and returns false when the poller is closed.
func (p *Poller) park() bool {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false
	}
	armed := unix.EpollCtl(p.gateFD, unix.EPOLL_CTL_MOD, p.sockets, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(p.sockets)})
	p.mu.Unlock()
	if armed != nil {
		return false
	}
	return p.raw.Read(p.arrived) == nil
}

// watch has the poller told of what happens on a socket from now on, and at once of what already has.
func (p *Poller) watch(s *socket, events uint32) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("poller: %w", os.ErrClosed)
	}
	op := unix.EPOLL_CTL_MOD
	if !s.registered {
		op = unix.EPOLL_CTL_ADD
		s.registered = true
		p.byFD[int32(s.fd)] = s
	}
	err := unix.EpollCtl(p.sockets, op, s.fd, &unix.EpollEvent{Events: events | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(s.fd)})
	return os.NewSyscallError("epoll_ctl", err)
}

// forget ends the watch of a socket that is about to be closed.
func (p *Poller) forget(s *socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.registered {
		delete(p.byFD, int32(s.fd))
	}
}
