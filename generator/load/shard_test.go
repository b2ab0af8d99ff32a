package load_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

func TestParseShard(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]load.Shard{
		"0/1": {Index: 0, Count: 1}, "0/4": {Index: 0, Count: 4}, "3/4": {Index: 3, Count: 4}, "9999/10000": {Index: 9999, Count: 10_000},
	} {
		if got, err := load.ParseShard(text); err != nil || got != want || got.String() != text {
			t.Errorf("ParseShard(%q) = %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":        `shard "": must be INDEX/COUNT, such as 0/4 for the first of four`,
		"2":       `shard "2": must be INDEX/COUNT, such as 0/4 for the first of four`,
		"a/4":     `shard "a/4": index and count must be whole numbers, such as 0/4 for the first of four`,
		"1/4/2":   `shard "1/4/2": index and count must be whole numbers, such as 0/4 for the first of four`,
		"4/4":     `shard "4/4": the index must be between 0 and 3`,
		"-1/4":    `shard "-1/4": the index must be between 0 and 3`,
		"0/0":     `shard "0/0": the count must be between 1 and 10000`,
		"0/10001": `shard "0/10001": the count must be between 1 and 10000`,
	} {
		if _, err := load.ParseShard(text); err == nil || err.Error() != want {
			t.Errorf("ParseShard(%q): %v, want %s", text, err, want)
		}
	}
}

func TestSharesSumUpAndDifferByOneAtMost(t *testing.T) {
	t.Parallel()
	if got := (load.Shard{}).Share(7); got != 7 {
		t.Errorf("without shards the share of 7 is %d", got)
	}
	for count := 1; count <= 9; count++ {
		for n := range 30 {
			var shares []int
			sum := 0
			for i := range count {
				share := load.Shard{Index: i, Count: count}.Share(n)
				shares = append(shares, share)
				sum += share
			}
			if sum != n || slices.Max(shares)-slices.Min(shares) > 1 {
				t.Errorf("%d in %d shares: %v", n, count, shares)
			}
		}
	}
}

// shards starts the schedules of all shards, at different times of the wall clock but with the same offsets.
func shards(c *load.Config, count int, started func(int) int64) []*load.Schedule {
	const wall = 1_790_000_000*second + 123
	var out []*load.Schedule
	for i := range count {
		o := &load.Origin{Wall: wall, Seed: 4, Target: "a", Instance: fmt.Sprint("exporter-", i), Shard: load.Shard{Index: i, Count: count}, Turns: 4}
		if started != nil {
			o.Anchor = started(i)
			o.Wall += o.Anchor
		}
		out = append(out, load.NewSchedule(c, o, nil))
	}
	return out
}

// merged is the arrivals of all shards between two instants.
func merged(all []*load.Schedule, from, end int64) []int64 {
	var out []int64
	for _, s := range all {
		for _, instant := range until(s, end) {
			if instant >= from {
				out = append(out, instant)
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestShardsOfEvenlySpacedArrivalsMakeTheWholeGrid(t *testing.T) {
	t.Parallel()
	apart := func(i int) int64 { return int64(i*i) * 12_345_678_901 } // started one after the other
	for _, mode := range []load.Mode{load.Constant, load.Probe} {
		for _, count := range []int{2, 3, 7} {
			t.Run(fmt.Sprint(mode, count), func(t *testing.T) {
				t.Parallel()
				c := config(mode, 3) // no whole number of nanoseconds
				from, end := 1000*second, 1100*second
				whole := merged(shards(c, 2, nil), from, end)
				if len(whole) != 300 {
					t.Fatalf("%d arrivals, want 300", len(whole))
				}
				for i, gap := range gaps(whole, 1)[1:] {
					if gap < 333_333_333 || gap > 333_333_334 {
						t.Fatalf("gap %d is %v", i, gap)
					}
				}
				if diff := cmp.Diff(whole, merged(shards(c, count, apart), from, end)); diff != "" {
					t.Errorf("%d shards (-two shards +others):\n%s", count, diff)
				}
			})
		}
	}
}

func TestShardsOfAVaryingConstantLoadTakeTurns(t *testing.T) {
	t.Parallel()
	c := config(load.Constant, 10)
	c.Schedule = []load.WindowConfig{{From: "00:00", To: "24:00", Multiplier: 2}}
	got := gaps(merged(shards(c, 4, nil), 0, 100*second), 1)
	for i, gap := range got[1:] {
		if math.Abs(gap-5e7) > 2 {
			t.Fatalf("gap %d is %v, want 50 ms", i, gap)
		}
	}
}

func TestShardsOfPoissonArePoisson(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*load.Config){
		"with a constant rate": func(*load.Config) {},
		"with a window":        func(c *load.Config) { c.Rate, c.Schedule = 10, []load.WindowConfig{{Multiplier: 4}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(load.Poisson, 40)
			change(c)
			all := shards(c, 4, nil)
			got := gaps(merged(all, 0, 2500*second), 1e9/40)
			average, cv := meanCV(got)
			if math.Abs(average-1) > 0.013 || math.Abs(cv-1) > 0.013 { // standard error 0.0032
				t.Errorf("mean %v, CV %v, want 1 and 1", average, cv)
			}
			wantLaw(t, "intervals of all shards", got, exponential)
		})
	}
}

func TestGammaBelongsToOneShard(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*load.Config){
		"with a constant rate":                  func(c *load.Config) { c.Mode = load.Gamma },
		"with a window":                         func(c *load.Config) { c.Mode, c.Schedule = load.Gamma, []load.WindowConfig{{Multiplier: 1}} },
		"in a window of another law":            func(c *load.Config) { c.Schedule = []load.WindowConfig{{Mode: load.Gamma}} },
		"in a window, and otherwise by poisson": func(c *load.Config) { c.Mode, c.Schedule = load.Poisson, []load.WindowConfig{{Mode: load.Gamma}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(load.Constant, 40)
			c.Smoothness = 4
			change(c)
			owners := 0
			for _, s := range shards(c, 4, nil) {
				hz, ok := s.Rate(0)
				instants := until(s, 100*second)
				if len(instants) == 0 && hz == 0 && ok {
					continue
				}
				owners++
				if math.Abs(float64(len(instants))-4000) > 150 || hz != 40 { // standard deviation 32
					t.Errorf("the owner has %d arrivals at the rate %v, want 4000 at 40", len(instants), hz)
				}
			}
			if owners != 1 {
				t.Errorf("%d shards have arrivals, want 1", owners)
			}
		})
	}
}

func TestShardsDivideWorkersAndUsers(t *testing.T) {
	t.Parallel()
	closed := config(load.Closed, 0)
	closed.Concurrency = 6
	var workers []int
	for _, s := range shards(closed, 4, nil) {
		n := 0
		for _, ok := s.Peek(); ok; _, ok = s.Peek() {
			s.Pop()
			n++
		}
		workers = append(workers, n)
	}
	if diff := cmp.Diff([]int{2, 2, 1, 1}, workers); diff != "" {
		t.Errorf("workers (-want +got):\n%s", diff)
	}

	c := config(load.Users, 10)
	c.Users = 5
	apart := func(i int) int64 { return int64(i) * 98_765_432_101 }
	type tick struct {
		at   int64
		user uint64
	}
	ticks := func(all []*load.Schedule) (out []tick) {
		for _, s := range all {
			for at, ok := s.Peek(); ok && at < 1000*second; at, ok = s.Peek() {
				a := s.Pop()
				s.Ended(a, a.Ready, a.Ready+1)
				if at >= 900*second {
					out = append(out, tick{at, a.User})
				}
			}
		}
		slices.SortFunc(out, func(a, b tick) int { return int(a.at - b.at) })
		return out
	}
	whole := ticks(shards(c, 2, nil))
	if len(whole) != 1000 {
		t.Errorf("%d arrivals of users, want 1000", len(whole))
	}
	if diff := cmp.Diff(whole, ticks(shards(c, 7, apart)), cmp.AllowUnexported(tick{})); diff != "" {
		t.Errorf("users (-two shards +seven):\n%s", diff)
	}
}

func TestTheRatesOfShardsSumUp(t *testing.T) {
	t.Parallel()
	for _, mode := range []load.Mode{load.Constant, load.Poisson, load.Gamma, load.Probe, load.Users} {
		c := config(mode, 12)
		if mode == load.Users {
			c.Users = 5
		}
		sum := 0.0
		for _, s := range shards(c, 7, nil) {
			hz, ok := s.Rate(5)
			if !ok {
				t.Errorf("%s has no rate", mode)
			}
			sum += hz
		}
		if math.Abs(sum-12) > 1e-9 {
			t.Errorf("%s: the rates sum up to %v, want 12", mode, sum)
		}
	}
}
