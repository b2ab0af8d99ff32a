// Package series is the list of everything that this program exposes under a name of its own: the tables of all rooms, one after the other. The
// series command, the reference in docs/ and the units of OTLP are made from it.
package series

import (
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/capture"
	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server"
	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/history"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp"
	"github.com/aiperf-exporter/aiperf-exporter/probe"
)

// Table lists every series of ours; go_*, process_* and promhttp_* come from client_golang.
func Table() []metrics.Series {
	return slices.Concat(
		metrics.Table(), server.Table(), gpu.Table(), scrape.Table(), collector.Table(), otlp.Table(),
		discovery.Table(), history.Table(), capture.Table(), probe.Table(),
	)
}
