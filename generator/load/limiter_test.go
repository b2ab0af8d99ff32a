package load_test

import (
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
	for i := range 10_000 {
		if !l.Acquire(0) {
			t.Fatalf("request %d refused", i)
		}
	}
}

func TestLimiterBoundsRequestsInFlight(t *testing.T) {
	t.Parallel()
	l := load.NewLimiter(2, 0)
	for range 2 {
		if !l.Acquire(1) {
			t.Error("refused below the limit")
		}
	}
	if l.Acquire(1) {
		t.Error("allowed a third request")
	}
	l.Release()
	if !l.Acquire(2) {
		t.Error("refused after a release")
	}
	if l.Acquire(2) {
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
		"one in ten seconds: a single one at once": {
			0.1,
			[]int64{0, 5e9, 9e9, 10e9, 10e9, 40e9, 40e9},
			[]bool{true, false, false, true, false, true, false},
		},
		"an older instant adds nothing": {
			1,
			[]int64{9e9, 5e9, 9e9, 10e9},
			[]bool{true, false, false, true},
		},
		"an older instant takes nothing": {
			3,
			[]int64{9e9, 1e9, 9e9, 9e9},
			[]bool{true, true, true, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := load.NewLimiter(0, test.rateHz)
			got := make([]bool, len(test.at))
			for i, at := range test.at {
				got[i] = l.Acquire(at)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimiterRefusedForItsSlotsKeepsItsTokens(t *testing.T) {
	t.Parallel()
	l := load.NewLimiter(1, 1)
	l.Acquire(0)
	for range 100 {
		if l.Acquire(second) {
			t.Fatal("two in flight")
		}
	}
	l.Release()
	if !l.Acquire(second) {
		t.Error("the refusals took tokens")
	}
}

// TestLimiterOverAnyWindow checks the promise at most rate*(t+1) for all windows of a random load at twice the limit.
func TestLimiterOverAnyWindow(t *testing.T) {
	t.Parallel()
	const rate = 50
	l := load.NewLimiter(0, rate)
	random := rand.New(rand.NewPCG(1, 1))
	var now int64
	var passed []int64
	for range 6000 {
		now += int64(random.ExpFloat64() * 1e9 / (2 * rate))
		if l.Acquire(now) {
			passed = append(passed, now)
		}
	}
	for i := range passed {
		for j := i; j < len(passed); j++ {
			seconds := time.Duration(passed[j] - passed[i]).Seconds()
			if n := float64(j - i + 1); n > rate*(seconds+1)+1e-6 {
				t.Fatalf("%v requests in %v s", n, seconds)
			}
		}
	}
	if share := float64(len(passed)) / (float64(now) / 1e9 * rate); share < 0.98 {
		t.Errorf("only %v of the allowed rate was used", share)
	}
}

func TestLimiterUnderConcurrency(t *testing.T) {
	t.Parallel()
	l := load.NewLimiter(3, 0)
	var running, allowed atomic.Int64
	var targets sync.WaitGroup
	for range 8 {
		targets.Go(func() {
			for range 2000 {
				if !l.Acquire(0) {
					continue
				}
				if n := running.Add(1); n > 3 {
					t.Errorf("%d in flight", n)
				}
				allowed.Add(1)
				running.Add(-1)
				l.Release()
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
	load.NewLimiter(0, 0).Release()
}

func BenchmarkLimiter(b *testing.B) {
	b.ReportAllocs()
	l := load.NewLimiter(64, 1e9)
	var now int64
	for b.Loop() {
		now += 1000
		if l.Acquire(now) {
			l.Release()
		}
	}
}
