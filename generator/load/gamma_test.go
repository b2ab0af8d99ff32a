package load_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

func TestGammaHasIntervalsOfItsLaw(t *testing.T) {
	t.Parallel()
	for _, k := range []float64{0.1, 0.25, 0.9, 1, 4, 100} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			const n = 50_000
			c := config(load.Gamma, 40)
			c.Smoothness = k
			got := gaps(arrivals(load.NewSchedule(c, &load.Origin{Seed: 5, Target: "a"}, nil), n), 1e9/40)
			average, cv := meanCV(got)
			// Standard errors: of the mean CV/sqrt(n), of the CV about CV*sqrt((1+6/k)/2n).
			want := 1 / math.Sqrt(k)
			if math.Abs(average-1) > 4*want/math.Sqrt(n) || math.Abs(cv-want) > 4*want*math.Sqrt((1+6/k)/(2*n)) {
				t.Errorf("mean %v (want 1), CV %v (want %v)", average, cv, want)
			}
			wantLawAbove(t, "intervals", 100/(1e9/40), got, gammaLaw(k)) // of bursts, whole nanoseconds leave little
		})
	}
}

func TestGammaKnowsTwoNamesOfItsShape(t *testing.T) {
	t.Parallel()
	sequence := func(change func(*load.Config)) []int64 {
		c := config(load.Gamma, 2)
		change(c)
		return arrivals(load.NewSchedule(c, &load.Origin{Seed: 7}, nil), 100)
	}
	smooth := sequence(func(c *load.Config) { c.Smoothness = 4 })
	if diff := cmp.Diff(smooth, sequence(func(c *load.Config) { c.Burstiness = 4 })); diff != "" {
		t.Errorf("burstiness is not smoothness:\n%s", diff)
	}
	if diff := cmp.Diff(sequence(func(c *load.Config) { c.Smoothness = 1 }), sequence(func(*load.Config) {})); diff != "" {
		t.Errorf("no smoothness is not 1:\n%s", diff)
	}
}

func TestPoissonHasIntervalsOfItsLaw(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		got := gaps(arrivals(load.NewSchedule(config(load.Poisson, 40), &load.Origin{Seed: seed}, nil), 50_000), 1e9/40)
		wantLaw(t, fmt.Sprint("seed ", seed), got, exponential)
	}
}
