package web

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// shownFailures is how many failures stand open on the page.
const shownFailures = 5

// targetPage is what the page of a target shows.
type targetPage struct {
	frame
	view.Target
	Since, LastSuccess *moment
	Window             windowText
	Figures            []figure
	Dropped            []tally
	Charts             []chart
	Columns            []column
	Numbers            []numberRow
	Failures, Older    []fall
	Waterfall          *waterfall
	Phases             []phase
	SLOs               []sloRow
	Budgets            []gauge
	Collectors         collectorTable
	API                string // what the API has of the target
}

// windowText says what the figures rest on.
type windowText struct{ Span, Requests string }

// figure is a number at the top of the page.
type figure struct {
	Title string
	Value string
	Notes []string
	Alarm bool
}

type sloRow struct {
	view.SLO
	Health    view.Health
	Ratio     string
	Objective string
}

func newTargetPage(f *frame, t *view.Target, d Daemon, now time.Time) *targetPage {
	records := d.Records(t.Name)
	f.Title = string(t.Health) + " · " + t.Name
	f.Verdict = t.Name + " is " + string(t.Health)
	p := &targetPage{
		frame: *f, Target: *t, Since: newMoment(now, t.Since), LastSuccess: newMoment(now, t.LastSuccess),
		Window:  windowText{Span: span(time.Duration(t.Window.Seconds * float64(time.Second))), Requests: plural(t.Window.Requests, "request", "requests")},
		Figures: figures(t), Dropped: byCount(t.Window.Dropped), Charts: newCharts(t.Points, now),
		Columns: pointColumns, Numbers: newNumbers(t.Points, now), Waterfall: newWaterfall(records, now), Phases: phases,
		Collectors: collectorTable{Label: "Table of collectors"}, API: f.Root + "api/v1/" + targetHref(t.Name),
	}
	for i := range records {
		if !isFailure(&records[i]) {
			continue
		}
		one := newFall(&records[i], 1, now)
		one.Key = "f-" + records[i].ID
		if len(p.Failures) < shownFailures {
			p.Failures = append(p.Failures, one)
		} else {
			p.Older = append(p.Older, one)
		}
	}
	for i := range t.SLOs {
		p.SLOs = append(p.SLOs, newSLORow(&t.SLOs[i]))
	}
	for i := range t.Budget {
		p.Budgets = append(p.Budgets, *newGauge(&t.Budget[i]))
	}
	for _, c := range d.Collectors() {
		if c.Target == t.Name {
			p.Collectors.Rows = append(p.Collectors.Rows, collectorRow{Collector: c, Last: newMoment(now, c.Last), Took: duration(c.Duration)})
		}
	}
	return p
}

// figures are what of the window stands in numbers at the top.
func figures(t *view.Target) []figure {
	w := &t.Window
	quantiles := func(title string, q *view.Quantiles) figure {
		return figure{Title: title, Value: duration(q.P50), Notes: []string{"p95 " + duration(q.P95), "p99 " + duration(q.P99)}}
	}
	failed := figure{Title: "Failed", Value: fmt.Sprintf("%d of %d", w.Failures, w.Requests), Alarm: w.Failures > 0}
	for i, e := range byCount(w.Errors) {
		if i < 2 {
			failed.Notes = append(failed.Notes, fmt.Sprintf("%s %d", words(e.Name), e.Count))
		}
	}
	if lost := sum(w.Dropped); lost > 0 {
		failed.Notes = append(failed.Notes, plural(lost, "arrival", "arrivals")+" dropped")
	}
	goodput := figure{Title: "Goodput", Value: percent(w.Goodput)}
	if len(t.SLOs) == 0 {
		goodput.Notes = []string{"no objectives"}
	}
	sent, wanted := rates(t.AchievedRate, t.AskedRate)
	return []figure{
		failed,
		quantiles("TTFT p50", &w.TTFT), quantiles("ITL p50", &w.ITL), quantiles("Latency p50", &w.Latency),
		goodput,
		{Title: "Rate", Value: sent, Notes: []string{wanted, strconv.Itoa(t.InFlight) + " in flight"}},
	}
}

func newSLORow(s *view.SLO) sloRow {
	out := sloRow{SLO: *s, Objective: percent(&s.Objective), Ratio: absent, Health: view.Unknown}
	if s.Samples > 0 {
		ratio := float64(s.Good) / float64(s.Samples)
		out.Ratio = percent(&ratio)
	}
	switch s.State {
	case view.Met:
		out.Health = view.Healthy
	case view.Missed:
		out.Health = view.Failing
	case view.Unproved:
	}
	return out
}
