package report

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// defaultWidth is for an output whose width is not known.
const defaultWidth = 100

// column is a statistic in the table.
type column struct {
	name string
	of   func(*Stats) float64
}

// wideColumns need 100 characters; narrowColumns are for less.
var (
	wideColumns = []column{
		{"avg", func(s *Stats) float64 { return s.Avg }},
		{"min", func(s *Stats) float64 { return s.Min }},
		{"p50", func(s *Stats) float64 { return s.P50 }},
		{"p90", func(s *Stats) float64 { return s.P90 }},
		{"p99", func(s *Stats) float64 { return s.P99 }},
		{"max", func(s *Stats) float64 { return s.Max }},
		{"std", func(s *Stats) float64 { return s.Std }},
	}
	narrowColumns = []column{wideColumns[0], wideColumns[2], wideColumns[3], wideColumns[4], wideColumns[5]}
)

// table is a report on its way to a terminal.
type table struct {
	bytes.Buffer
	width        int
	columns      []column
	label, field int // widths of the first column and of the others
}

// WriteTable writes a report for people, in lines of at most width characters where the figures allow; 0 = the width is not known.
func (r *Report) WriteTable(w io.Writer, width int) error {
	if width <= 0 {
		width = defaultWidth
	}
	t := &table{width: width, columns: narrowColumns, field: 10}
	if width >= 100 {
		t.columns = wideColumns
	}
	longest := r.longestLabel()
	for len(t.columns) > 1 && longest+t.field*len(t.columns) > width {
		t.columns = t.columns[1:] // the higher percentiles say more of a service than its mean
	}
	t.label = min(max(width-t.field*len(t.columns), longest), 38)
	r.title(t)
	if r.Successes > 0 {
		r.figures(t)
		t.WriteByte('\n')
	}
	r.outcome(t)
	for i := range r.SLOs {
		t.slo(&r.SLOs[i])
	}
	for i, note := range r.Notes {
		t.entry([]string{"Notes", ""}[min(i, 1)], note)
	}
	if _, err := w.Write(t.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (r *Report) title(t *table) {
	stream := "not streamed"
	if r.Meta.Streaming {
		stream = "streamed"
	}
	requests := r.Successes + r.Failures + r.Cancelled
	t.parts(r.Meta.Target, r.Meta.Model, r.Meta.Endpoint+", "+stream)
	t.parts(count(requests, "request")+" in "+significant(r.window())+" s", r.Meta.Load.text(), r.Meta.URL)
	t.WriteString(strings.Repeat("─", min(t.width, t.label+t.field*len(t.columns))) + "\n")
}

// text says what was asked of the generator.
func (l *Load) text() string {
	text := l.Mode
	if l.Rate > 0 {
		text += " " + significant(l.Rate) + "/s"
	}
	switch {
	case l.Concurrency > 0:
		text += ", " + count(int64(l.Concurrency), "user")
	case l.MaxInFlight > 0:
		text += fmt.Sprintf(", at most %d in flight", l.MaxInFlight)
	}
	return text
}

// longestLabel is how much room the first column needs.
func (r *Report) longestLabel() int {
	longest := 0
	for _, group := range tableGroups {
		for _, row := range group.rows {
			if _, ok := r.Metric(row.tag); ok && row.when(r) {
				longest = max(longest, labelIndent+utf8.RuneCountInString(row.label))
			}
		}
	}
	return longest
}

// labelIndent is where the label of a row begins.
const labelIndent = 2

// figures writes the groups that have a row; the columns are named once.
func (r *Report) figures(t *table) {
	named := false
	for _, group := range tableGroups {
		titled := false
		for _, row := range group.rows {
			m, ok := r.Metric(row.tag)
			if !ok || !row.when(r) {
				continue
			}
			if !titled {
				t.heading(group.title, !named)
				titled, named = true, true
			}
			t.figure(row.label, &m)
		}
	}
}

func (t *table) heading(title string, columns bool) {
	t.WriteString(title)
	if columns {
		t.WriteString(strings.Repeat(" ", max(t.label-utf8.RuneCountInString(title), 0)))
		for _, c := range t.columns {
			fmt.Fprintf(t, "%*s", t.field, c.name)
		}
	}
	t.WriteByte('\n')
}

func (t *table) figure(label string, m *Metric) {
	values := []float64{m.Stats.Avg}
	if !m.Scalar {
		values = values[:0]
		for _, c := range t.columns {
			values = append(values, c.of(&m.Stats))
		}
	}
	t.WriteString(strings.Repeat(" ", labelIndent) + label + strings.Repeat(" ", max(t.label-labelIndent-utf8.RuneCountInString(label), 0)))
	decimals := decimalsFor(values)
	for _, v := range values {
		fmt.Fprintf(t, "%*s", t.field, grouped(v, decimals))
	}
	t.WriteByte('\n')
}

// outcome says how the arrivals ended, and in which words the failures.
func (r *Report) outcome(t *table) {
	parts := []string{fmt.Sprintf("%d ok", r.Successes)}
	if r.Failures > 0 {
		parts = append(parts, count(r.Failures, "error"))
	}
	if r.Cancelled > 0 {
		parts = append(parts, fmt.Sprintf("%d cancelled", r.Cancelled))
	}
	var reasons []string
	dropped := int64(0)
	for _, reason := range metrics.DropReasons {
		if n := r.Dropped[reason]; n > 0 {
			dropped += n
			reasons = append(reasons, fmt.Sprintf("%s %d", reason, n))
		}
	}
	if dropped > 0 {
		parts = append(parts, fmt.Sprintf("%s never sent (%s)", count(dropped, "arrival"), strings.Join(reasons, ", ")))
	}
	t.entry("Outcome", strings.Join(parts, ", "))
	r.given(t)
	for i := range r.Errors {
		t.failure(&r.Errors[i], i == 0)
	}
}

// given says what came that is no token.
func (r *Report) given(t *table) {
	seconds := r.End.Sub(r.Start).Seconds()
	for _, product := range slices.Sorted(maps.Keys(r.Items)) {
		n, what := r.Items[product], string(product)
		if product.Generates() { // of a protocol that may answer with anything
			what = "vectors or documents"
		}
		t.entry("Given", fmt.Sprintf("%d %s, %.4g/s", n, what, float64(n)/seconds))
	}
	if r.AudioSeconds > 0 {
		t.entry("Given", fmt.Sprintf("the text of %.4g seconds of audio", r.AudioSeconds))
	}
}

// failure is one line, however long the server's words are.
func (t *table) failure(e *ErrorCount, first bool) {
	name := ""
	if first {
		name = "Errors"
	}
	text := fmt.Sprintf("%d× %s", e.Count, e.Class)
	if e.Status != 0 {
		text += fmt.Sprintf(", HTTP %d", e.Status)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	fmt.Fprintf(t, "%-*s", entryIndent, name)
	t.WriteString(cut(printable(text), t.width-entryIndent) + "\n")
}

func (t *table) slo(s *SLOResult) {
	verdict := "MISSED"
	if s.Met() {
		verdict = "met"
	}
	t.entry("SLO", fmt.Sprintf("%s %s: %d of %d good (%s %%), objective %s %%",
		s.SLO.Name, verdict, s.Good, s.Total, percent(s.Ratio()), objective(s.SLO.Objective)))
	var bad []string
	if s.Failures > 0 {
		bad = append(bad, fmt.Sprintf("%d failed", s.Failures))
	}
	if s.Drops > 0 {
		bad = append(bad, fmt.Sprintf("%d never sent", s.Drops))
	}
	for _, v := range s.Violations {
		bad = append(bad, fmt.Sprintf("%d broke %s", v.Count, limit(v.Threshold)))
	}
	text := "goodput " + significant(s.Goodput) + "/s"
	if len(bad) > 0 {
		text += "; bad: " + strings.Join(bad, ", ")
	}
	t.entry("", text)
}

// limit writes a limit as it is kept. A measure that is absent breaks it, too.
func limit(t metrics.Threshold) string {
	if t.Metric.Rate() {
		return fmt.Sprintf("%s ≥ %s/s", t.Metric, significant(t.Limit))
	}
	return fmt.Sprintf("%s ≤ %s", t.Metric, time.Duration(t.Limit))
}

// entryIndent is where the text of an entry begins.
const entryIndent = 10

// entry writes a name and its text, wrapped.
func (t *table) entry(name, text string) {
	for _, line := range wrap(printable(text), t.width-entryIndent) {
		fmt.Fprintf(t, "%-*s%s\n", entryIndent, name, line)
		name = ""
	}
}

// parts writes parts in as few lines as they fit in.
func (t *table) parts(parts ...string) {
	line := ""
	for _, part := range parts {
		part = cut(printable(part), t.width)
		switch longer := line + " · " + part; {
		case line == "":
			line = part
		case utf8.RuneCountInString(longer) <= t.width:
			line = longer
		default:
			t.WriteString(line + "\n")
			line = part
		}
	}
	t.WriteString(line + "\n")
}
