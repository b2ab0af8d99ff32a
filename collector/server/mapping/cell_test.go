package mapping

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

func TestHistogramsAreAddedWhereTheirBoundsAgree(t *testing.T) {
	t.Parallel()
	buckets := func(count float64, bounds ...float64) *exposition.Buckets {
		out := &exposition.Buckets{Count: count * float64(len(bounds)+1), Sum: 1.5}
		for i, bound := range append(bounds, math.Inf(1)) {
			out.Classic = append(out.Classic, exposition.Bucket{Bound: bound, Count: count * float64(i+1)})
		}
		return out
	}
	native := func() *exposition.Buckets {
		return &exposition.Buckets{
			Count: 3, Sum: 1,
			Native: &exposition.Native{Schema: 2, PositiveSpans: []exposition.Span{{Length: 1}}, PositiveDeltas: []int64{3}},
		}
	}
	both := native()
	both.Classic = []exposition.Bucket{{Bound: 1, Count: 2}, {Bound: math.Inf(1), Count: 3}}
	falling := buckets(1, 1, 2)
	falling.Classic[1].Count = 0.5
	const ttft, transfer = "sglang:time_to_first_token_seconds", "sglang:kv_transfer_latency_ms"
	for _, tt := range []struct {
		name, family string
		series       []*exposition.Buckets
		want         []string
	}{
		{"same bounds", ttft, []*exposition.Buckets{buckets(1, 1, 2), buckets(10, 1, 2)}, []string{"histogram 33 3 1:11 2:22"}},
		{"some bounds in common", ttft, []*exposition.Buckets{buckets(1, 1, 2, 4), buckets(10, 2, 3, 4)}, []string{"histogram 44 3 2:12 4:33"}},
		{"nothing in common but all of it", ttft, []*exposition.Buckets{buckets(1, 1), buckets(10, 2)}, []string{"histogram 22 3"}},
		{"one that falls spoils the sum", ttft, []*exposition.Buckets{buckets(1, 1, 2), falling}, nil},
		{"without buckets", ttft, []*exposition.Buckets{{Count: 1, Sum: 1}}, nil},
		{"milliseconds become seconds, bounds too", transfer, []*exposition.Buckets{buckets(1, 300, 7000)}, []string{"histogram 3 0.0015 0.3:1 7:2"}},
		{"native alone", ttft, []*exposition.Buckets{native()}, []string{"histogram 3 1 native 2"}},
		{"native beside classic", ttft, []*exposition.Buckets{both}, []string{"histogram 3 1 1:2 native 2"}},
		{"native ones are not added", ttft, []*exposition.Buckets{native(), native()}, nil},
		{"of two with both the classic are added", ttft, []*exposition.Buckets{both, both}, []string{"histogram 6 2 1:4"}},
		{"native milliseconds cannot be seconds", transfer, []*exposition.Buckets{native()}, nil},
	} {
		f := exposition.Family{Name: tt.family, Kind: exposition.Histogram}
		for i, h := range tt.series {
			labels := []exposition.Label{{Name: "is_streaming", Value: string(rune('a' + i))}}
			f.Series = append(f.Series, exposition.Series{Labels: labels, Histogram: h})
		}
		r := New(Options{Kind: SGLang}).Map(&exposition.Page{Families: []exposition.Family{f}})
		text(t, r.Normalised)
		var got []string
		for _, line := range lines(r.Normalised) {
			_, value, _ := strings.Cut(line, "} ")
			got = append(got, value)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestCreationTimesAreKeptWhereAllPartsHaveThem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		a, b float64
		want int64
	}{
		{"the earlier", 2000, 1000, 1000},
		{"one has none", 2000, 0, 0},
	} {
		f := exposition.Family{
			Name: "sglang:prompt_tokens_total", Kind: exposition.Counter,
			Series: []exposition.Series{{Value: 1, Created: tt.a}, {Value: 1, Created: tt.b}},
		}
		got := New(Options{Kind: SGLang}).Map(&exposition.Page{Families: []exposition.Family{f}}).Normalised[0].Metric[0].Counter.CreatedTimestamp
		if got.GetSeconds() != tt.want || (got == nil) != (tt.want == 0) {
			t.Errorf("%s: created at %v, want %d", tt.name, got, tt.want)
		}
	}
}
