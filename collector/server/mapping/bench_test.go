package mapping

import (
	"fmt"
	"math"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// large is what vLLM shows with so many engines: about 400 kB of text for eight.
func large(tb testing.TB, engines int) *exposition.Page {
	tb.Helper()
	small := readPage(tb, "vllm")
	page := exposition.Page{}
	for i := range small.Families {
		f := small.Families[i]
		f.Series = nil
		seen := map[string]bool{}
		for _, s := range small.Families[i].Series {
			if s.Label("engine") == "1" {
				continue
			}
			for engine := range engines {
				copied := s
				copied.Labels = nil
				key := ""
				for _, l := range s.Labels {
					if l.Name == "engine" {
						l.Value = fmt.Sprint(engine)
					}
					copied.Labels = append(copied.Labels, l)
					key += l.Name + l.Value
				}
				if h := s.Histogram; h != nil { // as many buckets as vLLM has
					buckets := make([]exposition.Bucket, 0, 22)
					for i := range 21 {
						buckets = append(buckets, exposition.Bucket{Bound: math.Ldexp(0.001, i), Count: float64(i) * h.Count / 21})
					}
					copied.Histogram = &exposition.Buckets{
						Count: h.Count, Sum: h.Sum,
						Classic: append(buckets, exposition.Bucket{Bound: math.Inf(1), Count: h.Count}),
					}
				}
				if !seen[key] {
					f.Series = append(f.Series, copied)
				}
				seen[key] = true
			}
		}
		page.Families = append(page.Families, f)
	}
	return &page
}

func BenchmarkMap(b *testing.B) {
	page := large(b, 10)
	m := New(Options{Target: "chat", Instance: "gpu-1:8000", Model: "m", Kind: Auto, MaxSeries: 2000})
	lines := 0
	for i := range page.Families {
		for j := range page.Families[i].Series {
			lines++
			if h := page.Families[i].Series[j].Histogram; h != nil {
				lines += len(h.Classic) + 1
			}
		}
	}
	r := m.Map(page)
	series := 0
	for _, f := range r.Normalised {
		series += len(f.Metric)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Map(page)
	}
	b.ReportMetric(float64(lines), "lines")
	b.ReportMetric(float64(series), "series")
}
