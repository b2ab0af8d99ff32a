package load_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// TestClosedNeverHammersAServer: one that answers at once, with an error or not, is asked once each min_interval by each worker; one that
// takes longer is asked as soon as it has answered.
func TestClosedNeverHammersAServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		takes int64 // to answer; -1 = all are dropped
		want  int64 // between the starts of a worker
	}{
		"errors at once":        {0, second},
		"a quick server":        {second / 3, second},
		"exactly the interval":  {second, second},
		"a slow server":         {7 * second / 3, 7 * second / 3},
		"everything is dropped": {-1, second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const workers, rounds = 4, 25
			c := valid(t, func(c *load.Config) { c.Mode, c.Concurrency = load.Closed, workers })
			s := load.NewSchedule(c, &load.Origin{Anchor: 9}, nil)
			for round := range int64(rounds) {
				var batch []load.Arrival
				for range workers {
					a := s.Pop()
					if want := 9 + round*test.want; a.Sched != want || a.Ready != want || a.Overlap || a.User != 0 {
						t.Fatalf("round %d: %+v, want it at %d", round, a, want)
					}
					batch = append(batch, a)
				}
				if at, ok := s.Peek(); ok {
					t.Fatalf("all workers wait for an answer, but one asks at %d", at)
				}
				for _, a := range batch {
					if s.SkipLate(a.Ready); test.takes < 0 {
						s.Ended(a, 0, 0)
					} else {
						s.Ended(a, a.Ready, a.Ready+test.takes)
					}
				}
			}
		})
	}
}

func TestClosedHasNoLateWorkers(t *testing.T) {
	t.Parallel()
	c := valid(t, func(c *load.Config) { c.Mode, c.Concurrency, c.MinInterval = load.Closed, 2, 10*time.Second })
	s := load.NewSchedule(c, &load.Origin{}, nil)
	a, b := s.Pop(), s.Pop()
	s.Ended(a, 1, second)
	if late := s.SkipLate(hour); late != 0 || next(s) != 1+10*second {
		t.Errorf("%d late, next at %d", late, next(s))
	}
	a = s.Pop()
	s.Ended(a, 0, 0) // dropped after an hour: what it missed is not made up for
	if next(s) != hour+10*second {
		t.Errorf("next at %d, want %d", next(s), hour+10*second)
	}
	s.Skip(2 * hour)
	s.Ended(b, 1, 2*hour+5)
	got := []int64{s.Pop().Ready, s.Pop().Ready}
	if diff := cmp.Diff([]int64{2 * hour, 2*hour + 5}, got); diff != "" {
		t.Errorf("after a pause (-want +got):\n%s", diff)
	}
	if hz, ok := s.Rate(0); ok {
		t.Errorf("a closed loop has the rate %v", hz)
	}
}
