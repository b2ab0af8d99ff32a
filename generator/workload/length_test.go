package workload

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
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
		// sigma² = 2 ln(mean/median), variance = mean² (exp(sigma²) - 1)
		"a lognormal has mean and median as said":     {Length{Mean: 100, Median: 80}, 100.5, 75, 1, 2000},
		"a lognormal without a spread is its mean":    {Length{Mean: 100, Median: 100}, 100, 0, 100, 100},
		"a lognormal is moved to its bounds":          {Length{Mean: 100, Median: 80, Min: 50, Max: 150}, 90.59, 37.93, 50, 150},
		"a mixture has the mean of both":              {Length{Peaks: []Peak{{Mean: 10}, {Mean: 100, Weight: 3}}}, 77.5, 38.97, 10, 100},
		"a mixture of spreads":                        {Length{Peaks: []Peak{{Mean: 100, Stddev: 5}, {Mean: 200, Median: 190}}}, 150.5, 68.36, 50, 1000},
		"a mixture is moved to the bounds":            {Length{Peaks: []Peak{{Mean: 10}, {Mean: 100}}, Min: 40, Max: 60}, 50, 10, 40, 60},
		"single values come as often as their weight": {Length{Points: []Point{{Value: 1, Weight: 2}, {Value: 7, Weight: 6}}}, 5.5, 2.598, 1, 7},
		"values without weights come equally often":   {Length{Points: []Point{{Value: 1}, {Value: 3}}}, 2, 1, 1, 3},
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
			if math.Abs(mean-test.mean) > 0.1+4*test.stddev/math.Sqrt(n) || math.Abs(stddev-test.stddev) > 0.15+0.02*test.stddev {
				t.Errorf("mean %v, standard deviation %v; want %v, %v", mean, stddev, test.mean, test.stddev)
			}
		})
	}
}

// TestLengthsFollowTheirLaw compares whole distributions by Kolmogorov's and Smirnov's distance, through the workload: lengths are drawn
// from a new generator for each conversation, which must not make them alike.
func TestLengthsFollowTheirLaw(t *testing.T) {
	t.Parallel()
	normal := func(mean, stddev float64) func(float64) float64 {
		return func(x float64) float64 { return 0.5 * math.Erfc((mean-x)/(stddev*math.Sqrt2)) }
	}
	lognormal := func(mean, median float64) func(float64) float64 {
		sigma := math.Sqrt(2 * math.Log(mean/median))
		return func(x float64) float64 { return 0.5 * math.Erfc((math.Log(median)-math.Log(x))/(sigma*math.Sqrt2)) }
	}
	for name, test := range map[string]struct {
		length Length
		law    func(float64) float64
	}{
		"normal":    {Length{Mean: 5000, Stddev: 800}, normal(5000, 800)},
		"lognormal": {Length{Mean: 5000, Median: 2000}, lognormal(5000, 2000)},
		"a mixture": {
			Length{Peaks: []Peak{{Mean: 2000, Stddev: 300}, {Mean: 9000, Median: 8000, Weight: 2}}},
			func(x float64) float64 { return normal(2000, 300)(x)/3 + 2*lognormal(9000, 8000)(x)/3 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := DefaultConfig()
			c.OutputTokens, c.InputTokens = test.length, Length{Mean: 20}
			w, err := New(&c, nil, 11, "a")
			if err != nil {
				t.Fatal(err)
			}
			const n = 4000
			drawn := make([]float64, n)
			var lag float64
			for i := range drawn {
				turn, err := w.Next(Pick{})
				if err != nil {
					t.Fatal(err)
				}
				drawn[i] = float64(turn.OutputTokens)
				if i > 0 {
					lag += (2*test.law(drawn[i]) - 1) * (2*test.law(drawn[i-1]) - 1)
				}
			}
			if correlation := 3 * lag / n; math.Abs(correlation) > 4/math.Sqrt(n) {
				t.Errorf("neighbours have a correlation of %v", correlation)
			}
			slices.Sort(drawn)
			var distance float64
			for i, x := range drawn {
				p := test.law(x) // lengths are rounded up: at whole numbers the law holds
				distance = max(distance, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
			}
			if critical := 1.63 / math.Sqrt(n); distance > critical { // 1 % significance
				t.Errorf("distance %v, critical is %v", distance, critical)
			}
		})
	}
}

func TestDelayDraw(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		delay                 Delay
		mean, lowest, highest time.Duration
	}{
		"a plain duration is fixed":         {Delay{Mean: 3 * time.Second}, 3 * time.Second, 3 * time.Second, 3 * time.Second},
		"none at all":                       {Delay{}, 0, 0, 0},
		"a normal is never negative":        {Delay{Mean: time.Second, Stddev: time.Second}, 1288 * time.Millisecond, 0, 6 * time.Second},
		"a lognormal keeps its mean":        {Delay{Mean: 10 * time.Second, Median: 8 * time.Second}, 10 * time.Second, 0, 5 * time.Minute},
		"the longest duration is not above": {Delay{Mean: 10 * time.Second, Median: 8 * time.Second, Max: 12 * time.Second}, 8020 * time.Millisecond, 0, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(3, 4))
			var sum time.Duration
			const n = 50_000
			for range n {
				d := test.delay.draw(random)
				if d < test.lowest || d > test.highest {
					t.Fatalf("drew %v, want %v to %v", d, test.lowest, test.highest)
				}
				sum += d
			}
			if off := (sum/n - test.mean).Abs(); off > test.mean/50 {
				t.Errorf("mean %v, want %v", sum/n, test.mean)
			}
		})
	}
}
