// Package status puts together what pages and API show of the daemon: what the generator says of its targets, what is remembered of their
// requests, how reading others goes, and what became of the configuration. It measures nothing and remembers nothing.
package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server"
	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/history"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp"
	"github.com/aiperf-exporter/aiperf-exporter/reload"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// Effect is the configuration that is in effect.
type Effect struct {
	Config *config.Config // with the discovered targets
	Loaded time.Time      // the files of it
	// RestartRequired are the keys that the files have otherwise than the process.
	RestartRequired []string
	// Dropped are the discovered targets that are not used.
	Dropped []discovery.Dropped
}

// Deps are where to look. Functions are asked anew each time.
type Deps struct {
	Clock   *metrics.SystemClock
	Version string
	// State is what the daemon is doing: starting, ready or stopping.
	State     func() string
	Effect    func() Effect
	Reload    func() *reload.Result // nil = there was none
	Discovery *discovery.Discovery
	Store     *metrics.Store
	Generator *generator.Generator
	History   *history.History
	Captured  func(request string) bool
	Servers   *server.Collector
	GPUs      *gpu.Collector
	Exporter  *otlp.Exporter
	Flags     map[string]string
}

// Status implements view.Daemon.
type Status struct{ deps Deps }

var _ view.Daemon = (*Status)(nil)

// New makes a Status.
func New(deps Deps) *Status { return &Status{deps} }

// Process implements view.Daemon.
func (s *Status) Process() view.Process {
	all := s.deps.Generator.Status()
	effect, instrument := s.deps.Effect(), s.deps.Store.Instrument()
	out := view.Process{
		State: s.deps.State(), Version: s.deps.Version, Start: s.deps.Clock.Wall(0).UTC(), Targets: len(distinct(all)),
		Config: s.config(&effect), Bodies: effect.Config.Debug.KeepBodies,
		Instrument: view.Instrument{Suspect: []string{}, Samples: instrument.Samples},
	}
	for i := range all {
		out.InFlight += all[i].InFlight
	}
	for _, cause := range instrument.Suspect {
		out.Instrument.Suspect = append(out.Instrument.Suspect, string(cause))
	}
	if instrument.ErrorBar.Defined {
		out.Instrument.ErrorBar = &instrument.ErrorBar.V
	}
	return out
}

func (s *Status) config(effect *Effect) view.Config {
	out := view.Config{Hash: effect.Config.Hash(), Loaded: effect.Loaded.UTC(), RestartRequired: effect.RestartRequired}
	for _, warning := range effect.Config.Warnings {
		out.Warnings = append(out.Warnings, warning.String())
	}
	if last := s.deps.Reload(); last != nil {
		out.Reload = &view.Reload{
			At: last.At.UTC(), Trigger: string(last.Trigger), OK: last.Err == nil,
			Added: last.Summary.Added, Changed: last.Summary.Changed, Removed: last.Summary.Removed, Kept: last.Summary.Kept,
		}
		if last.Err != nil {
			out.Reload.Error = last.Err.Error()
		}
	}
	return out
}

// Targets implements view.Daemon.
func (s *Status) Targets() []view.Target {
	running, sources := s.running(), s.sources()
	out := make([]view.Target, len(running))
	for i := range running {
		out[i] = s.target(&running[i], sources)
	}
	slices.SortFunc(out, func(a, b view.Target) int {
		return cmp.Or(cmp.Compare(slices.Index(view.Healths, a.Health), slices.Index(view.Healths, b.Health)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Target implements view.Daemon.
func (s *Status) Target(name string) (view.Target, bool) {
	running := s.running()
	i := slices.IndexFunc(running, func(t generator.Status) bool { return t.Config.Name == name })
	if i < 0 {
		return view.Target{}, false
	}
	return s.target(&running[i], s.sources()), true
}

// running are the targets that there are, one of each name.
func (s *Status) running() []generator.Status { return distinct(s.deps.Generator.Status()) }

// distinct are the targets of different names: of two of which one has taken the other's place, that one.
func distinct(all []generator.Status) []generator.Status {
	seen := make(map[string]bool, len(all))
	out := make([]generator.Status, 0, len(all))
	for i := range all {
		if name := all[i].Config.Name; !seen[name] {
			seen[name] = true
			out = append(out, all[i])
		}
	}
	return out
}

// Records implements view.Daemon.
func (s *Status) Records(target string) []view.Record {
	out := s.deps.History.Records(target)
	for i := range out {
		out[i].Captured = s.deps.Captured(out[i].ID)
	}
	return out
}

// Config implements view.Daemon.
func (s *Status) Config() (yaml []byte, hash string) {
	effect := s.deps.Effect()
	text, err := effect.Config.YAML()
	if err != nil {
		text = []byte("# " + err.Error() + "\n") // of a configuration that was loaded, and so can be written
	}
	return text, effect.Config.Hash()
}

// Flags implements view.Daemon.
func (s *Status) Flags() map[string]string { return s.deps.Flags }
