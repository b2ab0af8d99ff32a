package exposition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// largePage imitates a server with many engines: counters with their time of creation, gauges, and histograms, until there are so many bytes.
func largePage(bytes int) []byte {
	bounds := []string{"0.001", "0.005", "0.01", "0.02", "0.04", "0.06", "0.08", "0.1", "0.25", "0.5", "0.75", "1.0", "2.5", "5.0", "7.5", "10.0", "20.0", "40.0", "+Inf"}
	var engines int
	var page strings.Builder
	for engines = 1; page.Len() < bytes; engines++ {
		page.Reset()
		for family := range 12 {
			name := fmt.Sprintf("vllm:request_phase_%d_seconds", family)
			fmt.Fprintf(&page, "# HELP %s Histogram of a phase of requests, in seconds.\n# TYPE %s histogram\n", name, name)
			for engine := range engines {
				labels := fmt.Sprintf(`engine="%d",model_name="meta-llama/Llama-3.1-8B-Instruct"`, engine)
				for i, bound := range bounds {
					fmt.Fprintf(&page, "%s_bucket{%s,le=%q} %d.0\n", name, labels, bound, (i+1)*(engine+family+31))
				}
				fmt.Fprintf(&page, "%s_count{%s} %d.0\n%s_sum{%s} %v\n", name, labels, len(bounds)*(engine+family+31), name, labels, 1234.56789*float64(engine+1))
			}
		}
		for family := range 40 {
			name, kind := fmt.Sprintf("vllm:tokens_of_kind_%d_total", family), "counter"
			if family%2 == 0 {
				name, kind = fmt.Sprintf("vllm:cache_usage_%d_ratio", family), "gauge"
			}
			fmt.Fprintf(&page, "# HELP %s What there is of it.\n# TYPE %s %s\n", name, name, kind)
			for engine := range engines {
				fmt.Fprintf(&page, "%s{engine=\"%d\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} %v\n", name, engine, 845120.25*float64(engine+family))
			}
		}
	}
	return []byte(page.String())
}

func BenchmarkParse400kB(b *testing.B) {
	body := largePage(400_000)
	b.Run("the first page of a server", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := exposition.NewParser(20_000).Parse(body, "text/plain"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("each further one", func(b *testing.B) {
		p := exposition.NewParser(20_000)
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Parse(body, "text/plain"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
