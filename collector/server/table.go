package server

import (
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Names of the series about the servers as such.
const (
	seriesUp       = "aiperf_server_up"
	seriesRestarts = "aiperf_server_restarts_total"
	seriesMixed    = "aiperf_server_replicas_mixed"
	seriesDropped  = "aiperf_scrape_series_dropped"
	seriesUnmapped = "aiperf_scrape_unmapped_families"
	seriesLoaded   = "aiperf_server_model_loaded"
	seriesVRAM     = "aiperf_server_model_vram_bytes"
)

// unmappedReasons are those of mapping.Result.
var unmappedReasons = []string{"unknown", "type"}

// Table lists every series of the collector: those of mapping, and those about the servers as such.
func Table() []metrics.Series { return slices.Concat(ownTable(), ollamaTable(), mapping.Table()) }

func ownTable() []metrics.Series {
	target, instance := metrics.Label{Name: "target"}, metrics.Label{Name: "instance_id"}
	return []metrics.Series{
		{
			Name: seriesUp, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "boolean", Labels: []metrics.Label{target, instance},
			Help: "1 if the server's page of metrics was read at the last attempt, else 0. Absent until a page has been found, where none is configured.",
		},
		{
			Name: seriesRestarts, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "restarts", Labels: []metrics.Label{target, instance},
			Help: "Restarts of the server that were seen: its start time moved on or, where it tells none, all its counters fell at once.",
		},
		{
			Name: seriesMixed, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "boolean", Labels: []metrics.Label{target},
			Help: "1 while the page is that of another replica from one look to the next, as behind a load balancer: counters and histograms of the target are withheld. Else 0.",
		},
		{
			Name: seriesDropped, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "series", Labels: []metrics.Label{target},
			Help: "Series of the target's servers at the last look that are left out because of max_series.",
		},
		{
			Name: seriesUnmapped, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "families",
			Labels: []metrics.Label{target, {Name: "reason", Values: unmappedReasons}},
			Help:   "Families of the target's servers at the last look that have no normalised name: nobody knows them, or they have another type than expected.",
		},
	}
}

// ollamaTable lists what Ollama's API tells, which has no page of metrics.
func ollamaTable() []metrics.Series {
	return []metrics.Series{
		{
			Name: seriesLoaded, Kind: metrics.Gauge, Scope: metrics.PerServer, Unit: "boolean",
			Help: "1 for each model that is in memory, 0 for the target's model if it is not: the next request waits for it to be loaded. Ollama only.",
		},
		{
			Name: seriesVRAM, Kind: metrics.Gauge, Scope: metrics.PerServer, Unit: "bytes",
			Help: "Memory of GPUs that a loaded model takes; less than its size where a part is run by the CPU. Ollama only.",
		},
	}
}
