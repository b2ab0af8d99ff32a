package progress

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQuantilesAreWithinOnePercent(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() float64{
		"spread over all orders": func() float64 { return math.Pow(10, -5+9*random.Float64()) },
		"like latencies":         func() float64 { return math.Exp(-1 + 0.5*random.NormFloat64()) },
		"all the same":           func() float64 { return 0.25 },
	} {
		for _, n := range []int{1, 2, 10, 1000} {
			var s, other sketch
			values := make([]float64, n)
			for i := range values {
				values[i] = draw()
				if i%2 == 0 {
					s.add(values[i])
				} else {
					other.add(values[i])
				}
			}
			s.merge(&other)
			slices.Sort(values)
			for _, q := range []float64{0, 0.5, 0.95, 1} {
				want := values[int(math.Round(q*float64(n-1)))]
				if got, known := s.quantile(q); !known || math.Abs(got-want) > 0.0101*want {
					t.Errorf("%s: quantile %v of %d is %v, want %v", name, q, n, got, want)
				}
			}
		}
	}
}

func TestNoValueIsOutOfBounds(t *testing.T) {
	t.Parallel()
	var s sketch
	if _, known := s.quantile(0.5); known {
		t.Error("nothing has a quantile")
	}
	for _, v := range []float64{0, -1, 1e-9, lowest, 1e4, 1e30, math.Inf(1)} {
		s.add(v)
	}
	if s.total != 7 {
		t.Errorf("%d values, want 7", s.total)
	}
}

func TestTheRateIsThatOfTheLastSeconds(t *testing.T) {
	t.Parallel()
	var r recent
	got := 0.0
	ended := int64(0)
	at := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	if rate := r.rate(0, 0); rate != 0 {
		t.Errorf("at the beginning it is %v", rate)
	}
	for i := range 100 { // 20 seconds with 5 per second
		ended++
		got = r.rate(at(float64(i+1)*0.2), ended)
	}
	if math.Abs(got-5) > 0.01 {
		t.Errorf("it is %v, want 5", got)
	}
	for i := range 60 { // and 12 with none
		got = r.rate(at(20+float64(i+1)*0.2), ended)
	}
	if got != 0 {
		t.Errorf("after nothing has ended for a while it is %v", got)
	}
}

func TestTheRateOfALogIsThatSinceTheLineBefore(t *testing.T) {
	t.Parallel()
	var r recent
	var got []float64
	for i, ended := range []int64{0, 50, 150, 150} {
		got = append(got, r.rate(time.Duration(i)*10*time.Second, ended))
	}
	if want := []float64{0, 5, 10, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
