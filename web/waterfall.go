package web

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

const (
	// shownRecords is how many of the kept requests the page shows; the API has them all.
	shownRecords = 25
	// tickPlaces is how fine the marks of chunks are drawn.
	tickPlaces = 1000
)

// phase is a part of a request's life, with what an operator has to know of it.
type phase struct {
	Name  view.PhaseName
	About string
}

// phases are those of view.PhaseNames, in their order.
var phases = []phase{
	{view.PhaseQueue, "wanted until admitted"},
	{view.PhasePrepare, "payload built"},
	{view.PhaseDNS, "name looked up"},
	{view.PhaseConnect, "TCP"},
	{view.PhaseTLS, "handshake"},
	{view.PhaseSend, "request written"},
	{view.PhaseWait, "server queue and prefill, until the first token"},
	{view.PhaseDecode, "first to last token"},
	{view.PhaseRest, "until the answer ended"},
}

// waterfall shows where the time of requests went, all on one scale.
type waterfall struct {
	Marks []mark
	Rows  []fall
	More  int // kept, and not shown
}

// fall is one request.
type fall struct {
	view.Record
	When                     moment
	Clock                    string
	Parts                    []part
	Ticks                    string // a path in a box tickPlaces wide and 1 high
	Clipped                  bool   // it took longer than the scale
	Failed                   bool
	TTFT, ITL, Latency, Took string
	Tokens                   string
	Key                      string // stable over refreshes
	Capture                  string // where its stream is, as seen from the page; "" = it was not kept
}

// part is a phase of a request: where on the scale, and in numbers.
type part struct {
	Name        view.PhaseName
	Left, Width string
	From, Took  string
}

// newWaterfall shows the newest of records. A few that took very long do not make all others invisible: the scale ends at four times the median,
// and what is longer is cut off and says so.
func newWaterfall(records []view.Record, now time.Time) *waterfall {
	out := &waterfall{More: max(0, len(records)-shownRecords)}
	records = records[:len(records)-out.More]
	top := fallScale(records)
	at, _ := ticks(top)
	for i, v := range at {
		if i == 0 {
			out.Marks = append(out.Marks, mark{At: "0", Text: "0", First: true})
		} else if v <= top {
			out.Marks = append(out.Marks, mark{At: proportion(v / top), Text: duration(&v), Last: v > 0.95*top})
		}
	}
	for i := range records {
		out.Rows = append(out.Rows, newFall(&records[i], top, now))
	}
	return out
}

func fallScale(records []view.Record) float64 {
	totals := make([]float64, 0, len(records))
	for i := range records {
		totals = append(totals, records[i].Total)
	}
	slices.Sort(totals)
	if len(totals) == 0 || totals[len(totals)-1] <= 0 {
		return 1
	}
	longest, median := totals[len(totals)-1], totals[len(totals)/2]
	if median > 0 {
		return min(longest, 4*median)
	}
	return longest
}

func newFall(r *view.Record, top float64, now time.Time) fall {
	f := fall{
		Record: *r, When: *newMomentOrZero(now, r.At), Clock: r.At.UTC().Format("15:04:05"), Clipped: r.Total > top*1.001, Failed: isFailure(r),
		TTFT: duration(r.TTFT), ITL: duration(r.ITL), Latency: duration(r.Latency), Took: duration(&r.Total), Tokens: tokens(r), Key: "r-" + r.ID,
	}
	if r.Captured {
		f.Capture = "../api/v1/captures/" + url.PathEscape(r.ID)
	}
	for _, p := range r.Phases {
		took := p.End - p.Start
		left, right := min(1, max(0, p.Start/top)), min(1, max(0, p.End/top))
		f.Parts = append(f.Parts, part{
			Name: p.Name, Left: proportion(left), Width: proportion(max(0, right-left)), From: duration(&p.Start), Took: duration(&took),
		})
	}
	var marks pen
	last := -1
	for _, t := range r.Ticks {
		x := int(math.Round(t / top * tickPlaces))
		if x <= last || x > tickPlaces {
			continue // drawn already, or off the scale
		}
		marks.move(x, 0)
		marks.command('v', 1)
		last = x
	}
	f.Ticks = string(marks.path)
	return f
}

func newMomentOrZero(now, at time.Time) *moment {
	if m := newMoment(now, &at); m != nil {
		return m
	}
	return &moment{Full: absent, Ago: absent}
}

func isFailure(r *view.Record) bool { return r.Class != "" }

// tokens says how many went in and came out.
func tokens(r *view.Record) string {
	count := func(n *int64) string {
		if n == nil {
			return "?"
		}
		return strconv.FormatInt(*n, 10)
	}
	if r.InputTokens == nil && r.OutputTokens == nil {
		return absent
	}
	return count(r.InputTokens) + " → " + count(r.OutputTokens)
}
