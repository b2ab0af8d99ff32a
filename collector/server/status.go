package server

import (
	"maps"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
)

// StatePublic is the state of an instance that is not asked: its address is public, and nobody said that there is a page.
const StatePublic = "public"

// Status is how the reading of one instance of a target's server goes.
type Status struct {
	Target, Instance string
	Kinds            []mapping.Kind // what the last page that was read is of
	State            string         // collector.StateOK or StateWaiting, StatePublic, or the reason of a scrape that failed
	Detail           string         // what is wrong, without credentials
	LastSuccess      time.Time      // zero = there was none
	Took             time.Duration  // of the last attempt
	Samples          int            // of the last attempt, 0 if it failed
}

// attempt is how the last one to read a replica went. It does not change.
type attempt struct {
	reason  scrape.Reason // "" = it succeeded
	detail  string
	public  bool
	success time.Time // of the last success
	took    time.Duration
	samples int
	kinds   []mapping.Kind
}

// failed is the attempt that comes after this one, which may be nil, and fails.
func (a *attempt) failed(reason scrape.Reason, answer *reading) *attempt {
	next := &attempt{reason: reason, detail: answer.err.Error(), took: answer.took}
	if a != nil {
		next.success, next.kinds = a.success, a.kinds
	}
	return next
}

func (a *attempt) state() string {
	switch {
	case a.public:
		return StatePublic
	case a.reason != "":
		return string(a.reason)
	}
	return collector.StateOK
}

// Status tells how it goes, by target.
func (c *Collector) Status() []Status {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []Status
	for _, name := range slices.Sorted(maps.Keys(c.targets)) {
		for _, r := range c.targets[name].replicas {
			s := Status{Target: name, Instance: r.options.Instance, State: collector.StateWaiting}
			if a := r.attempt.Load(); a != nil {
				s.State, s.Detail, s.LastSuccess, s.Took, s.Samples, s.Kinds = a.state(), a.detail, a.success, a.took, a.samples, a.kinds
			}
			out = append(out, s)
		}
	}
	return out
}
