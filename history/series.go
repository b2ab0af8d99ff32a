package history

import (
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The series of this room.
const (
	bytesSeries  = "aiperf_exporter_history_bytes"
	bodiesSeries = "aiperf_exporter_debug_bodies"
)

// Table lists the series of Families.
func Table() []metrics.Series {
	return []metrics.Series{
		{
			Name: bytesSeries, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "bytes",
			Help: "Memory that the kept records of requests take, of all targets together; at most 16 MiB, oldest out.",
		},
		{
			Name: bodiesSeries, Kind: metrics.Gauge, Scope: metrics.PerProcess,
			Help: "Whether prompts and answers are kept and shown to whoever can read the page or the API (debug.keep_bodies).",
		},
	}
}

// Families shows how much is kept.
func (h *History) Families() []*dto.MetricFamily {
	b := collector.NewBuilder(Table())
	b.Add(bytesSeries, float64(h.bytes.Load()))
	bodies := 0.0
	if h.config.Load().KeepBodies {
		bodies = 1
	}
	b.Add(bodiesSeries, bodies)
	return b.Families()
}
