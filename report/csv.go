package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteCSV writes AIPerf's profile_export_aiperf.csv: a block of figures with statistics, a blank line, a block of scalars, both sorted by
// tag. Numbers have all their digits; AIPerf's two decimals turn small figures into 0.00.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	var rows, scalars [][]string
	for _, m := range r.sortedMetrics() {
		if m.Scalar {
			scalars = append(scalars, []string{m.heading(), number(m.Stats.Avg)})
		} else {
			rows = append(rows, m.row())
		}
	}
	var records [][]string
	if len(rows) > 0 {
		header := []string{"Metric", "avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}
		records = append(append(records, header), rows...)
		records = append(records, []string{})
	}
	records = append(append(records, []string{"Metric", "Value"}), scalars...)
	if err := out.WriteAll(records); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// sortedMetrics are AIPerf's figures by tag.
func (r *Report) sortedMetrics() []Metric {
	return slices.SortedFunc(slices.Values(r.Metrics), func(a, b Metric) int { return strings.Compare(a.Tag, b.Tag) })
}

func (m *Metric) row() []string {
	s := &m.Stats
	values := []float64{s.Avg, s.Min, s.Max, s.Sum, s.P1, s.P5, s.P10, s.P25, s.P50, s.P75, s.P90, s.P95, s.P99, s.Std}
	row := make([]string, 0, 1+len(values))
	row = append(row, m.heading())
	for _, v := range values {
		row = append(row, number(v))
	}
	return row
}

// heading is the name with its unit, which a plain count does not have.
func (m *Metric) heading() string {
	if m.Unit == "requests" || m.Unit == "count" {
		return m.Header
	}
	return m.Header + " (" + m.Unit + ")"
}

// number is the shortest text that reads back as v.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
