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
		cells := make([]string, len(row))
		for i, cell := range row {
			room := strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(cell), 0))
			if cells[i] = room + cell; c.left[i] {
				cells[i] = cell + room
			}
		}
		out.WriteString(strings.TrimRight(before+strings.Join(cells, "  "), " ") + "\n")
	}
	return out.String()
}
