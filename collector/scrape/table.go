package scrape

import "github.com/aiperf-exporter/aiperf-exporter/metrics"

// The series of a Log.
const (
	duration    = "aiperf_scrape_duration_seconds"
	samples     = "aiperf_scrape_samples"
	failures    = "aiperf_scrape_errors_total"
	lastSuccess = "aiperf_scrape_last_success_timestamp_seconds"
	skips       = "aiperf_scrape_skipped_total"
	duplicates  = "aiperf_scrape_duplicate_series_total"
	panics      = "aiperf_scrape_panics_total"
)

// Table lists the series of all logs.
func Table() []metrics.Series {
	reasons := make([]string, len(Reasons))
	for i, r := range Reasons {
		reasons[i] = string(r)
	}
	collector, target := metrics.Label{Name: "collector", Values: Collectors}, metrics.Label{Name: "target"}
	both := []metrics.Label{collector, target}
	return []metrics.Series{
		{
			Name: duration, Kind: metrics.Histogram, Scope: metrics.PerProcess, Unit: "seconds", Labels: []metrics.Label{collector}, Bounds: bounds(),
			Help: "Time that one look of a collector took, from the request to the whole answer, failed ones included.",
		},
		{
			Name: samples, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "samples", Labels: both,
			Help: "Samples of the last look of a collector at a target; absent if that failed.",
		},
		{
			Name: failures, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "scrapes",
			Labels: []metrics.Label{collector, target, {Name: "reason", Values: reasons}},
			Help:   "Looks of a collector that failed, by reason. A server that has no metrics shows here, not as a failed target.",
		},
		{
			Name: lastSuccess, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "seconds", Labels: both,
			Help: "Unix time of the last look of a collector that succeeded; absent before the first one.",
		},
		{
			Name: skips, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "scrapes", Labels: both,
			Help: "Looks of a collector that were due while the one before still ran, and were left out.",
		},
		{
			Name: duplicates, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "samples", Labels: both,
			Help: "Samples that stood on a page more than once, of which the last one was taken.",
		},
		{
			Name: panics, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "panics", Labels: both,
			Help: "Panics of a collector that were caught, each of them a bug; it goes on after a pause.",
		},
	}
}

// Collectors are those that keep a log.
var Collectors = []string{"server", "nvml", "dcgm", "amd", "triton"}

// bounds are the boundaries of the duration: from a page on the same machine to the longest timeout.
func bounds() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}
