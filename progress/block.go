package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// line is one line of a terminal and the columns that it takes; colours take none.
type line struct {
	text  string
	width int
}

// Colours, as terminals know them.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	faint  = "\x1b[2m"
	normal = "\x1b[0m"
)

// Widths of a bar: it is as long as there is room for.
const (
	longBar  = 24
	shortBar = 8
)

// column is one of the block. Texts are on the right, but for the first.
type column struct {
	title string
	worth int // the one with the least goes first where there is no room
	cell  func(*row) string
	paint func(r *row, padded string) string // nil = as it is
}

// columnsOf are those that have something to say about rows, without the bar.
func columnsOf(rows []row) []column {
	all := sum("", rows)
	columns := []column{
		{"", 10, func(r *row) string { return r.name }, nil},
		{"", 9, (*row).progress, nil},
		{"rate", 5, func(r *row) string { return figure(r.rateHz) + "/s" }, nil},
		{"in flight", 2, func(r *row) string { return strconv.Itoa(r.inFlight) }, nil},
		{"ok", 1, func(r *row) string { return strconv.FormatInt(r.ok, 10) }, nil},
		{"failed", 8, (*row).failures, paintFailures},
	}
	if all.dropped > 0 {
		columns = append(columns, column{"dropped", 6, func(r *row) string { return strconv.FormatInt(r.dropped, 10) }, nil})
	}
	if all.firstTokens.total > 0 {
		columns = append(columns,
			column{"TTFT p50", 4, func(r *row) string { return r.firstToken(0.50) }, nil},
			column{"p95", 3, func(r *row) string { return r.firstToken(0.95) }, nil})
	}
	return append(columns, column{"left", 7, (*row).remaining, nil})
}

// barColumn is a bar that is as long as it may be.
func barColumn(length int) column {
	return column{"", 0, func(r *row) string { return barOf(r.share(), length) }, paintBar}
}

// block draws rows into a terminal. What does not fit by its height is summed up, and those with the most failures are above it; what does not
// fit by its width is left out, the least important first.
func block(rows []row, width, height int, colours bool) []line {
	rows = fit(rows, max(height-1, 1)) // below the titles
	columns := columnsOf(rows)
	widths := measure(columns, rows)
	for total(widths) > width && len(columns) > 1 {
		least := slices.IndexFunc(columns, func(c column) bool {
			return c.worth == slices.MinFunc(columns, func(a, b column) int { return cmp.Compare(a.worth, b.worth) }).worth
		})
		columns = slices.Delete(columns, least, least+1)
		widths = measure(columns, rows)
	}
	widths[0] = min(widths[0], width)
	if room := min(width-total(widths)-gap, longBar); room >= shortBar {
		columns, widths = slices.Insert(columns, 1, barColumn(room)), slices.Insert(widths, 1, room)
	}
	out := make([]line, 0, len(rows)+1)
	out = append(out, titles(columns, widths, colours))
	for i := range rows {
		out = append(out, draw(&rows[i], columns, widths, colours))
	}
	return out
}

// fit makes at most height rows of any number.
func fit(rows []row, height int) []row {
	if len(rows) <= height {
		return rows
	}
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].slowest, _ = rows[i].firstTokens.quantile(0.95) // 0 = nothing is known
	}
	slices.SortStableFunc(rows, worse)
	shown := height - 1
	rest := sum(fmt.Sprintf("%d others", len(rows)-shown), rows[shown:])
	if shown == 0 {
		rest.name = fmt.Sprintf("%d targets", len(rows))
	}
	return append(rows[:shown], rest)
}

// worse orders those first that need a look: by failures, then by what was dropped, then by the time to the first token.
func worse(a, b row) int {
	return cmp.Or(cmp.Compare(b.failed, a.failed), cmp.Compare(b.dropped, a.dropped), cmp.Compare(b.slowest, a.slowest))
}

// gap is between two columns.
const gap = 2

// measure gives the width that each column takes.
func measure(columns []column, rows []row) []int {
	out := make([]int, len(columns))
	for i, c := range columns {
		out[i] = utf8.RuneCountInString(c.title)
		for j := range rows {
			out[i] = max(out[i], utf8.RuneCountInString(c.cell(&rows[j])))
		}
	}
	return out
}

func total(widths []int) int {
	out := gap * (len(widths) - 1)
	for _, w := range widths {
		out += w
	}
	return out
}

// titles names the columns.
func titles(columns []column, widths []int, colours bool) line {
	var b strings.Builder
	for i, c := range columns {
		b.WriteString(strings.Repeat(" ", min(i, 1)*gap) + pad(c.title, widths[i], i == 0))
	}
	text := strings.TrimRight(b.String(), " ")
	out := line{text: text, width: utf8.RuneCountInString(text)}
	if colours {
		out.text = faint + text + normal
	}
	return out
}

func draw(r *row, columns []column, widths []int, colours bool) line {
	var b strings.Builder
	for i, c := range columns {
		text := pad(c.cell(r), widths[i], i == 0)
		if colours && c.paint != nil {
			text = c.paint(r, text)
		}
		b.WriteString(strings.Repeat(" ", min(i, 1)*gap) + text)
	}
	return line{text: b.String(), width: total(widths)}
}

// pad brings a text to a width, cut off if it is longer.
func pad(text string, width int, left bool) string {
	length := utf8.RuneCountInString(text)
	switch {
	case length > width:
		return string([]rune(text)[:max(width-1, 0)]) + "…"
	case left:
		return text + strings.Repeat(" ", width-length)
	}
	return strings.Repeat(" ", width-length) + text
}

// What a bar is made of: it can be told what is done without a colour, too.
const (
	barDone = "━"
	barLeft = "┄"
)

func barOf(share float64, length int) string {
	done := int(share*float64(length) + 1e-9)
	return strings.Repeat(barDone, done) + strings.Repeat(barLeft, length-done)
}

func paintBar(_ *row, bar string) string {
	done := strings.Count(bar, barDone)
	return green + strings.Repeat(barDone, done) + normal + faint + strings.Repeat(barLeft, utf8.RuneCountInString(bar)-done) + normal
}

func paintFailures(r *row, text string) string {
	if r.failed == 0 {
		return text
	}
	return red + text + normal
}
