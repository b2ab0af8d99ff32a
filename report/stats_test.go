package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestStats(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		values []float64
		want   Stats
	}{
		{
			"four values interpolate at rank q(N-1)",
			[]float64{40, 10, 30, 20},
			Stats{
				Avg: 25, P1: 10.3, P5: 11.5, P10: 13, P25: 17.5, P50: 25, P75: 32.5, P90: 37, P95: 38.5, P99: 39.7,
				Min: 10, Max: 40, Std: 11.180339887498949, Count: 4, Sum: 100,
			},
		},
		{
			"one value is every percentile and does not deviate",
			[]float64{7},
			Stats{Avg: 7, P1: 7, P5: 7, P10: 7, P25: 7, P50: 7, P75: 7, P90: 7, P95: 7, P99: 7, Min: 7, Max: 7, Count: 1, Sum: 7},
		},
		{
			"equal values that binary cannot hold do not deviate",
			[]float64{0.1, 0.1, 0.1},
			Stats{
				Avg: 0.1, P1: 0.1, P5: 0.1, P10: 0.1, P25: 0.1, P50: 0.1, P75: 0.1, P90: 0.1, P95: 0.1, P99: 0.1,
				Min: 0.1, Max: 0.1, Count: 3, Sum: 0.1 + 0.1 + 0.1,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, newStats(test.values), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMillisecondsAreWholeNanosecondsWhereTheMeasureIs(t *testing.T) {
	t.Parallel()
	for _, ns := range []int64{1, 33_340_000, 50_200_000, 300_000_000, 35_092_600_001, 86_400_000_000_001} {
		if got, want := milliseconds(float64(ns)/1e9), float64(ns)/1e6; got != want {
			t.Errorf("milliseconds(%d ns) = %v, want %v", ns, got, want)
		}
	}
	if got, want := milliseconds(0.22/9), 220.0/9; got < want*(1-1e-9) || got > want*(1+1e-9) {
		t.Errorf("a mean is not rounded: got %v, want %v", got, want)
	}
}
