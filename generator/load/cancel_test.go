package load_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

func TestCancellationTakesItsShare(t *testing.T) {
	t.Parallel()
	decide := func(percent float64, seed uint64, target string) (out []bool, cancelled float64) {
		c := load.NewCancellation(&load.CancelConfig{Percent: percent, After: 3 * time.Second}, seed, target)
		for range 20_000 {
			after, cancel := c.Next()
			if out = append(out, cancel); cancel {
				cancelled++
				if after != 3*time.Second {
					t.Fatalf("cancelled after %v", after)
				}
			}
		}
		return out, cancelled
	}
	for percent, tolerance := range map[float64]float64{0: 0, 100: 0, 10: 170, 50: 285} { // four standard deviations
		if _, got := decide(percent, 1, "a"); math.Abs(got-percent*200) > tolerance {
			t.Errorf("%v %%: %v of 20000 are cancelled", percent, got)
		}
	}
	base, _ := decide(50, 1, "a")
	again, _ := decide(50, 1, "a")
	if diff := cmp.Diff(base, again); diff != "" {
		t.Error("the same seed decides otherwise")
	}
	for name, seed := range map[string]uint64{"b": 1, "a": 2} {
		if other, _ := decide(50, seed, name); slices.Equal(base, other) {
			t.Errorf("target %s with seed %d has the same decisions", name, seed)
		}
	}
}
