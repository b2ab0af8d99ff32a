package probe

import (
	"maps"
	"slices"
	"sync"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
)

// tally counts what became of probes. Safe for concurrent use.
type tally struct {
	mu       sync.Mutex
	requests map[string]map[string]int64 // by module and result
	refused  map[Reason]int64
}

func newTally() *tally {
	return &tally{requests: map[string]map[string]int64{}, refused: map[Reason]int64{}}
}

func (t *tally) rejected(reason Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused[reason]++
}

func (t *tally) ended(module, result string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.requests[module] == nil {
		t.requests[module] = map[string]int64{}
	}
	t.requests[module][result]++
}

// families shows it for the modules that there are; what was counted of others is forgotten.
func (t *tally) families(modules []string) []*dto.MetricFamily {
	modules = append(slices.Sorted(slices.Values(modules)), NoModule)
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.requests, func(module string, _ map[string]int64) bool { return !slices.Contains(modules, module) })
	b := collector.NewBuilder(Table())
	for _, module := range modules {
		for _, result := range results {
			b.Add(requestsSeries, float64(t.requests[module][result]), module, result)
		}
	}
	for _, known := range reasons {
		b.Add(rejectedSeries, float64(t.refused[known.reason]), string(known.reason))
	}
	return b.Families()
}
