package web

import (
	"math"
	"strconv"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// chartSpan is what the charts show: the last hour.
const chartSpan = time.Hour

// nothing marks a place of a line that has no value.
var nothing = math.NaN() //nolint:gochecknoglobals // a constant that Go cannot write as one

// pen draws paths in whole numbers, as short as they get.
type pen struct {
	path []byte
	x, y int
	down bool // the last step drew something
}

// move begins anew at a place.
func (p *pen) move(x, y int) {
	p.command('M', x, y)
	p.x, p.y, p.down = x, y, false
}

// line goes on to a place.
func (p *pen) line(x, y int) {
	if y == p.y {
		p.command('h', x-p.x)
	} else {
		p.command('l', x-p.x, y-p.y)
	}
	p.x, p.y, p.down = x, y, true
}

func (p *pen) command(letter byte, numbers ...int) {
	p.path = append(p.path, letter)
	for i, n := range numbers {
		if i > 0 && n >= 0 {
			p.path = append(p.path, ' ')
		}
		p.path = strconv.AppendInt(p.path, int64(n), 10)
	}
}

// trace draws values over their places; top is the value at the upper edge of a box that is height high. A value alone is a dot, and what is
// missing is a gap.
func trace(xs []int, values []float64, top float64, height int) string {
	var p pen
	open := false
	for i, v := range values {
		if math.IsNaN(v) {
			if open && !p.down {
				p.line(p.x, p.y)
			}
			open = false
			continue
		}
		y := height - int(math.Round(min(1, max(0, v/top))*float64(height)))
		if open {
			p.line(xs[i], y)
		} else {
			p.move(xs[i], y)
		}
		open = true
	}
	if open && !p.down {
		p.line(p.x, p.y)
	}
	return string(p.path)
}

// The size of a sparkline, and how many points of the hour become one place of it.
const (
	sparkWidth, sparkHeight = 80, 20
	sparkPoints             = 3
	sparkStep               = sparkWidth * sparkPoints * view.PointSeconds / 3600
	// sparkDash is how wide the only value is drawn: of a daemon that has just begun nobody would see a dot in the corner.
	sparkDash = 8
)

// spark is a small picture of a target's last hour.
type spark struct {
	P50, P95, Failures string // paths
	Top                string // the highest value
}

// newSpark shows TTFT: of the points that share a place the highest, so that a short rise stays visible. It ends at the right edge.
func newSpark(points []view.Point) spark {
	places := (len(points) + sparkPoints - 1) / sparkPoints
	p50, p95, xs := make([]float64, places), make([]float64, places), make([]int, places)
	failed := make([]bool, places)
	top := 0.0
	for i := range places {
		from := max(0, len(points)-(places-i)*sparkPoints)
		part := points[from : len(points)-(places-1-i)*sparkPoints]
		p50[i], p95[i] = nothing, nothing
		xs[i] = sparkWidth - (places-1-i)*sparkStep - 1
		for j := range part {
			p50[i], p95[i] = higher(p50[i], part[j].TTFT50), higher(p95[i], part[j].TTFT95)
			failed[i] = failed[i] || part[j].Failures > 0
		}
		top = max(top, orZero(p50[i]), orZero(p95[i]))
	}
	if top == 0 {
		top = 1
	}
	out := spark{Top: duration(&top)}
	if at, alone := onlyValue(p95); alone { // where there is a p50 there is a p95
		dash := []int{max(xs[at]-sparkDash, 0), xs[at]} // level, in the middle
		out.P50 = trace(dash, []float64{p50[at], p50[at]}, 2*top, sparkHeight)
		out.P95 = trace(dash, []float64{p95[at], p95[at]}, 2*top, sparkHeight)
	} else {
		out.P50, out.P95 = trace(xs, p50, top, sparkHeight), trace(xs, p95, top, sparkHeight)
	}
	var p pen
	for i, x := range xs {
		if failed[i] {
			p.move(x, sparkHeight+1)
			p.command('v', 4)
		}
	}
	out.Failures = string(p.path)
	return out
}

// onlyValue finds the value that is the only one.
func onlyValue(values []float64) (at int, alone bool) {
	n := 0
	for i, v := range values {
		if !math.IsNaN(v) {
			at = i
			n++
		}
	}
	return at, n == 1
}

func higher(a float64, b *float64) float64 {
	if b == nil || a >= *b {
		return a
	}
	return *b
}

func orZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// ticks are the round values from 0 that part a scale up to top, 5 of them at most, and the end of the scale.
func ticks(top float64) (at []float64, end float64) {
	if top <= 0 {
		top = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(top/4)))
	for _, factor := range []float64{1, 2, 2.5, 5, 10} {
		if step*factor*4 >= top*0.999 {
			step *= factor
			break
		}
	}
	count := int(math.Ceil(top/step*0.999)) + 1
	for i := range count {
		at = append(at, float64(i)*step)
	}
	return at, at[len(at)-1]
}
