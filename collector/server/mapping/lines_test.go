package mapping

import (
	"fmt"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// parse reads a page that a test wrote down.
func parse(tb testing.TB, page string) *exposition.Page {
	tb.Helper()
	p, err := exposition.NewParser(20000).Parse([]byte(page), "text/plain")
	if err != nil {
		tb.Fatalf("%v in\n%s", err, page)
	}
	return p
}

// lines are families in short: a line for each series, without the labels target and instance_id and empty ones.
func lines(families []*dto.MetricFamily) []string {
	var out []string
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				if n := l.GetName(); n != "target" && n != "instance_id" && l.GetValue() != "" {
					labels = append(labels, fmt.Sprintf("%s=%s", n, l.GetValue()))
				}
			}
			out = append(out, fmt.Sprintf("%s{%s} %s", f.GetName(), strings.Join(labels, ","), valueOf(m)))
		}
	}
	return out
}

func valueOf(m *dto.Metric) string {
	switch {
	case m.Counter != nil:
		return fmt.Sprintf("counter %v", m.Counter.GetValue())
	case m.Gauge != nil:
		return fmt.Sprintf("gauge %v", m.Gauge.GetValue())
	case m.Untyped != nil:
		return fmt.Sprintf("untyped %v", m.Untyped.GetValue())
	case m.Summary != nil:
		return fmt.Sprintf("summary %d %v", m.Summary.GetSampleCount(), m.Summary.GetSampleSum())
	}
	var buckets strings.Builder
	for _, b := range m.Histogram.Bucket {
		fmt.Fprintf(&buckets, " %v:%d", b.GetUpperBound(), b.GetCumulativeCount())
	}
	if m.Histogram.Schema != nil {
		fmt.Fprintf(&buckets, " native %d", m.Histogram.GetSchema())
	}
	return fmt.Sprintf("histogram %d %v%s", m.Histogram.GetSampleCount(), m.Histogram.GetSampleSum(), buckets.String())
}

// mapText maps a page that a test wrote down.
func mapText(tb testing.TB, o *Options, page string) *Result {
	tb.Helper()
	r := New(*o).Map(parse(tb, page))
	text(tb, r.Normalised)
	text(tb, r.Passed)
	return r
}

// family writes a family with a type, from what follows its name on each line. A histogram has the two buckets 10 and +Inf.
func family(kind, name string, series ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# TYPE %s %s\n", name, kind)
	for _, s := range series {
		labels, value, _ := strings.Cut(s, " ")
		if kind != "histogram" {
			fmt.Fprintf(&b, "%s%s %s\n", name, labels, value)
			continue
		}
		with := strings.TrimSuffix(labels, "}")
		if with == "" {
			with = "{"
		} else {
			with += ","
		}
		fmt.Fprintf(&b, "%s_bucket%sle=\"10\"} 1\n%s_bucket%sle=\"+Inf\"} 4\n%s_sum%s %s\n%s_count%s 4\n",
			name, with, name, with, name, labels, value, name, labels)
	}
	return b.String()
}
