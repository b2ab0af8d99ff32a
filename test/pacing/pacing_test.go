package main

import (
	"math"
	"testing"
	"time"
)

func TestRampAsksForTheAreaUnderIt(t *testing.T) {
	t.Parallel()
	asked := ramped(40, 5*time.Second)
	for d, want := range map[time.Duration]float64{
		0: 0, time.Second: 4, 2500 * time.Millisecond: 25, 5 * time.Second: 100, 20 * time.Second: 700,
	} {
		if got := asked(d); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v arrivals in %v, want %v", got, d, want)
		}
	}
}

func TestGapsOfAGridHaveNoVariation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arrivals []int64
		mean, cv float64
	}{
		"a grid":            {[]int64{0, 2e9, 4e9, 6e9}, 2, 0},
		"pairs":             {[]int64{0, 0, 2e9, 2e9}, 2. / 3, math.Sqrt2},
		"one long, one not": {[]int64{1e9, 2e9, 5e9}, 2, .5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := (&result{arrivals: test.arrivals}).gaps()
			if math.Abs(g.mean()-test.mean) > 1e-9 || math.Abs(g.cv()-test.cv) > 1e-9 {
				t.Errorf("mean %v, CV %v, want %v and %v", g.mean(), g.cv(), test.mean, test.cv)
			}
		})
	}
}
