package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHistoriesThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	s := newSessions()
	for i := range int64(20) {
		c := s.begin(uint64(i), 0)
		c.turns, c.bytes, c.due = 2, 32<<20, 100-i // the last one has waited longest
		s.stats.active.Add(1)
		s.put(c)
	}
	if diff := cmp.Diff(Sessions{Active: 8, Truncated: 12}, s.stats.now()); diff != "" || s.bytes != 256<<20 {
		t.Errorf("%d bytes, sessions (-want +got):\n%s", s.bytes, diff)
	}
	if c := s.take(1000, 0); c.number != 7 {
		t.Errorf("conversation %d is left, want those that waited shortest, from 0 to 7", c.number)
	}
	if s.bytes != 224<<20 {
		t.Errorf("%d bytes are left", s.bytes)
	}
	large := s.begin(99, 0)
	large.turns, large.bytes, large.due = 2, 1<<30, 200
	s.stats.active.Add(1)
	s.put(large)
	if s.stats.active.Load() != 2 { // the one that was taken, and the large one
		t.Errorf("%d are active", s.stats.active.Load())
	}
}
