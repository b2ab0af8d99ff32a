package history

import (
	"cmp"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// origin is the instant at which the life of a request began: when it was wanted.
func origin(t *metrics.Timeline) int64 { return cmp.Or(t.Sched, t.Issue, t.Start) }

// phaseOrder is how phases follow each other.
var phaseOrder = []string{"queue", "prepare", "dns", "connect", "tls", "send", "wait", "decode", "rest"}

// phases divide the life of a request, without gaps: what lies between two instants that are known belongs to the phase that ends with the
// later one. Where a request ended early, the rest belongs to the phase in which it was.
func (e *entry) phases() (phases []view.Phase, total float64) {
	t := &e.time
	begin := origin(t)
	end := max(t.End, begin)
	at := begin
	until := func(name string, instant int64) {
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
	until("queue", t.Issue)
	until("prepare", t.Start)
	if !e.reused { // else somebody else's connection was made meanwhile
		until("dns", t.DNSDone)
		until("connect", t.ConnectDone)
		until("tls", t.TLSDone)
	}
	until("send", t.Sent)
	until("wait", e.first)
	until("decode", e.last)
	under := e.under()
	if last := len(phases) - 1; last >= 0 && slices.Index(phaseOrder, under) < slices.Index(phaseOrder, phases[last].Name) {
		under = phases[last].Name // a request does not go back
	}
	until(under, end)
	return phases, metrics.Seconds(end - begin)
}

// under is the phase in which the request was when it ended.
func (e *entry) under() string {
	t := &e.time
	begun := func(from, to int64) bool { return !e.reused && from != 0 && to == 0 }
	switch {
	case e.first != 0:
		return "rest"
	case t.Sent != 0:
		return "wait"
	case begun(t.TLSStart, t.TLSDone):
		return "tls"
	case begun(t.ConnectStart, t.ConnectDone):
		return "connect"
	case begun(t.DNSStart, t.DNSDone):
		return "dns"
	case t.Start != 0:
		return "send"
	case t.Issue != 0:
		return "prepare"
	}
	return "queue"
}
