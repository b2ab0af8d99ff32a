package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// grid is a table, whatever it is written as.
type grid struct {
	header []string
	rows   [][]string
}

// text writes it for a terminal, the first column to the left.
func (g *grid) text(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{g.header}, g.rows...) {
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}

// markdown writes it for a page.
func (g *grid) markdown(w io.Writer) error {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(g.header)
	b.WriteString("|---" + strings.Repeat("|--:", len(g.header)-1) + "|\n")
	for _, row := range g.rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// none stands where there is no number.
const none = "–"

// cell is a median with the least and the most, where there is more than one round; format is that of one number.
func (s spread) cell(format string) string {
	if math.IsNaN(s.median) || math.IsInf(s.median, 0) {
		return none
	}
	median, least, most := fmt.Sprintf(format, s.median), fmt.Sprintf(format, s.least), fmt.Sprintf(format, s.most)
	if least == most {
		return median
	}
	return fmt.Sprintf("%s (%s … %s)", median, least, most)
}

// scaled gives the spread in another unit.
func (s spread) scaled(by float64) spread { return spread{s.median * by, s.least * by, s.most * by} }
