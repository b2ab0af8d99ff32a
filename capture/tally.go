package capture

import (
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// loss is why a request that should have been kept is not there.
type loss string

const (
	repeated loss = "repeated" // another one of the target and the class was kept less than a second before
	evicted  loss = "evicted"  // it was, and had to make room
)

var losses = []loss{repeated, evicted}

// The series of this room.
const (
	keptSeries  = "aiperf_exporter_captures"
	bytesSeries = "aiperf_exporter_captures_bytes"
	takenSeries = "aiperf_exporter_captures_taken_total"
	lostSeries  = "aiperf_exporter_captures_dropped_total"
)

// Table lists the series of Families.
func Table() []metrics.Series {
	return []metrics.Series{
		{
			Name: keptSeries, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "captures",
			Help: "Streams of requests that are kept and can be downloaded. Absent without debug.capture.",
		},
		{
			Name: bytesSeries, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "bytes",
			Help: "Memory that they take. Absent without debug.capture.",
		},
		{
			Name: takenSeries, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "captures",
			Labels: []metrics.Label{{Name: "reason", Values: []string{string(Failed), string(Slow)}}},
			Help:   "Requests whose stream was kept because they failed or were slow, whether it is still there or not. Absent without debug.capture.",
		},
		{
			Name: lostSeries, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "captures",
			Labels: []metrics.Label{{Name: "reason", Values: []string{string(repeated), string(evicted)}}},
			Help:   "Streams that are not there: not kept because another one of the same target and error class was within the same second (repeated), or pushed out by later ones (evicted). Absent without debug.capture.",
		},
	}
}

// Families shows how it went; nil while nothing is kept.
func (r *Ring) Families() []*dto.MetricFamily {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.config.Enabled {
		return nil
	}
	b := collector.NewBuilder(Table())
	b.Add(keptSeries, float64(len(r.kept)))
	b.Add(bytesSeries, float64(r.bytes))
	for _, reason := range Reasons {
		b.Add(takenSeries, float64(r.taken[reason]), string(reason))
	}
	for _, why := range losses {
		b.Add(lostSeries, float64(r.lost[why]), string(why))
	}
	return b.Families()
}
