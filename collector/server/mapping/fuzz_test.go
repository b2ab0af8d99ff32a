package mapping

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// FuzzMap maps whatever the parser makes of random pages: it must not panic, a registry must take what comes out, and the same page must become
// the same again, in the order of the first time.
func FuzzMap(f *testing.F) {
	for _, name := range samples {
		body, err := os.ReadFile("testdata/" + name + ".prom")
		if err != nil {
			f.Fatal(err)
		}
		start := body[:min(len(body), 2000)] // a small page is soon changed
		f.Add(start[:bytes.LastIndexByte(start, '\n')+1], uint8(0))
	}
	f.Add([]byte(family("gauge", "sglang:num_running_reqs", `{tp_rank="99999999999999999999",dp_rank="-1"} 1`)), uint8(3))
	f.Add([]byte(family("histogram", "sglang:kv_transfer_latency_ms", ` 1e308`)), uint8(3))
	f.Add([]byte(family("gauge", "x", `{target="a",exported_target="b",__a="c"} 1`)), uint8(12))
	f.Add([]byte("# TYPE h histogram\nh_bucket{le=\"-Inf\"} 1\nh_bucket{le=\"+Inf\"} 1e300\nh_sum 1\nh_count 1e300\n"), uint8(13))
	f.Fuzz(func(t *testing.T, body []byte, kind uint8) {
		page, err := exposition.NewParser(20000).Parse(body, "text/plain")
		if err != nil {
			return
		}
		o := Options{
			Target: "t", Instance: "i", Model: "m", Kind: Kinds[int(kind)%len(Kinds)], MaxSeries: 100,
			Rules: []Rule{
				{Series: "aiperf_server_requests_failed_total", Family: "x"},
				{Series: "aiperf_server_queue_seconds", Family: "h", Scale: 1e300},
			},
			Passthrough: Passthrough{Allow: []string{".*"}, DropLabels: []string{"pod"}, RenameLabels: map[string]string{"a": "b"}},
		}
		m := New(o)
		first := m.Map(page)
		text(t, append(append([]*dto.MetricFamily{}, first.Normalised...), first.Passed...))
		for _, again := range []*Result{m.Map(page), New(o).Map(page)} {
			if want, got := summary(first), summary(again); !slices.Equal(want, got) {
				t.Errorf("%q became %q", want, got)
			}
		}
	})
}

// summary is all of a result.
func summary(r *Result) []string {
	rest := fmt.Sprint(r.Kinds, r.Dropped, r.Unmapped, r.Started, r.Model)
	return append(append(lines(r.Normalised), lines(r.Passed)...), rest)
}
