package selftest

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The plan of the null target's answer: as many content events, the first so long after the request, the others at even distances. It is
// over before the next request, and has gaps that a host that is well keeps without effort.
const (
	contentEvents = 16
	firstAfter    = 50 * time.Millisecond
	gap           = 10 * time.Millisecond
)

// planned is how long after the request a content event is due.
func planned(i int) time.Duration { return firstAfter + time.Duration(i)*gap }

// errorsOf gives how far each content event was measured from its plan, in nanoseconds. The plan begins with the start of the request, not
// with what the server made of it: its own delay is that of a program on this host, and nobody else's.
func errorsOf(r *metrics.Record) []int64 {
	out := make([]int64, len(r.Content))
	for i, at := range r.Content {
		out[i] = int64((time.Duration(at-r.Time.Start) - planned(i)).Abs())
	}
	return out
}
