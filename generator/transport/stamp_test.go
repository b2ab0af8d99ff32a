package transport

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestStampsTakeTheTimeInTheKernelOffTheReturnOfTheRead(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	for _, tt := range []struct {
		name      string
		inKernel  time.Duration // by the wall clock
		unknown   bool
		want      int64 // arrival, before the return of the read
		fallbacks int64
	}{
		{"bytes that waited", 7 * time.Millisecond, false, 7 * ms, 0},
		{"bytes that did not wait", 0, false, 0, 0},
		{"bytes that waited while the process was stopped", 10 * time.Second, false, 10_000 * ms, 0},
		{"a stamp of the future", -1, false, 0, 1},
		{"the kernel gave no stamp", 0, true, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			clock := metrics.NewSystemClock()
			s := newStamps(clock)
			s.kernel = true
			now := time.Now().Add(time.Minute) // away from the epoch
			kernelWall := now.Add(-tt.inKernel).UnixNano()
			if tt.unknown {
				kernelWall = 0
			}
			s.note(now, kernelWall)
			if got := clock.At(now) - s.arrival(); got != tt.want {
				t.Errorf("stamped %d ns before the return of the read, want %d", got, tt.want)
			}
			var answer Answer
			s.tell(&answer)
			want := Answer{KernelStamps: true, StampFallbacks: tt.fallbacks, KernelDelay: tt.want}
			if diff := cmp.Diff(want, answer); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStampFromBeforeTheWallClockWasSetIsWorthNothing(t *testing.T) {
	t.Parallel()
	const second, ms = int64(time.Second), int64(time.Millisecond)
	for _, tt := range []struct {
		name      string
		set       int64 // how far the wall clock is set while the bytes wait
		want      int64 // arrival, before the return of the read
		fallbacks int64
	}{
		{"not at all", 0, 5 * ms, 0},
		{"slewed", 2 * ms, 7 * ms, 0},
		{"forward", second, 0, 1},
		{"far forward", 3600 * second, 0, 1},
		{"back", -second, 0, 1},
	} {
		s := newStamps(metrics.NewSystemClock())
		mono := 100 * second
		wall := mono + s.offset
		s.record(mono, wall+tt.set, wall-5*ms)
		if got := mono - s.arrival(); got != tt.want || s.fallbacks != tt.fallbacks {
			t.Errorf("%s: stamped %d ns before the return of the read, %d fallbacks, want %d, %d", tt.name, got, s.fallbacks, tt.want, tt.fallbacks)
		}
		mono += second
		s.record(mono, mono+s.offset, mono+s.offset-3*ms)
		if got := mono - s.arrival(); got != 3*ms {
			t.Errorf("%s: the next read is stamped %d ns before its return, want 3 ms: the clocks are known again", tt.name, got)
		}
	}
}

func TestStampsNeverGoBack(t *testing.T) {
	t.Parallel()
	s := newStamps(metrics.NewSystemClock())
	s.kernel = true
	now := time.Now().Add(time.Minute)
	s.note(now, now.UnixNano())
	first := s.arrival()
	later := now.Add(time.Millisecond)
	s.note(later, later.Add(-500*time.Millisecond).UnixNano()) // as after the wall clock was set forward by half a second
	if got := s.arrival(); got != first {
		t.Errorf("second read is stamped %d ns after the first, want 0", got-first)
	}
}

func TestMarksSayWhichReadBroughtWhichBytes(t *testing.T) {
	t.Parallel()
	clock := metrics.NewSystemClock()
	base := time.Now()
	// A connection that brings n bytes at the instant i.
	read := func(s *stamps, body []byte, from, n, i int) {
		s.waiting()
		for k := range n {
			body[from+k] = 'x'
		}
		at := base.Add(time.Duration(i) * time.Millisecond)
		s.note(at, at.UnixNano())
	}
	at := func(i int) int64 { return clock.At(base.Add(time.Duration(i) * time.Millisecond)) }
	for _, tt := range []struct {
		name string
		play func(s *stamps, body []byte) (n int)
		want []mark
	}{
		{"one read", func(s *stamps, body []byte) int { read(s, body, 0, 5, 1); return 5 }, []mark{{5, at(1), 1}}},
		{"two reads", func(s *stamps, body []byte) int { read(s, body, 0, 5, 1); read(s, body, 5, 3, 2); return 8 }, []mark{{5, at(1), 1}, {8, at(2), 2}}},
		{"a read that brings none of the body", func(s *stamps, body []byte) int { read(s, body, 0, 0, 1); read(s, body, 0, 5, 2); return 5 }, []mark{{5, at(2), 2}}},
		{"a read behind the last byte", func(s *stamps, body []byte) int { read(s, body, 0, 5, 1); read(s, body, 5, 0, 2); return 5 }, []mark{{5, at(1), 1}}},
		{"a read in the middle that brings none", func(s *stamps, body []byte) int {
			read(s, body, 0, 5, 1)
			read(s, body, 5, 0, 2)
			read(s, body, 5, 1, 3)
			return 6
		}, []mark{{5, at(1), 1}, {6, at(3), 3}}},
		{"a full slice", func(s *stamps, body []byte) int { read(s, body, 0, 10, 1); s.waiting(); return 10 }, []mark{{10, at(1), 1}}},
		{"a zero byte in the body", func(s *stamps, body []byte) int {
			read(s, body, 0, 5, 1)
			body[2] = 0
			read(s, body, 5, 1, 2)
			return 6
		}, []mark{{2, at(1), 1}, {6, at(2), 2}}},
		{"nothing, the end", func(s *stamps, _ []byte) int { s.waiting(); return 0 }, []mark{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStamps(clock)
			s.kernel = true
			body := make([]byte, 10)
			s.begin(body)
			n := tt.play(s, body)
			got := s.end(n, at(99))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(mark{})); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
			s.waiting() // the next exchange's reader; the slice is no longer ours
			if got := s.end(0, at(99)); len(got) != len(tt.want) {
				t.Errorf("%d marks after the end, want %d", len(got), len(tt.want))
			}
		})
	}
}

func TestWithoutKernelEachReadOfTheBodyIsStampedAtItsReturn(t *testing.T) {
	t.Parallel()
	s := &stamps{clock: metrics.NewSystemClock()}
	body := make([]byte, 10)
	for i, now := range []int64{1000, 2000} {
		s.begin(body)
		body[0] = 'x'
		got := s.end(1, now)
		if diff := cmp.Diff([]mark{{1, now, int64(i + 1)}}, got, cmp.AllowUnexported(mark{})); diff != "" {
			t.Errorf("marks (-want +got):\n%s", diff)
		}
	}
	var answer Answer
	s.tell(&answer)
	if diff := cmp.Diff(Answer{}, answer); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// wrapper is what connection tracking puts around a connection.
type wrapper struct{ net.Conn }

func TestAStampedConnectionIsFoundUnderItsWrappers(t *testing.T) {
	t.Parallel()
	plain, other := net.Pipe()
	defer plain.Close()
	defer other.Close()
	slot := &stampSlot{}
	conn := &addressed{plain, stampedAddr{plain.LocalAddr(), slot}}
	for name, tt := range map[string]struct {
		conn net.Conn
		want *stampSlot
	}{
		"itself":           {conn, slot},
		"tracked":          {wrapper{conn}, slot},
		"TLS over tracked": {tls.Client(wrapper{conn}, &tls.Config{ServerName: "x"}), slot},
		"not stamped":      {wrapper{plain}, nil},
		"TLS, not stamped": {tls.Client(plain, &tls.Config{ServerName: "x"}), nil},
	} {
		if got := slotOf(tt.conn); got != tt.want {
			t.Errorf("%s: slot %p, want %p", name, got, tt.want)
		}
	}
}

// addressed is a connection with an address of its own.
type addressed struct {
	net.Conn
	address net.Addr
}

// LocalAddr implements net.Conn.
func (a *addressed) LocalAddr() net.Addr { return a.address }
