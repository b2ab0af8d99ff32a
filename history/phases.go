package history

import (
	"cmp"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// origin is the instant at which the life of a request began: when it was wanted.
func origin(t *metrics.Timeline) int64 { return cmp.Or(t.Sched, t.Issue, t.Start) }

// phases divide the life of a request, without gaps: what lies between two instants that are known belongs to the phase that ends with the
// later one. Where a request ended early, the rest belongs to the phase in which it was.
func (e *entry) phases() (phases []view.Phase, total float64) {
	t := &e.time
	begin := origin(t)
	end := max(t.End, begin)
	at := begin
	until := func(name view.PhaseName, instant int64) {
		instant = min(instant, end)
		if instant <= at { // it did not happen, or took no time
			return
		}
		if last := len(phases) - 1; last >= 0 && phases[last].Name == name {
			phases[last].End = metrics.Seconds(instant - begin)
		} else {
			phases = append(phases, view.Phase{Name: name, Start: metrics.Seconds(at - begin), End: metrics.Seconds(instant - begin)})
		}
		at = instant
	}
	until(view.PhaseQueue, t.Issue)
	until(view.PhasePrepare, t.Start)
	if !e.reused { // else somebody else's connection was made meanwhile
		until(view.PhaseDNS, t.DNSDone)
		until(view.PhaseConnect, t.ConnectDone)
		until(view.PhaseTLS, t.TLSDone)
	}
	until(view.PhaseSend, t.Sent)
	until(view.PhaseWait, e.first)
	until(view.PhaseDecode, e.last)
	under := e.under()
	if last := len(phases) - 1; last >= 0 && slices.Index(view.PhaseNames, under) < slices.Index(view.PhaseNames, phases[last].Name) {
		under = phases[last].Name // a request does not go back
	}
	until(under, end)
	return phases, metrics.Seconds(end - begin)
}

// under is the phase in which the request was when it ended.
func (e *entry) under() view.PhaseName {
	t := &e.time
	begun := func(from, to int64) bool { return !e.reused && from != 0 && to == 0 }
	switch {
	case e.first != 0:
		return view.PhaseRest
	case t.Sent != 0:
		return view.PhaseWait
	case begun(t.TLSStart, t.TLSDone):
		return view.PhaseTLS
	case begun(t.ConnectStart, t.ConnectDone):
		return view.PhaseConnect
	case begun(t.DNSStart, t.DNSDone):
		return view.PhaseDNS
	case t.Start != 0:
		return view.PhaseSend
	case t.Issue != 0:
		return view.PhasePrepare
	}
	return view.PhaseQueue
}
