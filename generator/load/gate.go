package load

import (
	"sync"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Verdict is what becomes of an arrival.
type Verdict uint8

// The verdicts.
const (
	Send    Verdict = iota // now, and Release when the request has ended
	Queued                 // Next will hand it out
	Dropped                // never
)

// Decision is a verdict and, for Dropped, its reason.
type Decision struct {
	Verdict Verdict
	Reason  metrics.DropReason // only if Dropped
}

// Gate admits the arrivals of one target: at most max_in_flight requests at a time, of which at most max_prefill have no first token yet;
// the others are dropped or queued as on_full says. It never waits, and every arrival that is offered comes out exactly once, as Send or
// Dropped. Safe for concurrent use: the loop of the target offers and takes, requests tell their first token and release.
type Gate struct {
	mu          sync.Mutex
	maxInFlight int
	maxPrefill  int // as large as maxInFlight where it is not limited
	size        int // of the queue, 0 for on_full: drop
	maxWait     int64

	inFlight   int // handed out and not released
	prefilling int // those of them without a first token
	granted    int // admitted, but Next has not handed them out yet

	// ring holds the queued arrivals, oldest at head; it is as long as the queue, or longer after that was made shorter. The oldest `decided`
	// of the `queued` ones have got their decision and wait for Next to tell it.
	ring                  []queuedArrival
	head, queued, decided int
}

type queuedArrival struct {
	arrival Arrival
	expires int64 // last instant at which it may still be sent
	expired bool
}

// NewGate makes the gate of a target with a validated c. The memory of the queue is taken here; nothing is allocated later.
func NewGate(c *Config) *Gate {
	g := &Gate{}
	g.set(c)
	return g
}

// Configure changes the limits to those of a validated c, at now. Nothing is taken back: requests that run beyond a lower limit run on, and
// queued arrivals keep their place and the wait that they had. It tells whether Next has something to hand out.
func (g *Gate) Configure(c *Config, now int64) (decided bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(c)
	g.decide(now)
	return g.decided > 0
}

func (g *Gate) set(c *Config) {
	g.maxInFlight, g.maxPrefill, g.maxWait, g.size = c.MaxInFlight, c.MaxInFlight, int64(c.Queue.MaxWait), 0
	if c.MaxPrefill > 0 {
		g.maxPrefill = c.MaxPrefill
	}
	if c.OnFull == Queue {
		g.size = c.Queue.Size
	}
	length := max(g.size, g.queued)
	if length == len(g.ring) {
		return
	}
	ring := make([]queuedArrival, length)
	for i := range g.queued {
		ring[i] = *g.at(i)
	}
	g.ring, g.head = ring, 0
}

// Offer presents an arrival. Take what Next has before, or the queue may look fuller than it is. The wait in the
// queue counts from now, not from its instant: a late wake-up is our fault and queue_timeout is the server's.
func (g *Gate) Offer(a Arrival, now int64) Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.queued == 0 && g.free():
		g.inFlight++
		g.prefilling++
		return Decision{Verdict: Send}
	case g.size == 0:
		return Decision{Dropped, metrics.DropInFlight}
	case g.queued >= g.size:
		return Decision{Dropped, metrics.DropQueueFull}
	}
	*g.at(g.queued) = queuedArrival{arrival: a, expires: now + g.maxWait}
	g.queued++
	g.decide(now)
	return Decision{Verdict: Queued}
}

// FirstToken gives back the place among the prefills of a request whose first token came at now. It tells whether Next has something to
// hand out. A request calls it at most once, and not after its Release.
func (g *Gate) FirstToken(now int64) (decided bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endPrefill()
	g.decide(now)
	return g.decided > 0
}

// Release gives back the slot of a request that ended at now; prefilling if FirstToken was not called for it. What is free belongs to the
// oldest queued arrival from this instant on, even if Next is only called after that arrival's deadline.
func (g *Gate) Release(now int64, prefilling bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inFlight == 0 {
		panic("load: release of a slot that was not taken")
	}
	g.inFlight--
	if prefilling {
		g.endPrefill()
	}
	if g.prefilling > g.inFlight {
		panic("load: release of a request that still has its place among the prefills")
	}
	g.decide(now)
}

func (g *Gate) endPrefill() {
	if g.prefilling == 0 {
		panic("load: more first tokens than requests")
	}
	g.prefilling--
}

// Next hands out one queued arrival, oldest first: Send if it has a slot, Dropped with queue_timeout if it has waited longer than
// max_wait. ok is false if none is decided. Call it until then after each Release and at each Deadline.
func (g *Gate) Next(now int64) (a Arrival, d Decision, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.decide(now)
	if g.decided == 0 {
		return Arrival{}, Decision{}, false
	}
	first := *g.at(0)
	g.head = (g.head + 1) % len(g.ring)
	g.queued--
	g.decided--
	if first.expired {
		return first.arrival, Decision{Dropped, metrics.DropQueueTimeout}, true
	}
	g.granted--
	g.inFlight++
	g.prefilling++
	return first.arrival, Decision{Verdict: Send}, true
}

// decide settles, oldest first, the queued arrivals that have waited too long or can be admitted.
func (g *Gate) decide(now int64) {
	for ; g.decided < g.queued; g.decided++ {
		a := g.at(g.decided)
		switch {
		case now > a.expires:
			a.expired = true
		case g.free():
			g.granted++
		default:
			return
		}
	}
}

// free tells whether one more request may run.
func (g *Gate) free() bool {
	return g.inFlight+g.granted < g.maxInFlight && g.prefilling+g.granted < g.maxPrefill
}

// at is the i-th oldest place of the ring.
func (g *Gate) at(i int) *queuedArrival { return &g.ring[(g.head+i)%len(g.ring)] }

// Deadline is the first instant at which the oldest undecided arrival has waited longer than max_wait; ok is false if there is none.
func (g *Gate) Deadline() (at int64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.decided == g.queued {
		return 0, false
	}
	return g.at(g.decided).expires + 1, true
}

// Queued is the number of arrivals in the queue.
func (g *Gate) Queued() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queued
}

// InFlight is the number of requests that were handed out and not released.
func (g *Gate) InFlight() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inFlight
}
