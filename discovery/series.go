package discovery

import (
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The series of this room.
const (
	targetsSeries  = "aiperf_exporter_discovery_targets"
	droppedSeries  = "aiperf_exporter_discovery_dropped_targets"
	successSeries  = "aiperf_exporter_discovery_last_success_timestamp_seconds"
	failuresSeries = "aiperf_exporter_discovery_failures_total"
)

// Table lists the series of Families.
func Table() []metrics.Series {
	set := metrics.Label{Name: "set"}
	return []metrics.Series{
		{
			Name: targetsSeries, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "targets", Labels: []metrics.Label{set},
			Help: "Targets of a set under target_discovery that are in use, those in their grace included.",
		},
		{
			Name: droppedSeries, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "targets",
			Labels: []metrics.Label{set, {Name: "reason", Values: Reasons}},
			Help:   "Targets of a set under target_discovery that were discovered and are not used, by reason.",
		},
		{
			Name: successSeries, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "seconds", Labels: []metrics.Label{set},
			Help: "Unix time at which the mechanism of a set that answered longest ago has; when the set was taken up, until every one has. Kubernetes only answers when something changes.",
		},
		{
			Name: failuresSeries, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "failures", Labels: []metrics.Label{set},
			Help: "Errors that the mechanisms of a set reported; what was known before them stays. Watches of kubernetes_sd_configs that failed are in prometheus_sd_kubernetes_failures_total.",
		},
	}
}

// tally is what became of the targets of the sets, by name.
type tally struct {
	used    map[string]int
	dropped map[string]map[Reason]int
}

// Settled takes what became of the targets that Found gave: those that are not in dropped are in use, and keep their places from now on.
func (d *Discovery) Settled(found []Set, dropped []Dropped) {
	type named struct{ set, name string }
	unused, reasons := map[named]int{}, map[string]map[Reason]int{}
	for i := range found {
		reasons[found[i].Name] = map[Reason]int{}
	}
	for i := range dropped {
		if of := reasons[dropped[i].Set]; of != nil {
			of[dropped[i].Reason]++
			unused[named{dropped[i].Set, dropped[i].Name}]++
		}
	}
	used := make(map[string]map[string]bool, len(found))
	for i := range found {
		used[found[i].Name] = map[string]bool{}
		for k := range found[i].Targets {
			t := named{found[i].Name, found[i].Targets[k].Name}
			if unused[t]--; unused[t] < 0 { // of two with the same name one is used
				used[t.set][t.name] = true
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tally = tally{used: make(map[string]int, len(used)), dropped: reasons}
	for name := range used {
		d.tally.used[name] = len(used[name])
	}
	for name, s := range d.sets {
		s.used = used[name]
	}
}

// Families shows how the sets do.
func (d *Discovery) Families() []*dto.MetricFamily {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := collector.NewBuilder(Table())
	for _, name := range d.order {
		s := d.sets[name]
		shown := s.show()
		b.Add(targetsSeries, float64(d.tally.used[name]), name)
		for _, reason := range Reasons {
			n := d.tally.dropped[name][Reason(reason)]
			if Reason(reason) == Relabelled {
				n = shown.Relabelled
			}
			b.Add(droppedSeries, float64(n), name, reason)
		}
		b.Add(successSeries, float64(shown.LastRefresh.UnixMilli())/1e3, name)
		b.Add(failuresSeries, float64(s.failures()), name)
	}
	return b.Families()
}
