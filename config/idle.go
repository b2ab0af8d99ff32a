package config

import (
	"fmt"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server"
	servers "github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// idle finds keys that do nothing because another one switches off what they are about: who has written both probably means one of them.
func (c *Config) idle() []error {
	var out []error
	if c.OTLP.Traces.Enabled && !c.OTLP.Enabled {
		out = append(out, invalid.Key("otlp.traces.enabled", "does nothing, otlp.enabled is false"))
	}
	if len(c.Probe.AllowedTargets) > 0 && len(c.Modules) == 0 {
		out = append(out, invalid.Key("probe.allowed_targets", "does nothing, there are no modules: who names a URL must name one, too"))
	}
	if kept := c.Debug.Capture; !kept.Enabled && kept != DefaultDebug().Capture {
		out = append(out, invalid.Key("debug.capture", "does nothing, debug.capture.enabled is false"))
	}
	out = append(out, c.idleGPUs()...)
	for i := range c.Targets {
		out = append(out, c.idleServer(&c.Targets[i].Server, fmt.Sprintf("targets[%d].server", i))...)
	}
	for i := range c.TargetDiscovery {
		out = append(out, c.idleServer(&c.TargetDiscovery[i].Template.Server, fmt.Sprintf("target_discovery[%d].template.server", i))...)
	}
	return out
}

func (c *Config) idleGPUs() []error {
	var out []error
	gpus := &c.Collectors.GPU
	for _, name := range gpu.SourceNames {
		if e := gpus.Exporter(name); e != nil && len(e.URLs) > 0 && !gpus.Reads(name) {
			out = append(out, invalid.Key(fmt.Sprintf("collectors.gpu.%s.urls", name), "are not asked, collectors.gpu.source leaves %s out", name))
		}
	}
	if slices.ContainsFunc(gpu.SourceNames, gpus.Reads) {
		return out
	}
	for i := range c.Targets {
		if !c.Targets[i].GPUs.IsZero() {
			out = append(out, invalid.Key(fmt.Sprintf("targets[%d].gpus", i), "does nothing, collectors.gpu.source is off"))
		}
	}
	return out
}

func (c *Config) idleServer(s *server.TargetConfig, path string) []error {
	points := s.MetricsURL != "" || len(s.MetricsURLs) > 0 || len(s.Map) > 0
	switch {
	case points && !c.Collectors.Server.Enabled:
		return []error{invalid.Key(path, "does nothing, collectors.server.enabled is false")}
	case points && s.Kind == servers.None:
		return []error{invalid.Key(path+".kind", "none: the server is not asked, whatever the other keys say")}
	case s.Kind == servers.Generic && len(s.Map) == 0 && len(c.Collectors.Server.Passthrough.Allow) == 0:
		return []error{invalid.Key(path+".kind", "generic has no table, and there is no map: nothing of the page will be shown")}
	}
	return nil
}
