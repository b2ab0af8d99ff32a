//go:build linux && (amd64 || arm64)

package transport

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const (
	// minQuantum and maxQuantum bound how long the poller sleeps between two looks while much arrives.
	minQuantum = time.Millisecond
	maxQuantum = 4 * time.Millisecond
	// looksPerGap is how often it then looks between two arrivals on one connection, so that these hardly ever become one read.
	looksPerGap = 8
)

// Poller reads the connections of all clients on one goroutine, and hands each what arrives on it. Because the kernel notes when that
// was, it need not hurry: while much arrives, it looks once in a quantum and takes all there is, instead of waking up for each. A quantum
// is short against the time between two arrivals on the same connection, but not under a millisecond: what arrives on one connection
// within a quantum is one read.
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
	closed   atomic.Bool
	writers  atomic.Int64  // goroutines that wait until they can write
	gap      time.Duration // mean time between two arrivals on the same connection; of the goroutine
	alarm    *time.Timer   // likewise; made once, because one for each rest would be allocated

	mu   sync.Mutex
	byFD map[int32]*socket

	plain []byte // for what TLS makes of what has been read; one for all connections, as they are read one after the other
}

// canPoll tells whether connections can be read by a poller.
const canPoll = true

// NewPoller starts the goroutine.
func NewPoller(clock *metrics.SystemClock) (*Poller, error) {
	sockets, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("poller: %w", os.NewSyscallError("epoll_create", err))
	}
	p := &Poller{
		clock: clock, sockets: sockets, ended: make(chan struct{}), byFD: map[int32]*socket{}, plain: make([]byte, plainBytes), alarm: time.NewTimer(0),
	}
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
	err = unix.SetNonblock(fd, true) // else the runtime would not poll it
	p.gateFD, p.gate = fd, os.NewFile(uintptr(fd), "poller")
	if err == nil {
		err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, p.sockets, &unix.EpollEvent{Events: unix.EPOLLONESHOT, Fd: int32(p.sockets)})
	}
	if err == nil {
		p.raw, err = p.gate.SyscallConn()
	}
	if err != nil {
		_ = p.gate.Close()
		return os.NewSyscallError("epoll_ctl", err)
	}
	event := make([]unix.EpollEvent, 1)
	p.arrived = func(gate uintptr) bool {
		n, _ := unix.EpollWait(int(gate), event, 0)
		return n > 0
	}
	return nil
}

// Close ends the goroutine.
func (p *Poller) Close() {
	p.closed.Store(true)
	_ = p.gate.Close()
	<-p.ended
	p.mu.Lock()
	_ = unix.Close(p.sockets)
	p.mu.Unlock()
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
	pace := maxPause // mean time between events
	last := p.clock.Now()
	for n := 0; !p.closed.Load(); {
		quantum := p.quantum()
		switch {
		case n == len(events): // there may be more
		case pace < quantum && p.writers.Load() == 0:
			p.rest(quantum)
		default:
			p.park()
		}
		n = p.look(events[:], ready[:])
		now := p.clock.Now()
		pace += (min(time.Duration(now-last), maxPause)/time.Duration(max(n, 1)) - pace) / 8
		last = now
		for i := range n {
			if s := ready[i]; s != nil {
				s.ready(events[i].Events, buffer)
			}
			ready[i] = nil
		}
	}
}

// maxPause bounds what a pause says about the pace: nothing of what comes after it.
const maxPause = 40 * time.Millisecond

// quantum is how long to sleep.
func (p *Poller) quantum() time.Duration {
	return max(minQuantum, min(p.gap/looksPerGap, maxQuantum))
}

// noteGap notes the time between two arrivals on the same connection.
func (p *Poller) noteGap(gap time.Duration) {
	p.gap += (min(gap, looksPerGap*maxQuantum) - p.gap) / 64
}

// rest sleeps for a quantum. Where another goroutine can run meanwhile it does so in a system call, of which the scheduler need not know: to
// park a goroutine a thousand times a second, and threads with it, costs more than all that is done in between.
func (p *Poller) rest(quantum time.Duration) {
	if runtime.GOMAXPROCS(0) == 1 {
		p.alarm.Reset(quantum)
		<-p.alarm.C
		return
	}
	runtime.Gosched() // whoever waits for this processor goes first
	interval := unix.NsecToTimespec(int64(quantum))
	_ = unix.Nanosleep(&interval, nil)
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

// park sleeps until a socket is ready or the poller is closed.
func (p *Poller) park() {
	armed := unix.EpollCtl(p.gateFD, unix.EPOLL_CTL_MOD, p.sockets, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(p.sockets)})
	if armed != nil || p.raw.Read(p.arrived) != nil {
		p.rest(minQuantum) // closed; and if ever it cannot be armed, looking again and again still works
	}
}

// watch has the poller told of what happens on a socket from now on, and at once of what already has: of bytes to read, and of more events.
func (p *Poller) watch(s *socket, more uint32) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() || s.forgotten {
		return fmt.Errorf("poller: %w", os.ErrClosed)
	}
	op := unix.EPOLL_CTL_MOD
	if s.watched == 0 {
		op = unix.EPOLL_CTL_ADD
		p.byFD[int32(s.fd)] = s
	}
	s.watched |= more | unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET
	err := unix.EpollCtl(p.sockets, op, s.fd, &unix.EpollEvent{Events: s.watched, Fd: int32(s.fd)})
	return os.NewSyscallError("epoll_ctl", err)
}

// forget ends the watch of a socket that is about to be closed.
func (p *Poller) forget(s *socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.forgotten = true
	if s.watched != 0 {
		delete(p.byFD, int32(s.fd))
	}
}
