package series_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/series"
)

// OpenMetrics calls the family of a counter by its name without _total, so it must not be that of another series.
func TestNoTwoSeriesAreOneFamilyInOpenMetrics(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, s := range series.Table() {
		family := s.Name
		if s.Kind == metrics.Counter {
			family = strings.TrimSuffix(s.Name, "_total")
		}
		if other, taken := seen[family]; taken {
			t.Errorf("%s and %s are one family", other, s.Name)
		}
		seen[family] = s.Name
	}
}

func TestNamesFollowTheConventions(t *testing.T) {
	t.Parallel()
	for _, s := range series.Table() {
		if counts := s.Kind == metrics.Counter; counts != strings.HasSuffix(s.Name, "_total") {
			t.Errorf("%s is a %s", s.Name, s.Kind)
		}
		if s.Help == "" || !strings.HasSuffix(s.Help, ".") {
			t.Errorf("%s: the help %q is no sentence", s.Name, s.Help)
		}
		if !strings.HasPrefix(s.Name, "aiperf_") {
			t.Errorf("%s has not our prefix", s.Name)
		}
		switch s.Scope {
		case metrics.PerServer, metrics.PerGPU:
			if s.Kind == metrics.Histogram && len(s.Bounds) > 0 {
				t.Errorf("%s has boundaries of its own, though it keeps those of its source", s.Name)
			}
		case metrics.PerTarget, metrics.PerProcess:
		}
		names := s.LabelNames(nil, nil)
		if slices.Sort(names); len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("%s has a label twice: %q", s.Name, names)
		}
	}
}
