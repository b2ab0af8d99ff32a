package generator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// limits are those of a target and of all together.
type limits struct {
	InFlight, Prefill, GlobalInFlight int
	GlobalRate                        float64
	Requests, GlobalRequests          int64
}

func TestAPartHasItsPartOfTheLimits(t *testing.T) {
	t.Parallel()
	whole := limits{8, 2, 64, 10, 5000, 20_000}
	for name, test := range map[string]struct {
		load  load.Config
		shard load.Shard
		want  limits
	}{
		"no shards":                        {load.Config{Mode: load.Poisson}, load.Shard{}, whole},
		"a quarter":                        {load.Config{Mode: load.Poisson}, load.Shard{Index: 3, Count: 4}, limits{2, 1, 16, 2.5, 1250, 5000}},
		"one of more than there are slots": {load.Config{Mode: load.Closed}, load.Shard{Index: 9, Count: 10}, limits{1, 1, 6, 1, 500, 2000}},
		"a load that one shard carries keeps the limits of its target": {
			load.Config{Mode: load.Gamma}, load.Shard{Index: 1, Count: 4}, limits{8, 2, 16, 2.5, 5000, 5000},
		},
		"even if it is such a load only now and then": {
			load.Config{Mode: load.Poisson, Schedule: []load.WindowConfig{{Mode: load.Gamma}}},
			load.Shard{Index: 1, Count: 4},
			limits{8, 2, 16, 2.5, 5000, 5000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := generator.Config{
				Targets: []generator.TargetConfig{{Load: test.load, Budget: budget.Config{RequestsPerDay: whole.Requests}}},
				Limits: generator.Limits{
					MaxInFlight: whole.GlobalInFlight, MaxRate: whole.GlobalRate, Budget: budget.Config{RequestsPerDay: whole.GlobalRequests},
				},
			}
			c.Targets[0].Load.MaxInFlight, c.Targets[0].Load.MaxPrefill = whole.InFlight, whole.Prefill
			part := c.Part(test.shard)
			target := &part.Targets[0]
			got := limits{
				target.Load.MaxInFlight, target.Load.MaxPrefill, part.Limits.MaxInFlight, part.Limits.MaxRate,
				target.Budget.RequestsPerDay, part.Limits.Budget.RequestsPerDay,
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			if c.Targets[0].Load.MaxInFlight != whole.InFlight {
				t.Error("the whole has changed")
			}
		})
	}
}
