package status

import (
	"fmt"
	"maps"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// fromFile is the source of targets that nobody discovered.
const fromFile = "file"

// sources tells of each target that was discovered by which set.
func (s *Status) sources() map[string]string {
	targets, out := s.deps.Effect().Config.Targets, map[string]string{}
	for i := range targets {
		if set := targets[i].Source; set != "" {
			out[targets[i].Name] = set
		}
	}
	return out
}

// target makes a row of the fleet.
func (s *Status) target(t *generator.Status, sources map[string]string) view.Target {
	c := t.Config
	out := view.Target{
		Name: c.Name, Model: c.Model, Workload: c.WorkloadName, Endpoint: string(c.Endpoint.Type), URL: c.PublicURL(),
		Load: c.LoadName, LoadMode: string(c.Load.Mode), LoadText: describeLoad(c), Labels: map[string]string{}, Source: fromFile,
		Generation: t.Generation, State: string(t.State), InFlight: t.InFlight, Budget: []view.Budget{},
	}
	maps.Copy(out.Labels, c.Labels)
	if set, ok := sources[c.Name]; ok {
		out.Source = set
	}
	if t.RateKnown {
		out.AskedRate = &t.RateHz
	}
	for _, b := range t.Budget {
		out.Budget = append(out.Budget, view.Budget{Kind: string(b.Kind), Period: string(b.Period), Used: b.Used, Limit: b.Limit})
	}
	if !t.Since.IsZero() {
		out.Since = told(t.Since)
	}
	s.deps.History.Fill(&out)
	return out
}

// describeLoad says how often requests come: per second, or where they are rare by the time between two.
func describeLoad(t *generator.TargetConfig) string {
	hz, steady := t.Load.Steady()
	switch {
	case !steady:
		return fmt.Sprintf("%s, %s", t.LoadName, t.Load.Mode)
	case hz < 0.1:
		between := time.Duration(float64(time.Second) / hz).Round(time.Millisecond)
		return fmt.Sprintf("%s, %s every %v", t.LoadName, t.Load.Mode, between)
	}
	return fmt.Sprintf("%s, %s %.4g/s", t.LoadName, t.Load.Mode, hz)
}
