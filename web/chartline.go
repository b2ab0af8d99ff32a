package web

import (
	"math"
	"strconv"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// The box of a chart's lines. It is stretched to the space that the page has; what is written stands outside of it.
const chartWidth, chartHeight = 720, 200

// chart is one picture of a target's last hour. The script draws the same from the table of the points, of which Line.Column is a column.
type chart struct {
	Key, Title string
	Unit       string
	Summary    string // says it without the picture
	Lines      []chartLine
	Grid       []mark // from the bottom
	Hours      []mark // from the left
}

// chartLine is a line of a chart. Its Class is its look.
type chartLine struct {
	Name, Class, Path string
	Column            int
}

// mark is a place on a scale, in percent, and what stands there. The first and the last one know that they do.
type mark struct {
	At          string
	Text        string
	First, Last bool
}

// quantity takes from a point what a column of the table shows; NaN: it has none.
type quantity func(*view.Point) float64

func optional(v *float64) float64 {
	if v == nil {
		return nothing
	}
	return *v
}

// column is one of the table of points.
type column struct {
	Title, Unit string
	of          quantity
}

// pointColumns are the numbers behind the charts, in the table's order and units.
var pointColumns = []column{
	{"Requests", "", func(p *view.Point) float64 { return float64(p.Requests) }},
	{"Failed", "", func(p *view.Point) float64 { return float64(p.Failures) }},
	{"Dropped", "", func(p *view.Point) float64 { return float64(p.Dropped) }},
	{"Good", "%", goodPercent},
	{"TTFT p50", "ms", func(p *view.Point) float64 { return optional(p.TTFT50) * 1e3 }},
	{"TTFT p95", "ms", func(p *view.Point) float64 { return optional(p.TTFT95) * 1e3 }},
	{"Latency p50", "ms", func(p *view.Point) float64 { return optional(p.Latency) * 1e3 }},
	{"Output", "tokens/s", func(p *view.Point) float64 { return optional(p.Rate) }},
}

func goodPercent(p *view.Point) float64 {
	if p.Judged == 0 {
		return nothing
	}
	return 100 * float64(p.Good) / float64(p.Judged)
}

// chartSpec says which columns share a picture, and what their lines look like.
type chartSpec struct {
	key, title string
	top        float64 // the scale's least end; 0 = as high as the values
	lines      []chartLine
}

var chartSpecs = []chartSpec{
	{"ttft", "Time to first token", 0, []chartLine{{Name: "p50", Class: "p50", Column: 4}, {Name: "p95", Class: "p95", Column: 5}}},
	{"requests", "Requests per 30 s", 4, []chartLine{
		{Name: "ended", Class: "p50", Column: 0}, {Name: "failed", Class: "bad", Column: 1}, {Name: "dropped", Class: "lost", Column: 2},
	}},
	{"latency", "Latency", 0, []chartLine{{Name: "p50", Class: "p50", Column: 6}}},
	{"goodput", "Goodput", 100, []chartLine{{Name: "good requests", Class: "good", Column: 3}}},
	{"tokens", "Output tokens/s of a request", 0, []chartLine{{Name: "mean", Class: "p50", Column: 7}}},
}

// newCharts draws the points that lie in the hour before now.
func newCharts(points []view.Point, now time.Time) []chart {
	xs := make([]int, len(points))
	for i := range points {
		xs[i] = int(math.Round(chartWidth * (1 - now.Sub(points[i].At).Seconds()/chartSpan.Seconds())))
	}
	hours := timeMarks(now)
	out := make([]chart, 0, len(chartSpecs))
	for _, spec := range chartSpecs {
		c := chart{Key: spec.key, Title: spec.title, Unit: pointColumns[spec.lines[0].Column].Unit, Hours: hours}
		top := spec.top
		values := make([][]float64, len(spec.lines))
		for i, l := range spec.lines {
			values[i] = make([]float64, len(points))
			for j := range points {
				values[i][j] = pointColumns[l.Column].of(&points[j])
				top = max(top, orZero(values[i][j]))
			}
		}
		at, end := ticks(top)
		c.Grid = gridMarks(at, end, c.Unit)
		for i, l := range spec.lines {
			l.Path = trace(xs, values[i], end, chartHeight)
			c.Lines = append(c.Lines, l)
		}
		c.Summary = summary(&spec, points, values)
		out = append(out, c)
	}
	return out
}

// summary says where each line is now and where it was highest.
func summary(spec *chartSpec, points []view.Point, values [][]float64) string {
	text := ""
	for i, l := range spec.lines {
		last, peak := nothing, -1
		for j, v := range values[i] {
			if math.IsNaN(v) {
				continue
			}
			last = v
			if peak < 0 || v > values[i][peak] {
				peak = j
			}
		}
		if peak < 0 {
			continue
		}
		if text != "" {
			text += " · "
		}
		unit := pointColumns[l.Column].Unit
		text += l.Name + " " + scaled(last, unit)
		if high := values[i][peak]; high > last {
			text += ", up to " + scaled(high, unit) + " at " + points[peak].At.UTC().Format("15:04")
		}
	}
	if text == "" {
		return "no values in the last hour"
	}
	return text
}

// scaled says a value of a column; what is in milliseconds becomes seconds where that reads better.
func scaled(v float64, unit string) string {
	switch unit {
	case "ms":
		v /= 1e3
		return duration(&v)
	case "%":
		v /= 100
		return percent(&v)
	case "tokens/s":
		return significant(v) + "/s"
	}
	return significant(v)
}

func gridMarks(at []float64, end float64, unit string) []mark {
	out := make([]mark, 0, len(at))
	for i, v := range at {
		text := scaled(v, unit)
		if v == 0 {
			text = "0"
		}
		out = append(out, mark{At: proportion(1 - v/end), Text: text, First: i == 0, Last: i == len(at)-1})
	}
	return out
}

// timeMarks are the quarters of hours that lie in the hour before now, UTC.
func timeMarks(now time.Time) []mark {
	var out []mark
	for at := now.Truncate(15 * time.Minute); now.Sub(at) < chartSpan; at = at.Add(-15 * time.Minute) {
		x := 1 - now.Sub(at).Seconds()/chartSpan.Seconds()
		if x > 0.03 && x < 0.97 {
			out = append(out, mark{At: proportion(x), Text: at.UTC().Format("15:04")})
		}
	}
	return out
}

// proportion is a share of a length as SVG and its readers want it.
func proportion(x float64) string {
	return strconv.FormatFloat(math.Round(x*1e4)/1e2, 'f', -1, 64) + "%"
}

// numberRow is a line of the table of points.
type numberRow struct {
	At    moment
	Clock string
	Cells []string
}

// newNumbers is the table of points, newest first, in the units of the columns.
func newNumbers(points []view.Point, now time.Time) []numberRow {
	out := make([]numberRow, 0, len(points))
	for i := len(points) - 1; i >= 0; i-- {
		p := &points[i]
		row := numberRow{At: *newMoment(now, &p.At), Clock: p.At.UTC().Format("15:04:05"), Cells: make([]string, len(pointColumns))}
		for j, c := range pointColumns {
			row.Cells[j] = absent
			if v := c.of(p); !math.IsNaN(v) {
				row.Cells[j] = significant(v)
			}
		}
		out = append(out, row)
	}
	return out
}
