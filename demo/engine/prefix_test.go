package engine

import "testing"

func TestPrefixCache(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		capacity int
		inserted [][]uint64
		asked    []uint64
		want     int
	}{
		{"knows nothing at first", 8, nil, []uint64{1, 2}, 0},
		{"knows a whole prompt", 8, [][]uint64{{1, 2, 3}}, []uint64{1, 2, 3}, 3},
		{"knows the common start of two prompts", 8, [][]uint64{{1, 2, 3}}, []uint64{1, 2, 4, 5}, 2},
		{"does not look behind an unknown block", 8, [][]uint64{{1, 2, 3}}, []uint64{9, 2, 3}, 0},
		{"forgets the tail of the oldest prompt first", 4, [][]uint64{{1, 2, 3}, {7, 8}}, []uint64{1, 2, 3}, 2},
		{"keeps what is used again", 4, [][]uint64{{1, 2}, {7, 8}, {1, 2}, {5, 6}}, []uint64{1, 2}, 2},
		{"forgets what is not used again", 4, [][]uint64{{1, 2}, {7, 8}, {1, 2}, {5, 6}}, []uint64{7, 8}, 0},
		{"keeps the start of a prompt that is larger than itself", 2, [][]uint64{{1, 2, 3, 4}}, []uint64{1, 2, 3, 4}, 2},
		{"can be too small for anything", 0, [][]uint64{{1}}, []uint64{1}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newPrefixCache(tc.capacity)
			for _, prefix := range tc.inserted {
				c.insert(prefix)
			}
			if got := c.match(tc.asked); got != tc.want {
				t.Errorf("match = %d blocks, want %d", got, tc.want)
			}
			if len(c.blocks) != c.recent.Len() || len(c.blocks) > tc.capacity {
				t.Errorf("%d blocks in the table, %d in the order, room for %d", len(c.blocks), c.recent.Len(), tc.capacity)
			}
		})
	}
}

func TestPrefixHitsAreCounted(t *testing.T) {
	t.Parallel()
	cfg := exact()
	cfg.PrefixCaching = true
	e := New(cfg, 1, epoch())
	first, _ := request(64, 1, 1, 2, 3, 4)
	again, _ := request(64, 1, 1, 2, 3, 4)
	simulate(t, e, []arrival{{0, first}, {200 * ms, again}}, nil)
	// The last of the four blocks is computed again, because the answer follows from its last token.
	if first.Cached != 0 || again.Cached != 48 {
		t.Errorf("cached tokens = %d and %d, want 0 and 48", first.Cached, again.Cached)
	}
	if got, want := e.Stats(), (Stats{PrefixQueriedTokens: 128, PrefixHitTokens: 48}); got != want {
		t.Errorf("stats = %+v, want %+v", got, want)
	}
}
