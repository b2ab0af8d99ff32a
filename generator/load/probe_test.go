package load_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

func TestProbeKeepsItsTicksAndNeverMeetsItself(t *testing.T) {
	t.Parallel()
	c := valid(t, func(c *load.Config) { c.Mode, c.Interval = load.Probe, 10*time.Second })
	const wall = 1_790_000_003 * second
	s := load.NewSchedule(c, &load.Origin{Anchor: 77, Wall: wall, Instance: "i", Target: "t"}, nil)
	first, _ := s.Peek()
	var fates []string
	running := load.Arrival{}
	for n := range int64(6) {
		a := s.Pop()
		if a.Sched != first+n*10*second || a.Ready != a.Sched {
			t.Fatalf("tick %d at %d, ready at %d; the first was at %d", n, a.Sched, a.Ready, first)
		}
		fates = append(fates, fmt.Sprint(a.Overlap))
		switch n {
		case 0:
			s.Ended(a, a.Sched, a.Sched+9*second)
		case 1:
			running = a
		case 2:
			s.Ended(a, 0, 0) // the overlap is dropped, the one before runs on
		case 3:
			s.Ended(running, running.Sched, a.Sched+1)
		case 4:
			s.Ended(a, 0, 0) // dropped for another reason: it does not run
		}
	}
	if diff := cmp.Diff([]string{"false", "false", "true", "true", "false", "false"}, fates); diff != "" {
		t.Errorf("overlaps (-want +got):\n%s", diff)
	}
	// After a restart it ticks at the same times.
	later := load.NewSchedule(c, &load.Origin{Wall: wall + 123_456*second, Instance: "i", Target: "t"}, nil)
	if off := (next(later) + 123_456*second - (first - 77)) % (10 * second); off != 0 {
		t.Errorf("a restart has moved the ticks by %d", off)
	}
	if late := s.SkipLate(first + 59*second + 365*24*hour); late != 365*24*360 {
		t.Errorf("%d ticks of a year are late, want %d", late, 365*24*360)
	}
}
