package otlp

import (
	"cmp"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// Status is how sending goes.
type Status struct {
	Endpoint    string        // without credentials
	State       string        // collector.StateOK or StateWaiting, or the reason for which requests fail
	Detail      string        // what is wrong, without credentials
	LastSuccess time.Time     // zero = there was none
	Took        time.Duration // of the last export
	Points      int           // of the last request that arrived
}

// Status tells how it goes; empty = nothing is sent.
func (e *Exporter) Status() []Status {
	s := e.session.Load()
	if !s.sends() {
		return nil
	}
	e.tally.mu.Lock()
	defer e.tally.mu.Unlock()
	out := e.tally.last
	out.Endpoint, out.State = secret.RedactURL(s.config.Endpoint), cmp.Or(out.State, collector.StateWaiting)
	return []Status{out}
}
