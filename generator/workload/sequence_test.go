package workload

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSequence(t *testing.T) {
	t.Parallel()
	got, err := ParseSequence("128|10,64|5:40;512,128:60")
	want := Sequence{
		{InputTokens: Length{Mean: 128, Stddev: 10}, OutputTokens: Length{Mean: 64, Stddev: 5}, Weight: 40},
		{InputTokens: Length{Mean: 512}, OutputTokens: Length{Mean: 128}, Weight: 60},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, pairs (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"":                         `"" is not INPUT,OUTPUT:PERCENT`,
		"128:100":                  `"128:100" is not INPUT,OUTPUT:PERCENT`,
		"128,64":                   `"128,64" is not INPUT,OUTPUT:PERCENT`,
		"128,64:100;":              `"" is not INPUT,OUTPUT:PERCENT`,
		"a,64:100":                 `"a,64:100": length "a" is not a number`,
		"128,64|b:100":             `"128,64|b:100": standard deviation "b" is not a number`,
		"128,64:0":                 `"128,64:0": the share must be above 0 and at most 100 percent, got "0"`,
		"128,64:NaN":               `"128,64:NaN": the share must be above 0 and at most 100 percent, got "NaN"`,
		"128,64:40;512,128:59.999": "the shares must add up to 100 percent, got 99.999",
	} {
		if _, err := ParseSequence(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func FuzzParseSequence(f *testing.F) {
	f.Add("128|10,64|5:40;512,128:60")
	f.Add("1,1:100")
	f.Add(";:,|")
	f.Fuzz(func(t *testing.T, text string) {
		pairs, err := ParseSequence(text)
		var sum float64
		for _, p := range pairs {
			sum += p.Weight
		}
		if err == nil && math.Abs(sum-100) > 1e-6 {
			t.Errorf("shares of %v percent were taken", sum)
		}
	})
}

func TestSequenceDrawsPairsByTheirShare(t *testing.T) {
	t.Parallel()
	s, err := ParseSequence("100,10:25;200,20:75")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	seen := map[[2]int]int{}
	const n = 20_000
	for range n {
		input, output := s.draw(random)
		seen[[2]int{input, output}]++
	}
	if len(seen) != 2 || math.Abs(float64(seen[[2]int{100, 10}])-n/4) > 250 {
		t.Errorf("drew %v", seen)
	}
}

func TestRangeRatioCoversItsRangeEvenly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ratio     RangeRatio
		mean, r   float64
		low, high int
	}{
		"vLLM, both sides":                 {RangeRatio{Style: RangeVLLM}, 20, 0.5, 10, 30},
		"vLLM, rounded outwards":           {RangeRatio{Style: RangeVLLM}, 7, 0.5, 3, 11},
		"vLLM, at least one":               {RangeRatio{Style: RangeVLLM}, 1, 0.9, 1, 2},
		"SGLang, up to the mean":           {RangeRatio{Style: RangeSGLang}, 20, 0.5, 10, 20},
		"SGLang, from nothing on":          {RangeRatio{Style: RangeSGLang}, 10, 0, 1, 10},
		"SGLang, a ratio of one is fixed":  {RangeRatio{Style: RangeSGLang}, 20, 1, 20, 20},
		"vLLM, a ratio of nothing is none": {RangeRatio{Style: RangeVLLM}, 20, 0, 20, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(5, 5))
			seen := map[int]int{}
			const each = 2000
			for range each * (test.high - test.low + 1) {
				seen[test.ratio.draw(random, test.mean, test.r)]++
			}
			for value := test.low; value <= test.high; value++ {
				if math.Abs(float64(seen[value])-each) > 250 {
					t.Errorf("%d came %d times, want about %d", value, seen[value], each)
				}
			}
			if len(seen) != test.high-test.low+1 {
				t.Errorf("drew %v", seen)
			}
		})
	}
}
