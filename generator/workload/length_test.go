package workload

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLengthDraw(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for name, test := range map[string]struct {
		length          Length
		mean, stddev    float64
		lowest, highest int
	}{
		"a plain number is fixed":                         {Length{Mean: 128}, 128, 0, 128, 128},
		"a fraction is rounded":                           {Length{Mean: 7.5}, 8, 0, 8, 8},
		"a normal is rounded up, half a token above":      {Length{Mean: 128, Stddev: 16}, 128.5, 16, 50, 210},
		"bounds cut symmetrically":                        {Length{Mean: 100, Stddev: 10, Min: 90, Max: 110}, 100.5, 5.4, 90, 110},
		"below zero is rejected, not raised":              {Length{Mean: 10, Stddev: 10}, 13.38, 7.94, 1, 60},
		"bounds that leave a single value":                {Length{Mean: 5, Stddev: 3, Min: 5, Max: 5}, 5, 0, 5, 5},
		"a spread far beyond the bounds ends in the mean": {Length{Mean: 5, Stddev: 1e7, Min: 5, Max: 6}, 5, 0.1, 5, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			draws := n
			if test.length.Stddev > 1e6 || test.length.Min == test.length.Max && test.length.Min > 0 {
				draws = 100 // each of them takes ten thousand rejections
			}
			var sum, squares float64
			for range draws {
				x := test.length.draw(random)
				if x < test.lowest || x > test.highest {
					t.Fatalf("drew %d, want %d to %d", x, test.lowest, test.highest)
				}
				sum += float64(x)
				squares += float64(x) * float64(x)
			}
			mean := sum / float64(draws)
			stddev := math.Sqrt(max(0, squares/float64(draws)-mean*mean))
			if math.Abs(mean-test.mean) > 0.1 || math.Abs(stddev-test.stddev) > 0.15 {
				t.Errorf("mean %v, standard deviation %v; want %v, %v", mean, stddev, test.mean, test.stddev)
			}
		})
	}
}
