package metrics

import (
	"slices"
	"testing"
	"time"
)

// upTo gives 1 to n in descending order.
func upTo(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(n - i)
	}
	return out
}

func TestErrorBarIsThePercentileOfTheLastMinute(t *testing.T) {
	t.Parallel()
	type added struct {
		atSeconds int64
		sizes     []int64
	}
	tests := []struct {
		name    string
		added   []added
		now     int64 // seconds
		want    int64
		defined bool
	}{
		{"nothing measured", nil, 10, 0, false},
		{"only answers without content", []added{{1, nil}}, 10, 0, false},
		{"one error", []added{{1, []int64{7}}}, 10, 7, true},
		{"a single large error of few is an accident", []added{{1, []int64{1, 2, 900, 3}}}, 10, 3, true},
		{"two large errors of few are not", []added{{1, []int64{1, 800, 900, 3}}}, 10, 800, true},
		{"a hundred", []added{{1, upTo(100)}}, 10, 99, true},
		{"a thousand", []added{{1, upTo(1000)}}, 10, 990, true},
		{"what is older than a minute is forgotten", []added{{1, upTo(1000)}, {62, []int64{5, 4, 3}}}, 62, 4, true},
		{"a minute is within", []added{{2, []int64{9, 9}}, {62, []int64{5}}}, 62, 9, true},
		{"forgotten without a new measurement", []added{{1, upTo(1000)}}, 62, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var bar errorBar
			for _, a := range test.added {
				bar.add(a.atSeconds*int64(time.Second), a.sizes)
			}
			got, ok := bar.value(test.now * int64(time.Second))
			if got != test.want || ok != test.defined {
				t.Errorf("got %d, %v, want %d, %v", got, ok, test.want, test.defined)
			}
		})
	}
}

func TestErrorBarIsBounded(t *testing.T) {
	t.Parallel()
	var bar errorBar
	for range 1000 { // all in one instant
		bar.add(0, upTo(16))
		bar.add(0, slices.Repeat([]int64{1000}, 16))
	}
	if len(bar.kept) != maxErrors {
		t.Errorf("%d errors are kept, want %d", len(bar.kept), maxErrors)
	}
	if last := bar.kept[len(bar.kept)-1].size; last != 1000 {
		t.Errorf("the newest is %d, want 1000", last)
	}
}
