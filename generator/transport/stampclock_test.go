package transport

import (
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestStampsTakeTheTimeInTheKernelOffTheReturnOfTheRead(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	for _, tt := range []struct {
		name     string
		inKernel time.Duration // by the wall clock
		unknown  bool
		want     int64 // arrival, before the return of the read
		stamped  bool
	}{
		{"bytes that waited", 7 * time.Millisecond, false, 7 * ms, true},
		{"bytes that did not wait", 0, false, 0, true},
		{"bytes that waited while the process was stopped", 10 * time.Second, false, 10_000 * ms, true},
		{"a stamp of the future", -1, false, 0, false},
		{"the kernel gave no stamp", 0, true, 0, false},
	} {
		clock := metrics.NewSystemClock()
		s := stampClock{clock: clock}
		s.look()
		now := time.Now().Add(time.Minute) // away from the epoch
		kernelWall := now.Add(-tt.inKernel).UnixNano()
		if tt.unknown {
			kernelWall = 0
		}
		a, stamped := s.arrival(now, kernelWall)
		if got := clock.At(now) - a.at; got != tt.want || stamped != tt.stamped || a.now != clock.At(now) {
			t.Errorf("%s: stamped %v, %d ns before the return of the read, want %v, %d", tt.name, stamped, got, tt.stamped, tt.want)
		}
	}
}

func TestAStampFromBeforeTheWallClockWasSetIsWorthNothing(t *testing.T) {
	t.Parallel()
	const second, ms = int64(time.Second), int64(time.Millisecond)
	for _, tt := range []struct {
		name    string
		set     int64 // how far the wall clock is set while the bytes wait
		want    int64 // arrival, before the return of the read
		stamped bool
	}{
		{"not at all", 0, 5 * ms, true},
		{"slewed", 2 * ms, 7 * ms, true},
		{"forward", second, 0, false},
		{"far forward", 3600 * second, 0, false},
		{"back", -second, 0, false},
	} {
		s := stampClock{clock: metrics.NewSystemClock()}
		s.look()
		mono := 100 * second
		wall := mono + s.offset
		a, stamped := s.translate(mono, wall+tt.set, wall-5*ms)
		if got := mono - a.at; got != tt.want || stamped != tt.stamped {
			t.Errorf("%s: stamped %v, %d ns before the return of the read, want %v, %d", tt.name, stamped, got, tt.stamped, tt.want)
		}
		mono += second
		a, _ = s.translate(mono, mono+s.offset, mono+s.offset-3*ms)
		if got := mono - a.at; got != 3*ms {
			t.Errorf("%s: the next read is stamped %d ns before its return, want 3 ms: the clocks are known again", tt.name, got)
		}
	}
}
