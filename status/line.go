package status

import (
	"fmt"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/reload"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// Line says how the daemon is doing in one line, for those who have room for no more: how many targets there are in which health, and whether the files
// have a configuration that could not be taken.
func (s *Status) Line() string {
	running := s.running()
	healths := make([]view.Health, len(running))
	for i := range running {
		healths[i] = s.target(&running[i], nil).Health
	}
	return line(healths, s.deps.Reload())
}

// line is Line of targets in these healths; last is the last attempt to load the files, nil = there was none.
func line(healths []view.Health, last *reload.Result) string {
	noun := "targets"
	if len(healths) == 1 {
		noun = "target"
	}
	out := fmt.Sprintf("%d %s", len(healths), noun)
	counts := map[view.Health]int{}
	for _, health := range healths {
		counts[health]++
	}
	var parts []string
	for _, health := range view.Healths {
		if n := counts[health]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, health))
		}
	}
	if len(parts) > 0 {
		out += ": " + strings.Join(parts, ", ")
	}
	if last != nil && last.Err != nil {
		first, _, _ := strings.Cut(last.Err.Error(), "\n")
		out += "; the files were not taken: " + first
	}
	return out
}
