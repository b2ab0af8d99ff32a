package load_test

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

func TestLimiterWithoutLimitsAlwaysSaysYes(t *testing.T) {
	t.Parallel()
	l := load.NewLimiter(0, 0)
	l.Join()
	s := l.Join()
	for i := range 10_000 {
		if !s.Acquire(0) {
			t.Fatalf("request %d refused", i)
		}
	}
}

func TestLimiterBoundsRequestsInFlight(t *testing.T) {
	t.Parallel()
	s := load.NewLimiter(2, 0).Join()
	for range 2 {
		if !s.Acquire(1) {
			t.Error("refused below the limit")
		}
	}
	if s.Acquire(1) {
		t.Error("allowed a third request")
	}
	s.Release(2)
	if !s.Acquire(2) {
		t.Error("refused after a release")
	}
	if s.Acquire(2) {
		t.Error("allowed a third request after a release")
	}
}

func TestLimiterBucketHoldsOneSecond(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rateHz float64
		at     []int64
		want   []bool
	}{
		"five a second: five at once, then one each 200 ms": {
			5,
			[]int64{0, 0, 0, 0, 0, 0, 199e6, 200e6, 201e6, 400e6},
			[]bool{true, true, true, true, true, false, false, true, false, true},
		},
		"one in ten seconds: four at once, then one each 10 s": {
			0.1,
			[]int64{0, 0, 0, 0, 5e9, 9e9, 10e9, 10e9, 30e9, 30e9, 30e9},
			[]bool{true, true, true, true, false, false, true, false, true, true, false},
		},
		"an older instant adds nothing": {
			5,
			[]int64{9e9, 9e9, 9e9, 9e9, 9e9, 5e9, 9e9, 9.2e9},
			[]bool{true, true, true, true, true, false, false, true},
		},
		"an older instant takes nothing": {
			5,
			[]int64{9e9, 1e9, 9e9, 9e9, 1e9, 9e9},
			[]bool{true, true, true, true, true, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := load.NewLimiter(0, test.rateHz).Join()
			got := make([]bool, len(test.at))
			for i, at := range test.at {
				got[i] = s.Acquire(at)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimiterRefusedForItsSlotsKeepsItsTokens(t *testing.T) {
	t.Parallel()
	s := load.NewLimiter(1, 1).Join()
	s.Acquire(0)
	for range 100 {
		if s.Acquire(second) {
			t.Fatal("two in flight")
		}
	}
	s.Release(second)
	if !s.Acquire(second) {
		t.Error("the refusals took tokens")
	}
}

// asker is a target in a simulation: it asks at random instants, or evenly, and holds what it gets for a time.
type asker struct {
	hz     float64
	even   bool
	holds  time.Duration // on average
	share  *load.Share
	random *rand.Rand

	asked, got int     // from steady on
	slotTime   float64 // of what it got from steady on, in seconds
}

func (a *asker) next(now int64) int64 {
	gap := 1.0
	if !a.even {
		gap = a.random.ExpFloat64()
	}
	return now + max(1, int64(gap*1e9/a.hz))
}

// event is an asker that asks, or gives back.
type event struct {
	at      int64
	asker   *asker
	release bool
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// passed is when requests were allowed, and the most that ran at once.
type passed struct {
	at   []int64
	most int
}

// contend runs askers against a limiter until end; their counts begin at steady.
func contend(t *testing.T, l *load.Limiter, steady, end time.Duration, askers []*asker) passed {
	t.Helper()
	var queue events
	for i, a := range askers {
		a.share = l.Join()
		a.random = rand.New(rand.NewPCG(uint64(i), 7))
		heap.Push(&queue, event{at: int64(a.random.Float64() * 1e9 / a.hz), asker: a})
	}
	var out passed
	var running int
	for queue.Len() > 0 {
		e := heap.Pop(&queue).(event)
		if e.at > int64(end) {
			break
		}
		if e.release {
			e.asker.share.Release(e.at)
			running--
			continue
		}
		ok := e.asker.share.Acquire(e.at)
		var held time.Duration
		if ok {
			running++
			out.at = append(out.at, e.at)
			out.most = max(out.most, running)
			held = time.Duration((.5 + e.asker.random.Float64()) * float64(e.asker.holds))
			heap.Push(&queue, event{at: e.at + int64(held), asker: e.asker, release: true})
		}
		if e.at >= int64(steady) {
			e.asker.asked++
			if ok {
				e.asker.got++
				e.asker.slotTime += held.Seconds()
			}
		}
		heap.Push(&queue, event{at: e.asker.next(e.at), asker: e.asker})
	}
	return out
}

func within(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s = %v, want %v to %v", what, got, low, high)
	}
}

// TestLimiterOverAnyWindow checks the promise, at most rate*(t+1), for all windows of a load at twice the limit.
func TestLimiterOverAnyWindow(t *testing.T) {
	t.Parallel()
	const rate = 50
	got := contend(t, load.NewLimiter(0, rate), 0, time.Minute, []*asker{{hz: 70}, {hz: 30}})
	for i := range got.at {
		for j := i; j < len(got.at); j++ {
			seconds := time.Duration(got.at[j] - got.at[i]).Seconds()
			if n := float64(j - i + 1); n > rate*(seconds+1)+1e-6 {
				t.Fatalf("%v requests in %v s", n, seconds)
			}
		}
	}
	within(t, "share of the allowed rate that was used", float64(len(got.at))/(60*rate), 0.98, 1.02)
}

func TestLimiterSharesTheRateFairly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rateHz float64
		askers []*asker
		wantHz []float64 // of each
	}{
		"a modest one gets all it asks for beside two greedy ones": {
			50, []*asker{{hz: 150}, {hz: 70}, {hz: 5}}, []float64{22.5, 22.5, 5},
		},
		"one that asks once a minute too": {
			2, []*asker{{hz: 40}, {hz: 30, even: true}, {hz: 1. / 60, even: true}}, []float64{.99, .99, 1. / 60},
		},
		"who asks more often gets no more": {
			50, []*asker{{hz: 200}, {hz: 60, even: true}}, []float64{25, 25},
		},
		"below two a second": {
			0.5, []*asker{{hz: 10}, {hz: 3}, {hz: .02, even: true}}, []float64{.24, .24, .02},
		},
		"one alone gets everything beside idle ones": {
			50, []*asker{{hz: 200}, {hz: 1e-6}, {hz: 1e-6}, {hz: 1e-6}}, []float64{50, 0, 0, 0},
		},
		"those who are below their share leave the rest to the others": {
			60, []*asker{{hz: 200}, {hz: 200}, {hz: 15}, {hz: 5}}, []float64{20, 20, 15, 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const steady, end = 2 * time.Minute, 9 * time.Minute
			contend(t, load.NewLimiter(0, test.rateHz), steady, end, test.askers)
			for i, a := range test.askers {
				got := float64(a.got) / (end - steady).Seconds()
				within(t, "requests per second", got, test.wantHz[i]*.94, test.wantHz[i]*1.06+1e-3)
			}
		})
	}
}

func TestLimiterSharesTheSlotsFairly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		maxInFlight int
		askers      []*asker
		wantSlots   []float64 // of each, on average
		tolerance   float64
		wantUsed    float64 // at least
	}{
		"a modest one gets all it asks for beside two greedy ones": {
			64,
			[]*asker{{hz: 400, holds: 2 * time.Second}, {hz: 100, holds: 3 * time.Second}, {hz: .2, holds: time.Second}},
			[]float64{30.5, 30.5, .2},
			.15, .95,
		},
		"long requests get not much more than short ones": { // those leave their slots free until they ask again
			40,
			[]*asker{{hz: 200, holds: 20 * time.Second}, {hz: 200, holds: time.Second}},
			[]float64{19.5, 19.5},
			.4, .95,
		},
		"one alone gets nearly everything beside idle ones": {
			20,
			[]*asker{{hz: 600, holds: time.Second}, {hz: 1e-6}, {hz: 1e-6}},
			[]float64{19, 0, 0},
			.02, .945,
		},
		"two with two slots": {
			2,
			[]*asker{{hz: 400, holds: time.Second}, {hz: 200, holds: time.Second}},
			[]float64{1, 1},
			.1, .95,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const steady, end = 2 * time.Minute, 7 * time.Minute
			got := contend(t, load.NewLimiter(test.maxInFlight, 0), steady, end, test.askers)
			if got.most > test.maxInFlight {
				t.Errorf("%d in flight", got.most)
			}
			var used float64
			for i, a := range test.askers {
				average := a.slotTime / (end - steady).Seconds()
				within(t, "slots", average, test.wantSlots[i]*(1-test.tolerance), test.wantSlots[i]*(1+test.tolerance)+1e-3)
				used += average
			}
			within(t, "used slots", used/float64(test.maxInFlight), test.wantUsed, 1.01)
		})
	}
}

// TestLimiterNeverRefusesAModestTarget: once the greedy ones are at their shares, one that asks for less than its own always gets it.
func TestLimiterNeverRefusesAModestTarget(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		maxInFlight int
		rateHz      float64
		modest      *asker
	}{
		"by rate":                        {0, 50, &asker{hz: 12, even: true}},
		"by rate, at random instants":    {0, 50, &asker{hz: 6}},
		"by rate, now and then":          {0, 3, &asker{hz: .01}},
		"by slots":                       {64, 0, &asker{hz: .5, even: true, holds: 3 * time.Second}},
		"by slots, with few":             {4, 0, &asker{hz: .1, even: true, holds: 5 * time.Second}},
		"by slots, two at the same time": {64, 0, &asker{hz: .5, even: true, holds: 3900 * time.Millisecond}},
		"by both":                        {64, 30, &asker{hz: 1, even: true, holds: 900 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			greedy := []*asker{{hz: 100, holds: 2 * time.Second}, {hz: 60, holds: 5 * time.Second}}
			contend(t, load.NewLimiter(test.maxInFlight, test.rateHz), time.Minute, 6*time.Minute, append(greedy, test.modest))
			if m := test.modest; m.asked == 0 || m.got != m.asked {
				t.Errorf("%d of %d refused", m.asked-m.got, m.asked)
			}
			for _, g := range greedy {
				if g.got == 0 {
					t.Error("a greedy one starves")
				}
			}
		})
	}
}

// TestLimiterStarvesNobody: hundreds of targets want far more than there is, some of them ask a thousand times as often as others.
func TestLimiterStarvesNobody(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		maxInFlight int
		rateHz      float64
		holds       time.Duration
		fair        float64 // requests per second of each
		most, use   float64 // at most and at least, as parts of that
	}{
		"by rate":  {0, 50, 0, 50. / 300, 8, .95},
		"by slots": {64, 0, 2 * time.Second, 64. / 2 / 300, 4, .8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			askers := make([]*asker, 300)
			for i := range askers {
				askers[i] = &asker{hz: .5, even: true, holds: test.holds}
				if i < 15 {
					askers[i].hz = 20
				}
			}
			const steady, end = 90 * time.Second, 3 * time.Minute
			contend(t, load.NewLimiter(test.maxInFlight, test.rateHz), steady, end, askers)
			var total, least, most float64
			least = 1e9
			for _, a := range askers {
				got := float64(a.got) / (end - steady).Seconds() / test.fair
				total, least, most = total+got, min(least, got), max(most, got)
			}
			within(t, "least of a fair share", least, 0.5, 1)
			within(t, "most of a fair share", most, .8, test.most)
			within(t, "use", total/300, test.use, 1.01)
		})
	}
}

// TestLimiterKeepsASlotForOneThatWasRefused until that one has asked again.
func TestLimiterKeepsASlotForOneThatWasRefused(t *testing.T) {
	t.Parallel()
	l := load.NewLimiter(8, 0)
	a, b := l.Join(), l.Join()
	acquire := func(who string, s *load.Share, now int64, want bool) {
		t.Helper()
		if got := s.Acquire(now); got != want {
			t.Fatalf("%s at %v: %v, want %v", who, time.Duration(now), got, want)
		}
	}
	for range 7 {
		acquire("the greedy one", a, 0, true)
	}
	acquire("the greedy one", a, 0, false)
	acquire("the modest one", b, 0, true)
	acquire("the modest one", b, second, false)
	a.Release(second)
	a.Release(second)
	acquire("the greedy one, beside a claim", a, second, false)
	acquire("the modest one, again", b, second, true)
	a.Release(second)
	acquire("the greedy one, when the claim is met", a, second, true)
	acquire("the greedy one, for the last slot", a, second, false)
}

// One target wants to send all the time but its server has asked it not to; the other wants nine a second of the ten that are allowed.
func TestLimiterTakesNothingForWhatIsNotSent(t *testing.T) {
	t.Parallel()
	l := load.NewLimiter(0, 10)
	held, other := l.Join(), l.Join()
	refused := 0
	for now := int64(0); now < 60*second; now += second / 900 {
		if held.Acquire(now) {
			held.Cancel(now)
		}
		if now%(second/9) < second/900 && now > 0 {
			if other.Acquire(now) {
				other.Release(now)
			} else {
				refused++
			}
		}
	}
	if refused > 0 {
		t.Errorf("%d requests were refused for the sake of some that were never sent", refused)
	}
}

func TestLimiterForgetsATargetThatLeaves(t *testing.T) {
	t.Parallel()
	l := load.NewLimiter(4, 0)
	a, b := l.Join(), l.Join()
	for range 3 {
		if !a.Acquire(0) {
			t.Fatal("refused")
		}
	}
	if a.Acquire(second) {
		t.Error("took the last slot, which is kept for the other")
	}
	b.Leave()
	if !a.Acquire(second) {
		t.Error("a slot is kept for a target that has left")
	}
	a.Leave()
	for range 4 {
		a.Release(2 * second)
	}
	c := l.Join()
	for range 4 {
		if !c.Acquire(3 * second) {
			t.Error("the slots of a target that has left were not given back")
		}
	}
}

func TestLimiterUnderConcurrency(t *testing.T) {
	t.Parallel()
	l := load.NewLimiter(3, 0)
	var running, allowed atomic.Int64
	var targets sync.WaitGroup
	for range 8 {
		targets.Go(func() {
			s := l.Join()
			defer s.Leave()
			for now := range int64(2000) {
				if !s.Acquire(now) {
					continue
				}
				if n := running.Add(1); n > 3 {
					t.Errorf("%d in flight", n)
				}
				allowed.Add(1)
				running.Add(-1)
				s.Release(now)
			}
		})
	}
	targets.Wait()
	if allowed.Load() == 0 {
		t.Error("nothing was allowed")
	}
}

func TestLimiterReleaseWithoutPermissionPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	load.NewLimiter(0, 0).Join().Release(1)
}

func BenchmarkLimiter(b *testing.B) {
	for name, targets := range map[string]int{"1 target": 1, "300 targets": 300} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			l := load.NewLimiter(64, 1e9)
			shares := make([]*load.Share, targets)
			for i := range shares {
				shares[i] = l.Join()
			}
			var now int64
			for i := 0; b.Loop(); i++ {
				now += 1000
				if s := shares[i%targets]; s.Acquire(now) {
					s.Release(now)
				}
			}
		})
	}
}
