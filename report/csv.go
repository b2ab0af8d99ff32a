package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// statColumns are the columns of statistics, as AIPerf has them.
var statColumns = []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}

// WriteCSV writes AIPerf's profile_export_aiperf.csv: a block of figures with statistics, a blank line, a block of scalars, both sorted by
// tag, and, where GPUs were looked at, two blank lines and a block of what each of them showed. Numbers have all their digits; AIPerf's two
// decimals turn small figures into 0.00.
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
		records = append(append(records, append([]string{"Metric"}, statColumns...)), rows...)
		records = append(records, []string{})
	}
	records = append(append(records, []string{"Metric", "Value"}), scalars...)
	if r.Meta.GPUs != nil && !r.Start.IsZero() {
		records = append(append(records, []string{}, []string{}), r.Meta.GPUs.telemetryRows()...)
	}
	if err := out.WriteAll(records); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// sortedMetrics are AIPerf's figures by tag.
func (r *Report) sortedMetrics() []Metric {
	return slices.SortedFunc(slices.Values(r.Metrics), func(a, b Metric) int { return strings.Compare(a.Tag, b.Tag) })
}

func (m *Metric) row() []string { return append([]string{m.heading()}, m.stats()...) }

// stats are the values of statColumns; a scalar has the first of them only.
func (m *Metric) stats() []string {
	s := &m.Stats
	if m.Scalar {
		return append([]string{number(s.Avg)}, make([]string, len(statColumns)-1)...)
	}
	values := []float64{s.Avg, s.Min, s.Max, s.Sum, s.P1, s.P5, s.P10, s.P25, s.P50, s.P75, s.P90, s.P95, s.P99, s.Std}
	row := make([]string, 0, len(values))
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
