package status

import (
	"fmt"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// Collectors implements view.Daemon.
func (s *Status) Collectors() []view.Collector {
	out := []view.Collector{}
	for _, c := range s.deps.Servers.Status() {
		row := view.Collector{Kind: "server", Source: c.Instance, Target: c.Target, State: shownState(c.State), Detail: c.Detail, Samples: c.Samples}
		if c.Detail == "" && len(c.Kinds) > 0 {
			kinds := make([]string, 0, len(c.Kinds))
			for _, kind := range c.Kinds {
				kinds = append(kinds, string(kind))
			}
			row.Detail = strings.Join(kinds, ", ")
		}
		row.Last, row.Duration = told(c.LastSuccess), seconds(c.Took)
		out = append(out, row)
	}
	for _, c := range s.deps.GPUs.Status() {
		if c.State == string(gpu.Disabled) {
			continue
		}
		row := view.Collector{Kind: "gpu", Source: strings.TrimSpace(string(c.Source) + " " + c.URL), State: shownState(c.State), Detail: c.Detail, Samples: c.Samples}
		if c.Detail == "" && c.Devices > 0 {
			row.Detail = fmt.Sprintf("%d devices", c.Devices)
		}
		row.Last, row.Duration = told(c.LastSuccess), seconds(c.Took)
		out = append(out, row)
	}
	for _, c := range s.deps.Exporter.Status() {
		row := view.Collector{Kind: "otlp", Source: c.Endpoint, State: shownState(c.State), Detail: c.Detail, Samples: c.Points}
		row.Last, row.Duration = told(c.LastSuccess), seconds(c.Took)
		out = append(out, row)
	}
	return out
}

// shownState is the word for how a collector does. What is wrong has the word of those who found it.
func shownState(state string) string {
	if state == collector.StateOK {
		return view.CollectorOK
	}
	return state
}
