// Package metrics is what it means: a finished request's record, the measures and the verdicts that follow from it, the sweep that adds up
// over time what requests do together, and the store that shows them all as Prometheus series. It reads no socket and knows no protocol; everything is handed in.
//
// To add a series: one line in the table of series.go, one observation in flight.go, observe.go or process.go.
package metrics

import "time"

// SystemClock gives instants in nanoseconds since the process epoch, monotonic. The epoch is taken once, with the wall and the monotonic
// reading together. No duration in this program is ever computed from two wall-clock readings: an NTP step must not move a latency.
type SystemClock struct {
	epoch time.Time
}

// NewSystemClock captures the epoch.
func NewSystemClock() *SystemClock { return &SystemClock{epoch: time.Now()} }

// Now is the current instant.
func (c *SystemClock) Now() int64 { return int64(time.Since(c.epoch)) }

// At translates a reading of time.Now, by its monotonic part.
func (c *SystemClock) At(t time.Time) int64 { return int64(t.Sub(c.epoch)) }

// Wall is the wall-clock time of an instant; only for exported timestamps, exemplars and logs.
func (c *SystemClock) Wall(at int64) time.Time { return c.epoch.Add(time.Duration(at)) }

// Offset is how far the wall clock has moved against the monotonic one since the epoch, as an NTP step or slew does.
func (c *SystemClock) Offset() time.Duration {
	now := time.Now()
	// Round(0) strips the monotonic reading, so that the difference is one of wall clocks.
	return now.Round(0).Sub(c.epoch.Round(0)) - now.Sub(c.epoch)
}

// Seconds converts a duration in nanoseconds. Division, not multiplication by 1e-9: 3e8*1e-9 is 0.30000000000000004 and
// misses the bucket le="0.3".
func Seconds(ns int64) float64 { return float64(ns) / 1e9 }
