package load

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
)

// TestPoissonLosesNoFractions adds up the same intervals without rounding.
func TestPoissonLosesNoFractions(t *testing.T) {
	t.Parallel()
	const n = 100_000
	p := newSteady(70_000, newExponential(&Origin{Seed: 1, Target: "a"}))
	random := rand.New(rand.NewChaCha8(seed.Derive(1, "load.poisson", "a")))
	sum := new(big.Float).SetPrec(200)
	var got int64
	for range n {
		got, _ = p.Next()
		sum.Add(sum, big.NewFloat(random.ExpFloat64()*(1e9/70_000.0)))
	}
	if want, _ := sum.Int64(); got != want {
		t.Errorf("arrival %d at %d, want %d", n, got, want)
	}
}

// TestPoissonKeepsNanosecondsForCenturies: intervals after 200 years are those of the first second, bit by bit.
func TestPoissonKeepsNanosecondsForCenturies(t *testing.T) {
	t.Parallel()
	const far = 6_300_000_000_000_000_001
	intervals := func(from int64) []int64 {
		p := newSteady(100_000, newExponential(&Origin{Seed: 1}))
		p.sum = from
		out := make([]int64, 1000)
		for i, last := 0, from; i < len(out); i++ {
			at, _ := p.Next()
			out[i], last = at-last, at
		}
		return out
	}
	if diff := cmp.Diff(intervals(0), intervals(far)); diff != "" {
		t.Errorf("intervals (-early +late):\n%s", diff)
	}
}
