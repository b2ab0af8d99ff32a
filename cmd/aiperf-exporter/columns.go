package main

import (
	"strings"
	"unicode/utf8"
)

// columns sets rows under each other: texts begin at the same place, figures end there. A row may end early.
type columns struct {
	rows [][]string
	left map[int]bool // columns of texts
}

// add puts a row below.
func (c *columns) add(cells ...string) { c.rows = append(c.rows, cells) }

// lines are the rows with what is before each, without spaces at their ends.
func (c *columns) lines(before string) string {
	var widths []int
	for _, row := range c.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i == 0 || i < len(row)-1 || !c.left[i] { // a text at the end pushes nothing away
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	var out strings.Builder
	for _, row := range c.rows {
		line := before
		for i, cell := range row {
			room := strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(cell), 0))
			if i > 0 {
				line += "  "
			}
			if c.left[i] {
				line += cell + room
			} else {
				line += room + cell
			}
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}
