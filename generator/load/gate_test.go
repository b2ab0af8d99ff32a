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

// steps drives a gate and fails at the first answer that is not the wanted one.
type steps struct {
	t *testing.T
	*load.Gate
}

func (s steps) offer(sched, now int64, want load.Decision) {
	s.t.Helper()
	if got := s.Offer(sched, now); got != want {
		s.t.Fatalf("Offer(%d, %d) = %v, want %v", sched, now, got, want)
	}
}

func (s steps) next(now, sched int64, want load.Decision) {
	s.t.Helper()
	if got, d, ok := s.Next(now); !ok || got != sched || d != want {
		s.t.Fatalf("Next(%d) = %d, %v, %v, want %d, %v", now, got, d, ok, sched, want)
	}
}

func (s steps) nothing(now int64) {
	s.t.Helper()
	if sched, d, ok := s.Next(now); ok {
		s.t.Fatalf("Next(%d) = %d, %v, want nothing", now, sched, d)
	}
}

func (s steps) deadline(want int64) {
	s.t.Helper()
	if at, ok := s.Deadline(); !ok || at != want {
		s.t.Fatalf("Deadline = %d, %v, want %d", at, ok, want)
	}
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
			s.Release(4)
			s.nothing(4)
			s.offer(5, 5, send())
		}},
		"queue hands out in order when slots come free": {gateConfig(1, load.Queue, 2, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.offer(3, 3, queued())
			s.offer(4, 4, queueFull())
			s.nothing(4)
			s.Release(5)
			s.next(5, 2, send())
			s.nothing(5)
			s.Release(6)
			s.next(6, 3, send())
		}},
		"an arrival does not overtake one that waits": {gateConfig(1, load.Queue, 2, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.Release(3)
			s.offer(3, 3, queued())
			s.next(3, 2, send())
			s.nothing(3)
		}},
		"at the last instant of max_wait it is still sent": {gateConfig(1, load.Queue, 2, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.deadline(13)
			s.nothing(12)
			s.Release(12)
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
			s.Release(12)
			s.next(1000, 2, send())
			s.next(1000, 3, queueTimeout())
			s.nothing(1000)
		}},
		"a slot that came free too late goes to the next one": {gateConfig(1, load.Queue, 3, 10), func(s steps) {
			s.offer(1, 1, send())
			s.offer(2, 2, queued())
			s.offer(9, 9, queued())
			s.Release(15)
			s.next(15, 2, queueTimeout())
			s.next(15, 9, send())
			s.nothing(15)
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
	s.Release(3)
	if at, ok := s.Deadline(); ok {
		t.Errorf("Deadline of an arrival that has a slot = %d", at)
	}
}

func TestReleaseWithoutASlotPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	load.NewGate(gateConfig(1, load.Drop, 1, 10)).Release(1)
}

// reference is the gate once more, slow and obvious: slices, no ring, no counters.
type reference struct {
	config  *load.Config
	running int
	queue   []*waiting
}

type waiting struct {
	sched, since int64
	decided      bool
	decision     load.Decision
}

func (r *reference) decide(now int64) {
	for _, w := range r.queue {
		taken := r.running
		for _, other := range r.queue {
			if other.decided && other.decision == send() {
				taken++
			}
		}
		switch {
		case w.decided:
		case now-w.since > int64(r.config.Queue.MaxWait):
			w.decided, w.decision = true, queueTimeout()
		case taken < r.config.MaxInFlight:
			w.decided, w.decision = true, send()
		default:
			return
		}
	}
}

func (r *reference) offer(sched, now int64) load.Decision {
	switch {
	case len(r.queue) == 0 && r.running < r.config.MaxInFlight:
		r.running++
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
		r.running++
	}
	return w.sched, w.decision, true
}

// FuzzGate drives gate and reference with the same calls; the bytes say which, and how much time passes.
func FuzzGate(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		calls := make([]byte, 300)
		for i := range calls {
			calls[i] = byte(random.Uint32())
		}
		f.Add(random.IntN(4), random.IntN(5), random.IntN(3) > 0, calls)
	}
	f.Fuzz(func(t *testing.T, maxInFlight, size int, queue bool, calls []byte) {
		policy := load.Drop
		if queue {
			policy = load.Queue
		}
		c := gateConfig(1+(maxInFlight&7), policy, 1+(size&7), 40)
		g, r := load.NewGate(c), &reference{config: c}
		var now, arrivals, sent, dropped int64
		for i, call := range calls {
			now += int64(call >> 2)
			var got, want load.Decision
			switch call & 3 {
			case 0, 1:
				arrivals++
				got, want = g.Offer(now, now), r.offer(now, now)
			case 2:
				if r.running == 0 {
					continue
				}
				r.running--
				r.decide(now)
				g.Release(now)
				continue
			case 3:
				var gotSched, wantSched int64
				var gotOK, wantOK bool
				gotSched, got, gotOK = g.Next(now)
				wantSched, want, wantOK = r.next(now)
				if gotSched != wantSched || gotOK != wantOK {
					t.Fatalf("call %d at %d: Next = %d, %v, want %d, %v", i, now, gotSched, gotOK, wantSched, wantOK)
				}
				if !gotOK {
					continue
				}
			}
			if got != want {
				t.Fatalf("call %d at %d: %v, want %v", i, now, got, want)
			}
			switch got.Verdict {
			case load.Send:
				sent++
			case load.Dropped:
				dropped++
			case load.Queued:
			}
			if arrivals != sent+dropped+int64(g.Queued()) {
				t.Fatalf("call %d: %d arrivals, but %d sent, %d dropped, %d queued", i, arrivals, sent, dropped, g.Queued())
			}
			if g.InFlight() != r.running || g.InFlight() > c.MaxInFlight {
				t.Fatalf("call %d: %d in flight, want %d, at most %d", i, g.InFlight(), r.running, c.MaxInFlight)
			}
		}
	})
}

// TestGateUnderConcurrentReleases: the loop of a target offers and takes while requests end in goroutines of their own.
func TestGateUnderConcurrentReleases(t *testing.T) {
	t.Parallel()
	const arrivals = 20_000
	c := gateConfig(4, load.Queue, 8, time.Hour)
	g := load.NewGate(c)
	wake := make(chan struct{}, 1)
	var requests sync.WaitGroup
	var sent, dropped, last int64
	start := func(sched int64, d load.Decision) {
		switch d.Verdict {
		case load.Dropped:
			dropped++
		case load.Send:
			if sched <= last {
				t.Errorf("%d sent after %d", sched, last)
			}
			sent, last = sent+1, sched
			requests.Go(func() {
				g.Release(0)
				select {
				case wake <- struct{}{}:
				default:
				}
			})
		case load.Queued:
		}
	}
	take := func() {
		for sched, d, ok := g.Next(0); ok; sched, d, ok = g.Next(0) {
			start(sched, d)
		}
	}
	for sched := int64(1); sched <= arrivals; sched++ {
		take()
		start(sched, g.Offer(sched, 0))
		if n := g.InFlight(); n > c.MaxInFlight {
			t.Fatalf("%d in flight", n)
		}
	}
	for g.Queued() > 0 {
		<-wake
		take()
	}
	requests.Wait()
	if sent+dropped != arrivals || g.InFlight() != 0 || sent == 0 {
		t.Errorf("%d arrivals: %d sent, %d dropped, %d still in flight", arrivals, sent, dropped, g.InFlight())
	}
}

func TestGateDoesNotAllocate(t *testing.T) {
	c := gateConfig(1, load.Queue, 16, time.Hour)
	g := load.NewGate(c)
	g.Offer(0, 0)
	if allocs := testing.AllocsPerRun(1000, func() { queueOnce(g) }); allocs != 0 {
		t.Errorf("%v allocations per arrival", allocs)
	}
}

// queueOnce sends an arrival through the queue of a gate whose only slot is taken.
func queueOnce(g *load.Gate) {
	g.Offer(1, 1)
	g.Release(2)
	g.Next(2)
}

func BenchmarkGate(b *testing.B) {
	b.Run("sent at once", func(b *testing.B) {
		b.ReportAllocs()
		g := load.NewGate(gateConfig(8, load.Drop, 1, time.Hour))
		for b.Loop() {
			g.Offer(1, 1)
			g.Release(2)
		}
	})
	b.Run("through the queue", func(b *testing.B) {
		b.ReportAllocs()
		g := load.NewGate(gateConfig(1, load.Queue, 16, time.Hour))
		g.Offer(0, 0)
		for b.Loop() {
			queueOnce(g)
		}
	})
}
