package load_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

const second = int64(time.Second)

func config(mode load.Mode, rateHz float64) *load.Config {
	c := load.DefaultConfig()
	c.Mode, c.Rate = mode, rateHz
	return &c
}

// next is the instant of the next arrival, of which there has to be one.
func next(s *load.Schedule) int64 {
	at, ok := s.Peek()
	if !ok {
		panic("there is no next arrival")
	}
	return at
}

// arrivals takes the next n instants.
func arrivals(s *load.Schedule, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = s.Pop().Sched
	}
	return out
}

func TestConstantIsOnAnAbsoluteGrid(t *testing.T) {
	t.Parallel()
	interval := load.DefaultConfig()
	interval.Interval = 1500 * time.Millisecond
	unset := load.DefaultConfig()
	for name, test := range map[string]struct {
		config *load.Config
		want   []int64
	}{
		"a whole rate":                     {config(load.Constant, 4), []int64{0, 250e6, 500e6, 750e6, 1e9}},
		"three a second, rounded down":     {config(load.Constant, 3), []int64{0, 333_333_333, 666_666_666, 1_000_000_000, 1_333_333_333}},
		"a tenth is a tenth":               {config(load.Constant, 0.1), []int64{0, 10e9, 20e9, 30e9, 40e9}},
		"an interval":                      {&interval, []int64{0, 1500e6, 3000e6, 4500e6, 6000e6}},
		"nothing set is one every 30 s":    {&unset, []int64{0, 30e9, 60e9, 90e9, 120e9}},
		"a rate with an exponent":          {config(load.Constant, 1e-6), []int64{0, 1e15, 2e15, 3e15, 4e15}},
		"the highest rate, without jitter": {config(load.Constant, 1e5), []int64{0, 10e3, 20e3, 30e3, 40e3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const anchor = 77
			got := arrivals(load.NewSchedule(test.config, &load.Origin{Anchor: anchor}, nil), len(test.want))
			for i := range got {
				got[i] -= anchor
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("offsets (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConstantDoesNotDrift compares arrivals far out, reached by skipping, with exact fractions.
func TestConstantDoesNotDrift(t *testing.T) {
	t.Parallel()
	for rate, tolerance := range map[float64]int64{
		3: 0, 7: 0, 0.3: 0, 999.9: 0, 0.123456789: 0, 12345.6789: 0, 31.41592653589793: 0, 4e-7: 0,
		1 / 3.0: 1, 1.2345678901234567e-5: 1, // too many digits for the exact fraction
	} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			meant, _ := new(big.Rat).SetString(strconv.FormatFloat(rate, 'g', -1, 64))
			for _, n := range []int64{1, 2, 1000, 1_000_003, 1_000_000_000, 1_000_000_007} {
				exact := new(big.Rat).Quo(new(big.Rat).SetInt64(n*second), meant)
				if !new(big.Int).Quo(exact.Num(), exact.Denom()).IsInt64() {
					continue // later than the clock can tell
				}
				want := new(big.Int).Quo(exact.Num(), exact.Denom()).Int64()
				c := config(load.Constant, rate)
				c.MaxCatchup = 1
				s := load.NewSchedule(c, &load.Origin{}, nil)
				if skipped := s.SkipLate(want - tolerance); skipped != n {
					t.Errorf("n = %d: %d arrivals before it", n, skipped)
				}
				if got := next(s); got > want || got < want-tolerance {
					t.Errorf("n = %d: at %d, want %d", n, got, want)
				}
			}
		})
	}
}

func TestPhaseSpreadsTargetsAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	const wall = 1_790_000_000 * second
	c := config(load.Constant, 0.7)
	first := func(instance, target string, wall int64) int64 {
		return next(load.NewSchedule(c, &load.Origin{Wall: wall, Instance: instance, Target: target}, nil))
	}
	period := int64(math.Round(1e9 / 0.7))
	a := first("exporter-1", "a", wall)
	if b := first("exporter-1", "b", wall); a == b {
		t.Errorf("two targets have the same phase %d", a)
	}
	if b := first("exporter-2", "a", wall); a == b {
		t.Errorf("two exporters have the same phase %d", a)
	}
	if b := first("exporter-1", "a", wall); a != b {
		t.Errorf("phase %d, then %d", a, b)
	}
	if none := first("", "a", wall); none != 0 {
		t.Errorf("without an instance the first arrival is at %d, want 0", none)
	}

	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		later := random.Int64N(365 * 24 * 3600 * second)
		restarted := first("exporter-1", "a", wall+later)
		if restarted < 0 || restarted > period {
			t.Fatalf("first arrival %d ns after the start, period is %d", restarted, period)
		}
		// Both are instants of one grid: their distance is a multiple of the period.
		n := math.Round(float64(later+restarted-a) * 0.7 / 1e9)
		want := new(big.Rat).Quo(new(big.Rat).SetFloat64(n*1e9), big.NewRat(7, 10))
		off, _ := new(big.Rat).Sub(big.NewRat(later+restarted-a, 1), want).Float64()
		if math.Abs(off) > 2 {
			t.Fatalf("after %d ns the grid has moved by %v ns", later, off)
		}
	}
}

func TestPhasesAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	c := config(load.Constant, 1)
	var tenths [10]int
	const targets = 10_000
	for i := range targets {
		s := load.NewSchedule(c, &load.Origin{Wall: 1_790_000_000*second + 123_456_789, Instance: "i", Target: fmt.Sprint("target-", i)}, nil)
		tenths[next(s)*10/second]++
	}
	for i, n := range tenths {
		// 1000 expected, standard deviation 30.
		if n < 850 || n > 1150 {
			t.Errorf("%d of %d targets start in tenth %d of the period", n, targets, i)
		}
	}
}

func TestPoissonHasExponentialIntervals(t *testing.T) {
	t.Parallel()
	const n = 200_000
	for _, rate := range []float64{0.02, 1, 50, 100_000} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			s := load.NewSchedule(config(load.Poisson, rate), &load.Origin{Seed: 7, Target: "a"}, nil)
			var sum, squares float64
			var previous int64
			var above int // intervals longer than the mean: a share of 1/e
			for _, at := range arrivals(s, n) {
				if at < previous {
					t.Fatalf("arrival at %d after one at %d", at, previous)
				}
				interval := float64(at-previous) * rate / 1e9
				sum += interval
				squares += interval * interval
				if interval > 1 {
					above++
				}
				previous = at
			}
			mean := sum / n
			cv := math.Sqrt(squares/n-mean*mean) / mean
			// Standard errors: 1/sqrt(n) = 0.0022 for mean and CV, 0.0011 for the share.
			if math.Abs(mean-1) > 0.01 || math.Abs(cv-1) > 0.01 || math.Abs(float64(above)/n-1/math.E) > 0.006 {
				t.Errorf("mean %v (want 1), CV %v (want 1), share above the mean %v (want %v)", mean, cv, float64(above)/n, 1/math.E)
			}
		})
	}
}

func TestPoissonIsReproducible(t *testing.T) {
	t.Parallel()
	sequence := func(seed uint64, target string) []int64 {
		return arrivals(load.NewSchedule(config(load.Poisson, 2), &load.Origin{Seed: seed, Target: target}, nil), 100)
	}
	base := sequence(7, "a")
	if diff := cmp.Diff(base, sequence(7, "a")); diff != "" {
		t.Errorf("the same seed gives another sequence:\n%s", diff)
	}
	for name, other := range map[string][]int64{"another target": sequence(7, "b"), "another seed": sequence(8, "a")} {
		if cmp.Equal(base, other) {
			t.Errorf("%s gives the same sequence", name)
		}
	}
	if base[0] == 0 {
		t.Error("the first interval is not random")
	}
}

func TestAStallLeavesNoOffset(t *testing.T) {
	t.Parallel()
	for _, mode := range []load.Mode{load.Constant, load.Poisson} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			c := config(mode, 20)
			undisturbed := arrivals(load.NewSchedule(c, &load.Origin{Seed: 1, Anchor: 5}, nil), 4000)

			s := load.NewSchedule(c, &load.Origin{Seed: 1, Anchor: 5}, nil)
			var got []int64
			var late int
			for now := int64(0); now < 100*second; now += int64(time.Millisecond) {
				if now == 30*second {
					now = 40 * second // a stall of 10 s, of which the last one is caught up with
				}
				for next(s) <= now {
					at := s.Pop().Sched
					if now-at > second {
						late++
					}
					got = append(got, at)
				}
			}
			if diff := cmp.Diff(undisturbed[:len(got)], got); diff != "" {
				t.Errorf("the stall moved arrivals (-undisturbed +got):\n%s", diff)
			}
			var want int
			for _, at := range undisturbed {
				if at >= 30*second && at < 39*second {
					want++
				}
			}
			if late != want {
				t.Errorf("%d late arrivals, want %d", late, want)
			}
		})
	}
}

// TestSkipLateIsPopInBulk compares both on schedules that fall behind by random times.
func TestSkipLateIsPopInBulk(t *testing.T) {
	t.Parallel()
	for _, mode := range []load.Mode{load.Constant, load.Poisson} {
		for _, rate := range []float64{0.3, 3, 1000} {
			t.Run(fmt.Sprint(mode, rate), func(t *testing.T) {
				t.Parallel()
				c := config(mode, rate)
				origin := &load.Origin{Seed: 3, Anchor: -12, Wall: 1_790_000_000 * second, Instance: "i", Target: "t"}
				bulk, single := load.NewSchedule(c, origin, nil), load.NewSchedule(c, origin, nil)
				random := rand.New(rand.NewPCG(4, uint64(rate*10)))
				var now, total int64
				for range 300 {
					now += random.Int64N(10 * second)
					skipped := bulk.SkipLate(now)
					var popped int64
					if now-next(single) > int64(c.MaxCatchup) {
						for ; next(single) < now; popped++ {
							single.Pop()
						}
					}
					if skipped != popped || next(bulk) != next(single) {
						t.Fatalf("at %d: skipped %d, next %d; one by one %d, next %d", now, skipped, next(bulk), popped, next(single))
					}
					total += skipped
					if bulk.Pop() != single.Pop() {
						t.Fatal("the next arrivals differ")
					}
				}
				if total == 0 {
					t.Error("nothing was ever late")
				}
			})
		}
	}
}

func TestWhatIsMissedByMoreThanMaxCatchupIsSkippedWhole(t *testing.T) {
	t.Parallel()
	c := load.DefaultConfig()
	c.Interval, c.MaxCatchup = 10*time.Microsecond, time.Millisecond
	for name, test := range map[string]struct {
		now     int64
		skipped int64
	}{
		"exactly max_catchup is not late":                  {1_000_000, 0},
		"one nanosecond more is, with all that was missed": {1_000_001, 101},
		"an arrival of this instant was not missed":        {1_010_000, 101},
		"an arrival of the nanosecond before was":          {1_010_001, 102},
		"a long stop": {1_000_000_000, 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if skipped := load.NewSchedule(&c, &load.Origin{}, nil).SkipLate(test.now); skipped != test.skipped {
				t.Errorf("skipped %d, want %d", skipped, test.skipped)
			}
		})
	}
}

// benchmarked are loads by what they measure.
func benchmarked() map[string]*load.Config {
	varying := func(mode load.Mode) *load.Config {
		c := config(mode, 1000.0/3)
		c.TZ = "Europe/Budapest"
		c.Schedule = []load.WindowConfig{{From: "08:00", To: "20:00", Multiplier: 5}, {From: "22:00", To: "06:00", Multiplier: 0.5}}
		return c
	}
	series := config(load.Poisson, 0)
	series.RateSeries = []load.PointConfig{{Rate: 1000}, {At: 12 * time.Hour, Rate: 10}}
	out := map[string]*load.Config{"constant with windows": varying(load.Constant), "poisson with windows": varying(load.Poisson), "poisson with a series": series}
	for _, mode := range []load.Mode{load.Constant, load.Poisson, load.Gamma, load.Closed, load.Probe, load.Users} {
		out[string(mode)] = config(mode, 1000.0/3)
	}
	out["gamma"].Smoothness = 0.5
	out["users"].Users = 10
	out["closed"].Concurrency = 10
	return out
}

func BenchmarkPop(b *testing.B) {
	for name, c := range benchmarked() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s := load.NewSchedule(c, &load.Origin{Wall: 1_790_000_000 * second}, nil)
			for b.Loop() {
				a := s.Pop()
				s.Ended(a, a.Ready, a.Ready+1)
			}
		})
	}
}

func BenchmarkRate(b *testing.B) {
	for name, c := range benchmarked() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s := load.NewSchedule(c, &load.Origin{Wall: 1_790_000_000 * second}, nil)
			for now := int64(0); b.Loop(); now += 15 * second {
				s.Rate(now)
			}
		})
	}
}

// BenchmarkSkipLate wakes up after ten hours: twelve million arrivals, or more. Random ones are drawn all the same.
func BenchmarkSkipLate(b *testing.B) {
	all := benchmarked()
	for _, name := range []string{"constant", "constant with windows", "probe", "users", "poisson"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s := load.NewSchedule(all[name], &load.Origin{Wall: 1_790_000_000 * second}, nil)
			for b.Loop() {
				s.SkipLate(next(s) + 36_000*second)
			}
		})
	}
}

// BenchmarkNeverAgain finds out that nothing is wanted any more, which is done once.
func BenchmarkNeverAgain(b *testing.B) {
	no := false
	c := config(load.Poisson, 1)
	c.Schedule = []load.WindowConfig{{From: "06:00", To: "18:00", TZ: "Europe/Budapest", Enabled: &no}, {From: "18:00", To: "06:00", TZ: "Europe/Budapest", Enabled: &no}}
	b.ReportAllocs()
	for b.Loop() {
		load.NewSchedule(c, &load.Origin{}, nil)
	}
}
