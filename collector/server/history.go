package server

import (
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
)

const (
	// together is how many looks two falls may lie apart to be taken for replicas that take turns.
	together = 10
	// quiet is how many looks in a row must fit one process before its counters are shown again.
	quiet = 60
	// sameStart is the difference, in seconds, within which two start times may be one: a server that reckons its own from the time since boot
	// is a second off when the clock of its machine is set.
	sameStart = 2.0
)

// history tells from the pages that an address gives one after the other whether one process wrote them, another one after a restart, or several
// in turn, as behind a load balancer.
//
// Where the server says when it started, a later start is a restart and an earlier one is another replica. Where it does not (or the starts are too
// close to tell), all counters falling at once is a restart. In any case counters that fall twice within ten looks are those of replicas: once may be
// a series that left the sum that we make of it. So a server that crashes every few seconds and does not say when it started is taken for
// replicas, and its counters are withheld while it does that; rates of such counters would mean little.
type history struct {
	started  float64
	counters []*dto.MetricFamily // normalised, of the last page that had counters
	look     int                 // counts the pages
	fell     int                 // look of the last fall; 0 = none

	restarts float64
	mixed    bool
	calm     int // looks without evidence, while mixed
}

// verdict is what a page changed.
type verdict struct{ restarted, mixed, cleared bool }

// see takes the next page.
func (h *history) see(r *mapping.Result) verdict {
	h.look++
	first := h.look == 1
	var several, anew bool
	if !first {
		several, anew = h.judge(h.counters, r.Normalised, h.started, r.Started)
	}
	h.started = r.Started
	if first || anew || slices.ContainsFunc(r.Normalised, counts) { // a server that has just started may have none yet
		h.counters = r.Normalised
	}
	var v verdict
	switch {
	case several && !h.mixed:
		h.mixed, v.mixed = true, true
		h.calm = 0
	case h.mixed && (several || anew):
		h.calm = 0
	case h.mixed:
		if h.calm++; h.calm >= quiet {
			h.mixed, v.cleared = false, true
		}
	case anew:
		h.restarts++
		v.restarted = true
	}
	return v
}

// judge tells whether two pages are those of several processes that take turns, or of one and the one that came after it.
func (h *history) judge(before, after []*dto.MetricFamily, started, now float64) (several, anew bool) {
	fallen, counters := falls(before, after)
	known := started != 0 && now != 0
	switch later := now - started; {
	case known && later >= sameStart:
		return false, true
	case known && later <= -sameStart:
		return true, false
	case fallen == 0:
		return false, false
	}
	again := h.fell != 0 && h.look-h.fell < together
	h.fell = h.look
	sameProcess := known && now == started
	return again || h.mixed, fallen == counters && !sameProcess
}

// falls counts the series of counters and histograms that stood above zero, and those of them that stand lower now. A series that is gone says
// nothing. If all of them are, under their labels, families are compared, of which another server or release has some.
func falls(before, after []*dto.MetricFamily) (fallen, counters int) {
	var fallenSums, sums, j int
	for _, old := range before {
		for j < len(after) && after[j].GetName() < old.GetName() {
			j++
		}
		if !counts(old) || j == len(after) || after[j].GetName() != old.GetName() {
			continue
		}
		metrics, was, is := after[j].Metric, 0., 0.
		for i, m := range old.Metric {
			was += count(m)
			if same := sameLabels(metrics, i, m); same != nil && count(m) != 0 {
				counters++
				fallen += fell(count(m), count(same))
			}
		}
		for _, m := range metrics {
			is += count(m)
		}
		if was != 0 {
			sums++
			fallenSums += fell(was, is)
		}
	}
	if counters == 0 {
		return fallenSums, sums
	}
	return fallen, counters
}

// fell is 1 if a counter fell. Sums of floats over processes depend on their order.
func fell(was, is float64) int {
	if is < was*(1-1e-9) {
		return 1
	}
	return 0
}

// counts tells whether the series of the family only grow.
func counts(f *dto.MetricFamily) bool {
	return f.GetType() == dto.MetricType_COUNTER || f.GetType() == dto.MetricType_HISTOGRAM
}

func count(m *dto.Metric) float64 {
	if h := m.Histogram; h != nil {
		return max(h.GetSampleCountFloat(), float64(h.GetSampleCount()))
	}
	return m.GetCounter().GetValue()
}

// sameLabels finds the series with the labels of m, which most often has kept its place.
func sameLabels(metrics []*dto.Metric, place int, m *dto.Metric) *dto.Metric {
	if place < len(metrics) && equalLabels(metrics[place], m) {
		return metrics[place]
	}
	for _, other := range metrics {
		if equalLabels(other, m) {
			return other
		}
	}
	return nil
}

func equalLabels(a, b *dto.Metric) bool {
	if len(a.Label) != len(b.Label) {
		return false
	}
	for i := range a.Label {
		if a.Label[i].GetName() != b.Label[i].GetName() || a.Label[i].GetValue() != b.Label[i].GetValue() {
			return false
		}
	}
	return true
}
