package selftest

import (
	"io/fs"
	runtimemetrics "runtime/metrics"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Beyond these the instrument is at fault.
const (
	// maxThrottledShare of the time between two readings.
	maxThrottledShare = .05
	// readyLimit is how long a goroutine that is ready may wait for a processor; maxLateShare of them may wait longer, so that the limit is one
	// of the 99th percentile.
	readyLimit   = 10 * time.Millisecond
	maxLateShare = .01
)

// reading is one look at the host. All but the instant are totals since some beginning of their own.
type reading struct {
	at        int64 // nanoseconds since the process epoch
	throttled total // nanoseconds
	ready     waits
}

// total is a growing number that the system may not tell.
type total struct {
	n     int64
	known bool
}

// waits counts goroutines that were ready to run, and those of them that then waited longer than readyLimit.
type waits struct{ all, late uint64 }

// throttledSince is for how many nanoseconds the processor was denied since an earlier reading, if both tell. A total that has fallen belongs
// to another control group, and begins anew.
func (r *reading) throttledSince(earlier *reading) (ns int64, ok bool) {
	if !r.throttled.known || !earlier.throttled.known {
		return 0, false
	}
	return max(0, r.throttled.n-earlier.throttled.n), true
}

// faultsSince finds of what the host is guilty since an earlier reading.
func (r *reading) faultsSince(earlier *reading) []metrics.SuspectCause {
	var faults []metrics.SuspectCause
	if ns, ok := r.throttledSince(earlier); ok && float64(ns) > maxThrottledShare*float64(r.at-earlier.at) {
		faults = append(faults, metrics.SuspectCPUThrottled)
	}
	if all, late := r.ready.all-earlier.ready.all, r.ready.late-earlier.ready.late; float64(late) > maxLateShare*float64(all) {
		faults = append(faults, metrics.SuspectGoScheduler)
	}
	return faults
}

// host is where readings come from. Only one goroutine may read.
type host struct {
	throttling *throttling
	latencies  []runtimemetrics.Sample
}

func newHost(root fs.FS) *host {
	return &host{throttling: findThrottling(root), latencies: []runtimemetrics.Sample{{Name: "/sched/latencies:seconds"}}}
}

func (h *host) read(now int64) reading {
	out := reading{at: now, throttled: h.throttling.read()}
	runtimemetrics.Read(h.latencies)
	if v := &h.latencies[0].Value; v.Kind() == runtimemetrics.KindFloat64Histogram {
		out.ready = countWaits(v.Float64Histogram())
	}
	return out
}

// countWaits sums up a histogram of the Go runtime: Counts[i] are those between Buckets[i] and Buckets[i+1]. One that is in the bucket of the
// limit counts as in time.
func countWaits(h *runtimemetrics.Float64Histogram) waits {
	var out waits
	for i, n := range h.Counts {
		out.all += n
		if h.Buckets[i] >= readyLimit.Seconds() {
			out.late += n
		}
	}
	return out
}
