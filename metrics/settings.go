package metrics

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Options configure a Store.
type Options struct {
	Config Config
	Clock  *SystemClock
	// Settings are those of the start. The limits of their SLOs become bucket boundaries of every target, so that targets aggregate; those
	// stay as they are until the end of the process.
	Settings
}

// Settings are what a reload can change of what is shown beside the targets.
type Settings struct {
	// SLOs are all objectives of the configuration.
	SLOs []SLO
	// InfoLabels are the names of all labels that targets carry, for aiperf_target_info.
	InfoLabels []string
	ConfigHash string
	// Shard is the number of this exporter among Shards that share the load; 0 of 0 is the only one.
	Shard, Shards int
	// SecretReadErrors counts, by secret, how often its file could not be read; nil = there are no secrets.
	SecretReadErrors func() map[string]int64
	// Budget is the one of all targets together; Budgets tells at each scrape what of it is used, in that order, and whether the state of
	// budgets can be written. nil = there are no budgets.
	Budget  []BudgetLimit
	Budgets func() (used []float64, writable bool)
}

// facts are the settings as one scrape sees them. They are replaced, never changed.
type facts struct {
	Settings
	infoLabels []string // of aiperf_target_info, beyond those that it always has
	info       *prometheus.Desc
}

// newFacts makes the settings fit to be shown. before are those that they replace; nil = there are none.
func (s *Store) newFacts(settings Settings, before *facts) *facts {
	series, extra := s.named[targetInfo], s.options.Config.ExtraLabels
	always := len(series.LabelNames(extra, nil))
	all := series.LabelNames(extra, slices.Compact(slices.Sorted(slices.Values(settings.InfoLabels))))
	f := &facts{Settings: settings, infoLabels: all[always:]}
	if before != nil && slices.Equal(f.infoLabels, before.infoLabels) {
		f.info = before.info
	} else {
		f.info = prometheus.NewDesc(series.Name, series.Help, all, nil)
	}
	return f
}

// labels are those of aiperf_target_info, of a target with these values of the labels that all its series have.
func (f *facts) labels(i *TargetInfo, base []string, servedModel string) []*dto.LabelPair {
	values := slices.Concat(base, []string{
		i.URL, i.EndpointType, strconv.FormatBool(i.Streaming), i.Load, i.LoadMode, i.HTTPVersion, i.ConnectionReuse, servedModel,
	})
	for _, name := range f.infoLabels {
		values = append(values, i.Labels[name])
	}
	return prometheus.MakeLabelPairs(f.info, values)
}

// Apply replaces the settings. A scrape sees either those before or these, and all of them.
func (s *Store) Apply(settings Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.facts
	s.facts = s.newFacts(settings, before)
	if s.facts.info == before.info {
		return
	}
	for _, t := range s.targets {
		t.relabel(s.facts)
	}
	for _, t := range s.superseded {
		t.relabel(s.facts)
	}
}

// HasBoundaries tells whether the limits of these SLOs are bucket boundaries. Those of the start are; others become so with the next start
// of the process, and until then a query can only tell about the nearest boundary. The counters of good requests know no such limits.
func (s *Store) HasBoundaries(slos []SLO) bool {
	if s.options.Config.Histograms == HistogramsNative {
		return true // there are no such boundaries
	}
	for i := range s.series {
		series := &s.series[i]
		l, ok := s.layouts[series.Name]
		if !ok {
			continue
		}
		for _, bound := range series.Boundaries(slos) {
			if _, found := slices.BinarySearch(l.bounds, bound); !found {
				return false
			}
		}
	}
	return true
}
