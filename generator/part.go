package generator

import (
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// Part is the part of what c runs that one of several exporters has to run, so that all of them together do what c says: limits and budgets
// are divided here, arrivals by the loads themselves. A limit on requests at a time is at least 1 for each exporter. A target whose load is
// carried whole by one of them keeps its limits.
func (c *Config) Part(shard load.Shard) Config {
	part := *c
	if shard.Count < 2 {
		return part
	}
	part.Limits.MaxInFlight = divided(shard, part.Limits.MaxInFlight)
	part.Limits.MaxRate /= float64(shard.Count)
	part.Limits.Budget = part.Limits.Budget.Divide(shard.Index, shard.Count)
	part.Targets = slices.Clone(part.Targets)
	for i := range part.Targets {
		t := &part.Targets[i]
		if !t.Load.Divisible() {
			continue
		}
		t.Budget = t.Budget.Divide(shard.Index, shard.Count)
		t.Load.MaxInFlight = divided(shard, t.Load.MaxInFlight)
		t.Load.MaxPrefill = divided(shard, t.Load.MaxPrefill)
	}
	return part
}

// divided is the shard's part of a limit; 0 = no limit stays one.
func divided(shard load.Shard, limit int) int {
	if limit == 0 {
		return 0
	}
	return max(1, shard.Share(limit))
}
