package probe

import (
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// witness hears what becomes of the one request of a probe. It implements generator.Observer.
type witness struct {
	redact func(string) string

	finished bool
	record   metrics.Record // without what is only valid during the call
	content  []int64
	measures metrics.Measures
	verdicts []metrics.Verdict
	exchange string // what went over the wire, for people; "" = nobody wanted to know
	dropped  metrics.DropReason
}

// Finished implements generator.Observer.
func (w *witness) Finished(_ string, r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) {
	w.finished = true
	w.record, w.measures, w.verdicts = *r, *m, verdicts
	w.content = slices.Clone(r.Content)
	if r.Tape != nil {
		w.exchange = w.redact(describe(r.Tape))
	}
	w.record.Content, w.record.Tape = nil, nil
}

// Dropped implements generator.Observer.
func (w *witness) Dropped(_ string, reason metrics.DropReason, _ int64) { w.dropped = reason }

// rejection is why nothing was sent, nil if something was, or tried.
func (w *witness) rejection(g *guard) *Rejection {
	switch {
	case g.stopped():
		return reject(ReasonAddressRefused, "the host of the target has an address to which no entry of allowed_targets leads")
	case w.finished:
		return nil
	case w.dropped == metrics.DropBudget:
		return reject(ReasonBudget, "what may be spent is spent")
	case w.dropped != "":
		return reject(ReasonGlobalLimit, "as many requests run, or were sent lately, as global.max_in_flight and global.max_rate allow")
	}
	return reject(ReasonInternal, "nothing became of the request")
}
