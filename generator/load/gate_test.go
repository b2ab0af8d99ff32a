package load_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func send() load.Decision   { return load.Decision{Verdict: load.Send} }
func queued() load.Decision { return load.Decision{Verdict: load.Queued} }
func inFlight() load.Decision {
	return load.Decision{Verdict: load.Dropped, Reason: metrics.DropInFlight}
}

func queueFull() load.Decision {
	return load.Decision{Verdict: load.Dropped, Reason: metrics.DropQueueFull}
}

func queueTimeout() load.Decision {
	return load.Decision{Verdict: load.Dropped, Reason: metrics.DropQueueTimeout}
}

func gateConfig(maxInFlight int, policy load.OnFull, size int, maxWait time.Duration) *load.Config {
	c := load.DefaultConfig()
	c.MaxInFlight, c.OnFull = maxInFlight, policy
	c.Queue = load.QueueConfig{Size: size, MaxWait: maxWait}
	return &c
}

// at is the arrival of an instant.
func at(sched int64) load.Arrival { return load.Arrival{Sched: sched, Ready: sched} }

// steps drives a gate and fails at the first answer that is not the wanted one.
type steps struct {
	t *testing.T
	*load.Gate
}

func (s steps) offer(sched, now int64, want load.Decision) {
	s.t.Helper()
	if got := s.Offer(at(sched), now); got != want {
		s.t.Fatalf("Offer(%d, %d) = %v, want %v", sched, now, got, want)
	}
}

func (s steps) next(now, sched int64, want load.Decision) {
	s.t.Helper()
	if got, d, ok := s.Next(now); !ok || got != at(sched) || d != want {
		s.t.Fatalf("Next(%d) = %v, %v, %v, want %d, %v", now, got, d, ok, sched, want)
	}
}

func (s steps) nothing(now int64) {
	s.t.Helper()
	if got, d, ok := s.Next(now); ok {
		s.t.Fatalf("Next(%d) = %v, %v, want nothing", now, got, d)
	}
}

func (s steps) firstToken(now int64, want bool) {
	s.t.Helper()
	if got := s.FirstToken(now); got != want {
		s.t.Fatalf("FirstToken(%d) = %v, want %v", now, got, want)
	}
}

func (s steps) deadline(want int64) {
	s.t.Helper()
	if at, ok := s.Deadline(); !ok || at != want {
		s.t.Fatalf("Deadline = %d, %v, want %d", at, ok, want)
	}
}

// limitPrefill is c with a limit for requests without a first token.
func limitPrefill(c *load.Config, limit int) *load.Config {
	c.MaxPrefill = limit
	return c
}

func TestGate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config *load.Config
		run    func(s steps)
	}{
		"drop refuses when full and admits again after a release": {gateConfig(2, load.Drop, 1, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, send())
			s.offer(3, 3, inFlight())
			s.Release(4, true)
			s.nothing(4)
			s.offer(5, 5, send())
		}},
		"queue hands out in order when slots come free": {gateConfig(1, load.Queue, 2, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.offer(3, 3, queued())
			s.offer(4, 4, queueFull())
			s.nothing(4)
			s.Release(5, true)
			s.next(5, 2, send())
			s.nothing(5)
			s.Release(6, true)
			s.next(6, 3, send())
		}},
		"an arrival does not overtake one that waits": {gateConfig(1, load.Queue, 2, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.Release(3, true)
			s.offer(3, 3, queued())
			s.next(3, 2, send())
			s.nothing(3)
		}},
		"at the last instant of max_wait it is still sent": {gateConfig(1, load.Queue, 2, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.deadline(13)
			s.nothing(12)
			s.Release(12, true)
			s.next(12, 2, send())
		}},
		"after max_wait it is dropped, and only it": {gateConfig(1, load.Queue, 2, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.offer(5, 5, queued())
			s.next(13, 2, queueTimeout())
			s.nothing(13)
			s.deadline(16)
		}},
		"the wait counts from the offer, not from the schedule": {gateConfig(1, load.Queue, 2, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 100, queued())
			s.deadline(111)
			s.nothing(110)
			s.next(111, 2, queueTimeout())
		}},
		"a slot that came free in time is used, however late Next is called": {gateConfig(1, load.Queue, 2, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.offer(3, 3, queued())
			s.Release(12, true)
			s.next(1000, 2, send())
			s.next(1000, 3, queueTimeout())
			s.nothing(1000)
		}},
		"a slot that came free too late goes to the next one": {gateConfig(1, load.Queue, 3, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.offer(9, 9, queued())
			s.Release(15, true)
			s.next(15, 2, queueTimeout())
			s.next(15, 9, send())
			s.nothing(15)
		}},
		"a full prefill drops, and a first token makes room": {limitPrefill(gateConfig(3, load.Drop, 1, 10), 1), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, inFlight())
			s.firstToken(3, false)
			s.offer(4, 4, send())
			s.offer(5, 5, inFlight())
			s.Release(6, false)
			s.offer(7, 7, inFlight())
			s.Release(8, true)
			s.offer(9, 9, send())
		}},
		"a full prefill queues, and a first token hands out": {limitPrefill(gateConfig(3, load.Queue, 2, 10), 1), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.offer(3, 3, queued())
			s.nothing(3)
			s.firstToken(4, true)
			s.next(4, 2, send())
			s.nothing(4)
			s.Release(5, true)
			s.next(5, 3, send())
		}},
		"a first token in time is used, however late Next is called": {limitPrefill(gateConfig(3, load.Queue, 2, 10), 1), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.firstToken(12, true)
			s.next(1000, 2, send())
		}},
		"a first token does not make room where all slots are taken": {limitPrefill(gateConfig(1, load.Queue, 2, 10), 1), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.firstToken(3, false)
			s.nothing(3)
			s.Release(4, false)
			s.next(4, 2, send())
		}},
		"a prefill limit beyond the slots limits nothing": {limitPrefill(gateConfig(2, load.Drop, 1, 10), 5), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, send())
			s.offer(3, 3, inFlight())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.run(steps{t, load.NewGate(test.config)})
		})
	}
}

func TestAnEmptyQueueHasNoDeadline(t *testing.T) {
	t.Parallel()
	s := steps{t, load.NewGate(gateConfig(1, load.Queue, 2, 10))}
	s.offer(1, 1, send())
	if at, ok := s.Deadline(); ok {
		t.Errorf("Deadline = %d", at)
	}
	s.offer(2, 2, queued())
	s.Release(3, true)
	if at, ok := s.Deadline(); ok {
		t.Errorf("Deadline of an arrival that has a slot = %d", at)
	}
}

func TestGatePanicsWhenMoreEndsThanBegan(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(s steps){
		"a release without a request":      func(s steps) { s.Release(1, true) },
		"a first token without a request":  func(s steps) { s.FirstToken(1) },
		"a second first token":             func(s steps) { s.offer(1, 1, send()); s.FirstToken(2); s.FirstToken(3) },
		"a prefill that was over is ended": func(s steps) { s.offer(1, 1, send()); s.FirstToken(2); s.Release(3, true) },
		"a prefill is not ended":           func(s steps) { s.offer(1, 1, send()); s.Release(2, false) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			run(steps{t, load.NewGate(gateConfig(1, load.Drop, 1, 10))})
		})
	}
}

// reference is the gate once more, slow and obvious: slices, no ring, no counters.
type reference struct {
	config     *load.Config
	prefilling int
	decoding   int
	queue      []*waiting
}

func (r *reference) running() int { return r.prefilling + r.decoding }

// admits tells whether a request may start beside those that run and some others.
func (r *reference) admits(others int) bool {
	return r.running()+others < r.config.MaxInFlight && (r.config.MaxPrefill == 0 || r.prefilling+others < r.config.MaxPrefill)
}

type waiting struct {
	sched, since int64
	decided      bool
	decision     load.Decision
}

func (r *reference) decide(now int64) {
	for _, w := range r.queue {
		var granted int
		for _, other := range r.queue {
			if other.decided && other.decision == send() {
				granted++
			}
		}
		switch {
		case w.decided:
		case now-w.since > int64(r.config.Queue.MaxWait):
			w.decided, w.decision = true, queueTimeout()
		case r.admits(granted):
			w.decided, w.decision = true, send()
		default:
			return
		}
	}
}

func (r *reference) offer(sched, now int64) load.Decision {
	switch {
	case len(r.queue) == 0 && r.admits(0):
		r.prefilling++
		return send()
	case r.config.OnFull == load.Drop:
		return inFlight()
	case len(r.queue) == r.config.Queue.Size:
		return queueFull()
	}
	r.queue = append(r.queue, &waiting{sched: sched, since: now})
	r.decide(now)
	return queued()
}

func (r *reference) next(now int64) (int64, load.Decision, bool) {
	r.decide(now)
	if len(r.queue) == 0 || !r.queue[0].decided {
		return 0, load.Decision{}, false
	}
	w := r.queue[0]
	r.queue = r.queue[1:]
	if w.decision == send() {
		r.prefilling++
	}
	return w.sched, w.decision, true
}

// release ends a request; it is told which of the two there are.
func (r *reference) release(now int64, prefilling bool) {
	if prefilling {
		r.prefilling--
	} else {
		r.decoding--
	}
	r.decide(now)
}

func (r *reference) firstToken(now int64) bool {
	r.prefilling--
	r.decoding++
	r.decide(now)
	return len(r.queue) > 0 && r.queue[0].decided
}

// pair is a gate and its reference, which get the same calls.
type pair struct {
	t *testing.T
	g *load.Gate
	r *reference

	arrivals, sent, dropped int64
}

func (p *pair) offer(now int64) {
	p.arrivals++
	p.count(p.g.Offer(at(now), now), p.r.offer(now, now))
}

func (p *pair) next(now int64) {
	got, decision, gotOK := p.g.Next(now)
	want, wanted, wantOK := p.r.next(now)
	if got.Sched != want || gotOK != wantOK {
		p.t.Fatalf("at %d: Next = %v, %v, want %d, %v", now, got, gotOK, want, wantOK)
	}
	if gotOK {
		p.count(decision, wanted)
	}
}

func (p *pair) count(got, want load.Decision) {
	if got != want {
		p.t.Fatalf("%v, want %v", got, want)
	}
	switch got.Verdict {
	case load.Send:
		p.sent++
	case load.Dropped:
		p.dropped++
	case load.Queued:
	}
}

func (p *pair) release(now int64, prefilling bool) {
	if prefilling && p.r.prefilling == 0 || !prefilling && p.r.decoding == 0 {
		return
	}
	p.r.release(now, prefilling)
	p.g.Release(now, prefilling)
}

func (p *pair) firstToken(now int64) {
	if p.r.prefilling == 0 {
		return
	}
	if got, want := p.g.FirstToken(now), p.r.firstToken(now); got != want {
		p.t.Fatalf("at %d: FirstToken = %v, want %v", now, got, want)
	}
}

func (p *pair) check() {
	if queued := int64(p.g.Queued()); p.arrivals != p.sent+p.dropped+queued {
		p.t.Fatalf("%d arrivals, but %d sent, %d dropped, %d queued", p.arrivals, p.sent, p.dropped, queued)
	}
	c := p.r.config
	if n := p.g.InFlight(); n != p.r.running() || n > c.MaxInFlight {
		p.t.Fatalf("%d in flight, want %d, at most %d", n, p.r.running(), c.MaxInFlight)
	}
	if n := p.g.Prefilling(); n != p.r.prefilling || c.MaxPrefill > 0 && n > c.MaxPrefill {
		p.t.Fatalf("%d prefilling, want %d, at most %d", n, p.r.prefilling, c.MaxPrefill)
	}
}

// FuzzGate drives gate and reference with the same calls; the bytes say which, and how much time passes.
func FuzzGate(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		calls := make([]byte, 300)
		for i := range calls {
			calls[i] = byte(random.Uint32())
		}
		f.Add(random.IntN(4), random.IntN(4), random.IntN(5), random.IntN(3) > 0, calls)
	}
	f.Fuzz(func(t *testing.T, maxInFlight, maxPrefill, size int, queue bool, calls []byte) {
		policy := load.Drop
		if queue {
			policy = load.Queue
		}
		c := limitPrefill(gateConfig(1+(maxInFlight&7), policy, 1+(size&7), 40), maxPrefill&7)
		p := &pair{t: t, g: load.NewGate(c), r: &reference{config: c}}
		var now int64
		for _, call := range calls {
			now += int64(call >> 3)
			switch call & 7 {
			case 0, 1, 2:
				p.offer(now)
			case 3, 4:
				p.next(now)
			case 5:
				p.firstToken(now)
			case 6:
				p.release(now, true)
			case 7:
				p.release(now, false)
			}
			p.check()
		}
	})
}

// TestGateUnderConcurrentRequests: the loop of a target offers and takes while requests go on in goroutines of their own.
func TestGateUnderConcurrentRequests(t *testing.T) {
	t.Parallel()
	const arrivals = 20_000
	c := limitPrefill(gateConfig(4, load.Queue, 8, time.Hour), 2)
	g := load.NewGate(c)
	signal := make(chan struct{}, 1)
	wake := func() {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
	var requests sync.WaitGroup
	var sent, dropped, last int64
	start := func(a load.Arrival, d load.Decision) {
		switch d.Verdict {
		case load.Dropped:
			dropped++
		case load.Send:
			if a.Sched <= last {
				t.Errorf("%d sent after %d", a.Sched, last)
			}
			sent, last = sent+1, a.Sched
			requests.Go(func() {
				answered := a.Sched%3 != 0
				if answered && g.FirstToken(0) {
					wake()
				}
				g.Release(0, !answered)
				wake()
			})
		case load.Queued:
		}
	}
	take := func() {
		for a, d, ok := g.Next(0); ok; a, d, ok = g.Next(0) {
			start(a, d)
		}
	}
	for sched := int64(1); sched <= arrivals; sched++ {
		take()
		start(at(sched), g.Offer(at(sched), 0))
		if n, prefilling := g.InFlight(), g.Prefilling(); n > c.MaxInFlight || prefilling > c.MaxPrefill {
			t.Fatalf("%d in flight, %d prefilling", n, prefilling)
		}
	}
	for g.Queued() > 0 {
		<-signal
		take()
	}
	requests.Wait()
	if sent+dropped != arrivals || g.InFlight() != 0 || g.Prefilling() != 0 || sent == 0 {
		t.Errorf("%d arrivals: %d sent, %d dropped, %d in flight, %d prefilling", arrivals, sent, dropped, g.InFlight(), g.Prefilling())
	}
}

func TestGateDoesNotAllocate(t *testing.T) {
	c := gateConfig(1, load.Queue, 16, time.Hour)
	g := load.NewGate(c)
	g.Offer(at(0), 0)
	if allocs := testing.AllocsPerRun(1000, func() { queueOnce(g) }); allocs != 0 {
		t.Errorf("%v allocations per arrival", allocs)
	}
}

// queueOnce sends an arrival through the queue of a gate whose only slot is taken.
func queueOnce(g *load.Gate) {
	g.Offer(at(1), 1)
	g.Release(2, true)
	g.Next(2)
}

func BenchmarkGate(b *testing.B) {
	b.Run("sent at once", func(b *testing.B) {
		b.ReportAllocs()
		g := load.NewGate(gateConfig(8, load.Drop, 1, time.Hour))
		for b.Loop() {
			g.Offer(at(1), 1)
			g.FirstToken(2)
			g.Release(2, false)
		}
	})
	b.Run("through the queue", func(b *testing.B) {
		b.ReportAllocs()
		g := load.NewGate(gateConfig(1, load.Queue, 16, time.Hour))
		g.Offer(at(0), 0)
		for b.Loop() {
			queueOnce(g)
		}
	})
}
