package config

import (
	"fmt"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	servers "github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// idle finds keys that do nothing because another one switches off what they are about: who has written both probably means one of them.
func (c *Config) idle() []error {
	var out []error
	warn := func(key, format string, args ...any) { out = append(out, invalid.Key(key, format, args...)) }
	if c.OTLP.Traces.Enabled && !c.OTLP.Enabled {
		warn("otlp.traces.enabled", "does nothing, otlp.enabled is false")
	}
	gpus := &c.Collectors.GPU
	for _, exporter := range []struct {
		name gpu.SourceName
		urls []secret.URL
	}{{gpu.DCGM, gpus.DCGM.URLs}, {gpu.AMD, gpus.AMD.URLs}, {gpu.Triton, gpus.Triton.URLs}} {
		if len(exporter.urls) > 0 && !gpus.Reads(exporter.name) {
			warn(fmt.Sprintf("collectors.gpu.%s.urls", exporter.name), "are not asked, collectors.gpu.source leaves %s out", exporter.name)
		}
	}
	noGPUs := !slices.ContainsFunc(gpu.SourceNames, gpus.Reads)
	for i := range c.Targets {
		t, path := &c.Targets[i], fmt.Sprintf("targets[%d]", i)
		if noGPUs && !t.GPUs.IsZero() {
			warn(path+".gpus", "does nothing, collectors.gpu.source is off")
		}
		s := &t.Server
		points := s.MetricsURL != "" || len(s.MetricsURLs) > 0 || len(s.Map) > 0
		switch {
		case points && !c.Collectors.Server.Enabled:
			warn(path+".server", "does nothing, collectors.server.enabled is false")
		case points && s.Kind == servers.None:
			warn(path+".server.kind", "none: the server is not asked, whatever the other keys say")
		case s.Kind == servers.Generic && len(s.Map) == 0 && len(c.Collectors.Server.Passthrough.Allow) == 0:
			warn(path+".server.kind", "generic has no table, and there is no map: nothing of the page will be shown")
		}
	}
	return out
}
