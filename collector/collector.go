// Package collector joins what was read from others, inference servers and GPUs, to what this program measures itself: one look at /metrics or
// over OTLP shows all of it.
//
// Collectors read in their own goroutines, over their own connections, and keep what they last saw; whoever wants to show it never waits for
// them. What they read stays what it was: counters stay counters with their own value, histograms keep their buckets.
//
// To add a server: a row in the table of collector/server/mapping. To add a source of GPU metrics: one file in collector/gpu.
package collector

import (
	"context"

	dto "github.com/prometheus/client_model/go"
)

// Collector reads somebody else's metrics.
type Collector interface {
	Source
	// Run reads until ctx ends.
	Run(ctx context.Context)
}

// Source has something to show.
type Source interface {
	// Families are what it has to show now, what is too old left out. It never waits, and nobody changes what it returned. Safe for
	// concurrent use.
	Families() []*dto.MetricFamily
}
