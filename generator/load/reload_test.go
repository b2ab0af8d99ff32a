package load_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// follow has a load take over at an instant.
func follow(s *load.Schedule, c *load.Config, at int64) *load.Schedule {
	return s.Follow(c, &load.Origin{Anchor: at, Wall: at, Seed: 1, Target: "t", Instance: "i", Turns: 1}, nil)
}

func begin(c *load.Config) *load.Schedule {
	return load.NewSchedule(c, &load.Origin{Seed: 1, Target: "t", Instance: "i", Turns: 1}, nil)
}

// due pops all that is ready until an instant.
func due(s *load.Schedule, until int64) (out []load.Arrival) {
	for at, ok := s.Peek(); ok && at <= until; at, ok = s.Peek() {
		out = append(out, s.Pop())
	}
	return out
}

func TestArrivalsGoOnHoweverOftenLoadsFollowEachOther(t *testing.T) {
	t.Parallel()
	for _, mode := range []load.Mode{load.Constant, load.Poisson, load.Gamma, load.Probe, load.Users} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			c := load.DefaultConfig()
			c.Mode, c.Rate = mode, 1
			switch mode {
			case load.Users:
				c.Users = 3
			case load.Probe:
				c.Rate, c.Interval = 0, time.Second
			default:
			}
			s, n := begin(&c), 0
			const step = second / 10
			for now := int64(0); now < 1000*second; now += step { // ten changes for each arrival
				for _, a := range due(s, now) {
					if a.Ready > now {
						t.Fatalf("an arrival of %d at %d", a.Ready, now)
					}
					n++
					s.Ended(a, now, now)
				}
				c.MaxCatchup++
				s = follow(s, &c, now)
			}
			if n < 850 || n > 1150 {
				t.Errorf("%d arrivals in 1000 s, want one each second", n)
			}
		})
	}
}

func TestAClosedLoadCountsTheRequestsThatRun(t *testing.T) {
	t.Parallel()
	config := func(workers int) *load.Config {
		c := load.DefaultConfig()
		c.Mode, c.Concurrency, c.MinInterval = load.Closed, workers, time.Second
		return &c
	}
	for name, test := range map[string]struct{ before, after, want int }{
		"as many workers":  {4, 4, 0},
		"more workers":     {4, 7, 3},
		"fewer workers":    {4, 2, 0},
		"from open":        {0, 2, 0},
		"from open, fewer": {0, 6, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *load.Schedule
			var running []load.Arrival
			if test.before > 0 {
				s = begin(config(test.before))
				running = due(s, 0)
			} else {
				c := load.DefaultConfig()
				c.Rate = 1
				s = begin(&c)
				running = due(s, 4*second)
			}
			s = follow(s, config(test.after), 5*second)
			fresh := due(s, 5*second)
			if len(fresh) != test.want {
				t.Errorf("%d requests at once beside the %d that run, want %d", len(fresh), len(running), test.want)
			}
			for _, a := range append(running, fresh...) {
				s.Ended(a, 5*second, 6*second)
			}
			if got := len(due(s, 100*second)); got != test.after {
				t.Errorf("%d workers in the end, want %d", got, test.after)
			}
		})
	}
}

func TestIdleWorkersKeepTheirWait(t *testing.T) {
	t.Parallel()
	c := load.DefaultConfig()
	c.Mode, c.Concurrency, c.MinInterval = load.Closed, 1, 10*time.Second
	s := begin(&c)
	for now := int64(0); now < 100*second; now += second {
		for _, a := range due(s, now) {
			if now%(10*second) != 0 {
				t.Errorf("a request at %v", time.Duration(now))
			}
			s.Ended(a, now, now+1)
		}
		c.MaxInFlight++
		s = follow(s, &c, now+1)
	}
}

func TestAProbeDoesNotMeetTheRequestsOfTheLoadBefore(t *testing.T) {
	t.Parallel()
	open := load.DefaultConfig()
	open.Rate = 1
	s := begin(&open)
	running := due(s, 3*second)
	c := load.DefaultConfig()
	c.Mode, c.Interval = load.Probe, time.Second
	s = follow(s, &c, 3*second)
	for i, a := range running {
		if got := due(s, int64(i+4)*second); len(got) == 0 || !got[0].Overlap {
			t.Errorf("a probe beside %d requests: %+v", len(running)-i, got)
		}
		s.Ended(a, second, int64(i+4)*second)
	}
	if got := due(s, 20*second); len(got) == 0 || got[0].Overlap {
		t.Errorf("no probe when all have ended: %+v", got)
	}
}

func TestUsersWhoWaitForAnAnswerStillDo(t *testing.T) {
	t.Parallel()
	c := load.DefaultConfig()
	c.Mode, c.Users, c.Rate = load.Users, 3, 1
	s := begin(&c)
	running := due(s, 3*second)
	c.Rate = 2
	s = follow(s, &c, 3*second)
	if got := due(s, 60*second); slices.ContainsFunc(got, func(a load.Arrival) bool { return !a.Overlap }) {
		t.Errorf("a user asks twice at once: %+v", got)
	}
	for _, a := range running {
		s.Ended(a, second, 60*second)
	}
	if got := due(s, 61*second); len(got) < len(running) {
		t.Errorf("%d arrivals when the answers have come, want one of each user", len(got))
	}
}

func TestOnlyWhatShapesArrivalsNeedsAnotherSchedule(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*load.Config)
		same   bool
	}{
		"nothing":       {func(*load.Config) {}, true},
		"max_in_flight": {func(c *load.Config) { c.MaxInFlight = 99 }, true},
		"queue":         {func(c *load.Config) { c.OnFull, c.Queue.Size = load.Queue, 3 }, true},
		"backoff":       {func(c *load.Config) { c.Backoff.Mode = load.BackoffOff }, true},
		"paused":        {func(c *load.Config) { c.Paused = true }, true},
		"cancel":        {func(c *load.Config) { c.Cancel.Percent = 5 }, true},
		"rate":          {func(c *load.Config) { c.Rate = 7 }, false},
		"mode":          {func(c *load.Config) { c.Mode = load.Poisson }, false},
		"window":        {func(c *load.Config) { c.Schedule = []load.WindowConfig{{Name: "day"}} }, false},
		"ramp":          {func(c *load.Config) { c.Ramp.Duration = time.Second }, false},
		"loop":          {func(c *load.Config) { no := false; c.Loop = &no }, false},
	} {
		a, b := load.DefaultConfig(), load.DefaultConfig()
		test.change(&b)
		if got := a.SameArrivals(&b); got != test.same {
			t.Errorf("%s: same arrivals %v, want %v", name, got, test.same)
		}
	}
}

func TestAGateKeepsItsQueueWhenItsLimitsChange(t *testing.T) {
	t.Parallel()
	config := func(inFlight, size int) *load.Config {
		c := load.DefaultConfig()
		c.MaxInFlight, c.OnFull, c.Queue = inFlight, load.Queue, load.QueueConfig{Size: size, MaxWait: 10 * time.Second}
		if size == 0 {
			c.OnFull = load.Drop
		}
		return &c
	}
	g := load.NewGate(config(1, 4))
	for i := range 5 {
		g.Offer(load.Arrival{Entry: uint64(i)}, 0)
	}
	if g.Configure(config(1, 0), 1) {
		t.Error("a decision without a free slot")
	}
	if d := g.Offer(load.Arrival{Entry: 9}, 1); d.Reason != metrics.DropInFlight || g.Queued() != 4 {
		t.Errorf("%+v, %d queued: nothing is queued any more, and nothing is lost", d, g.Queued())
	}
	if !g.Configure(config(3, 9), 2) {
		t.Error("no decision though two slots are free")
	}
	var order []uint64
	for a, d, ok := g.Next(2); ok; a, d, ok = g.Next(2) {
		if d.Verdict != load.Send {
			t.Errorf("%+v", d)
		}
		order = append(order, a.Entry)
	}
	g.Configure(config(1, 1), 3)
	for range 3 {
		g.Release(4, true)
	}
	for a, _, ok := g.Next(4); ok; a, _, ok = g.Next(4) {
		order = append(order, a.Entry)
	}
	if diff := cmp.Diff([]uint64{1, 2, 3}, order); diff != "" {
		t.Errorf("handed out (-want +got):\n%s", diff)
	}
	if at, ok := g.Deadline(); !ok || at != 10*second+1 {
		t.Errorf("the last one waits until %v, %v: it keeps the wait that it had", at, ok)
	}
}

// TestNoArrivalIsLostWhileAGateChanges at random.
func TestNoArrivalIsLostWhileAGateChanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := load.DefaultConfig()
		c.OnFull, c.Queue = load.Queue, load.QueueConfig{Size: 5, MaxWait: time.Second}
		g := load.NewGate(&c)
		var offered, sent, dropped, running int
		count := func(v load.Verdict) {
			switch v {
			case load.Send:
				sent++
				running++
			case load.Dropped:
				dropped++
			case load.Queued:
			}
		}
		for now := int64(0); now < 100*second; now += second / 10 {
			switch random.IntN(4) {
			case 0:
				c.MaxInFlight, c.Queue.Size = 1+random.IntN(5), 1+random.IntN(10)
				if c.OnFull = load.Queue; random.IntN(3) == 0 {
					c.OnFull = load.Drop
				}
				g.Configure(&c, now)
			case 1:
				if running > 0 {
					running--
					g.Release(now, true)
				}
			default:
				offered++
				count(g.Offer(load.Arrival{}, now).Verdict)
			}
			for _, d, ok := g.Next(now); ok; _, d, ok = g.Next(now) {
				count(d.Verdict)
			}
			if offered != sent+dropped+g.Queued() || g.InFlight() != running {
				t.Fatalf("seed %d: %d offered, %d sent, %d dropped, %d queued; %d in flight, want %d", seed, offered, sent, dropped, g.Queued(), g.InFlight(), running)
			}
		}
	}
}

func TestALimiterTakesOtherLimits(t *testing.T) {
	t.Parallel()
	l := load.NewLimiter(0, 0)
	s := l.Join()
	acquired := func(now int64, n int) (yes int) {
		for range n {
			if s.Acquire(now) {
				yes++
			}
		}
		return yes
	}
	if got := acquired(1, 20); got != 20 {
		t.Errorf("%d of 20 without limits", got)
	}
	l.Configure(10, 0)
	if acquired(2, 1) != 0 {
		t.Error("one more than the ten that the new limit allows")
	}
	for range 15 {
		s.Release(3)
	}
	if got := acquired(4, 20); got != 5 {
		t.Errorf("%d, want the 5 slots that are free", got)
	}
	l.Configure(0, 8)
	if got := acquired(second, 100); got != 8 {
		t.Errorf("%d, want a second's worth of 8/s", got)
	}
	l.Configure(0, 8) // changes nothing, hence gives nothing
	if acquired(second, 1) != 0 {
		t.Error("a limit that stays the same gives tokens")
	}
	l.Configure(0, 0)
	if got := acquired(second, 100); got != 100 {
		t.Errorf("%d of 100 without limits", got)
	}
}

func TestABackoffKeepsWhatTheServerHasAskedFor(t *testing.T) {
	t.Parallel()
	c := load.DefaultBackoffConfig()
	b := load.NewBackoff(&c, [32]byte{})
	b.Note(load.Observation{Start: 1, Outcome: metrics.Failure, Status: 429, RetryAfter: metrics.Value{V: 60, Defined: true}}, 2)
	c.Max, c.Mode = time.Minute, load.BackoffAll
	b.Configure(&c)
	b.Reconfigured(3)
	if !b.Active(59 * second) {
		t.Error("the pause that the server asked for is over")
	}
	c.Mode = load.BackoffOff
	b.Configure(&c)
	if b.Active(4) {
		t.Error("a pause though none are wanted")
	}
}

func TestABackoffForgetsARefusalOfWhatWasChanged(t *testing.T) {
	t.Parallel()
	c := load.DefaultBackoffConfig()
	b := load.NewBackoff(&c, [32]byte{})
	refused := func(start, now int64) {
		b.Note(load.Observation{Start: start, Outcome: metrics.Failure, Class: metrics.ErrHTTP4xx, Status: 401}, now)
	}
	for i := range int64(3) {
		refused(10+i, 20+i)
	}
	if !b.Refused() {
		t.Fatal("three refusals in a row are none")
	}
	b.Reconfigured(30)
	if b.Refused() || !b.Admit(31) {
		t.Error("still refused, before the new key was tried")
	}
	for i := range int64(3) {
		refused(25+i, 40+i) // sent with the old key
	}
	if b.Refused() {
		t.Error("refused for what was sent before")
	}
	for i := range int64(3) {
		refused(50+i, 60+i)
	}
	if !b.Refused() {
		t.Error("not refused, though the new key is")
	}
}
