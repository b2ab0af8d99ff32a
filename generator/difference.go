package generator

import (
	"reflect"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
)

// same tells whether two targets are the same in everything.
func (c *TargetConfig) same(other *TargetConfig) bool {
	a, b := *c, *other
	a.Client, b.Client = transport.Config{}, transport.Config{}
	return c.Client.Same(&other.Client) && reflect.DeepEqual(a, b)
}

// sameGeneration tells whether two targets ask the same of the same server in the same way, whenever they do.
func (c *TargetConfig) sameGeneration(other *TargetConfig) bool {
	return c.sameContent(other) && c.sameServer(other) && c.Client.Same(&other.Client) &&
		reflect.DeepEqual(c.Expect, other.Expect) && reflect.DeepEqual(c.Fingerprint, other.Fingerprint)
}

// sameServer tells whether two targets ask the same server for the same.
func (c *TargetConfig) sameServer(other *TargetConfig) bool {
	return c.URL == other.URL && c.Model == other.Model && reflect.DeepEqual(c.Endpoint, other.Endpoint)
}

// sameContent tells whether a workload goes on. A recording begins anew with the schedule that plays it.
func (c *TargetConfig) sameContent(other *TargetConfig) bool {
	return c.Seed == other.Seed && reflect.DeepEqual(c.Workload, other.Workload) && (!c.replays() && !other.replays() || c.Load.SameArrivals(&other.Load))
}

func (c *TargetConfig) replays() bool { return c.Load.Mode == load.Replay }

// sameArrivals tells whether a schedule goes on: what is asked shapes only that of a recording.
func (c *TargetConfig) sameArrivals(other *TargetConfig) bool {
	return c.Seed == other.Seed && c.Load.SameArrivals(&other.Load) && (!c.replays() || c.sameContent(other))
}

// sameQuestions tells whether the fixed questions and what shapes their answers are the same.
func (c *TargetConfig) sameQuestions(other *TargetConfig) bool {
	return c.Model == other.Model && reflect.DeepEqual(c.Fingerprint, other.Fingerprint) && reflect.DeepEqual(c.Workload, other.Workload) &&
		reflect.DeepEqual(c.Endpoint, other.Endpoint)
}

// sameBudget tells whether an account has the same limits and prices.
func sameBudget(a, b *budget.Config) bool { return reflect.DeepEqual(a, b) }
