package exposition_test

import (
	"fmt"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// protobuf is the content type of the protobuf form.
const protobuf = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"

// openMetrics is that of OpenMetrics.
const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8"

var kinds = map[exposition.Kind]string{
	exposition.Untyped: "untyped", exposition.Counter: "counter", exposition.Gauge: "gauge",
	exposition.Histogram: "histogram", exposition.Summary: "summary",
}

// lines is a page as text that tells everything, one line for each family and series.
func lines(page *exposition.Page) []string {
	var out []string
	for i := range page.Families {
		f := &page.Families[i]
		out = append(out, familyLine(f.Name, kinds[f.Kind], f.Help))
		for j := range f.Series {
			out = append(out, seriesLine(&f.Series[j]))
		}
	}
	return append(out, countsLine(page.Samples, page.Duplicates, page.Dropped))
}

func familyLine(name, kind, help string) string {
	return strings.TrimRight(fmt.Sprintf("%s %s %s", name, kind, help), " ")
}

func countsLine(samples, duplicates, dropped int) string {
	return fmt.Sprintf("samples %d duplicates %d dropped %d", samples, duplicates, dropped)
}

func seriesLine(s *exposition.Series) string {
	var b strings.Builder
	b.WriteString(" ")
	for _, l := range s.Labels {
		fmt.Fprintf(&b, " %s=%q", l.Name, l.Value)
	}
	switch {
	case s.Histogram != nil:
		fmt.Fprintf(&b, " count=%v sum=%v", s.Histogram.Count, s.Histogram.Sum)
		for _, bucket := range s.Histogram.Classic {
			fmt.Fprintf(&b, " %v:%v", bucket.Bound, bucket.Count)
		}
		if s.Histogram.Native != nil {
			fmt.Fprintf(&b, " native=%+v", *s.Histogram.Native)
		}
	case s.Summary != nil:
		fmt.Fprintf(&b, " count=%v sum=%v", s.Summary.Count, s.Summary.Sum)
		for _, q := range s.Summary.Values {
			fmt.Fprintf(&b, " %v:%v", q.Quantile, q.Value)
		}
	default:
		fmt.Fprintf(&b, " %v", s.Value)
	}
	if s.Created != 0 {
		fmt.Fprintf(&b, " since %.3f", s.Created)
	}
	return b.String()
}
