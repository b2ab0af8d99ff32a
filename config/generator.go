package config

import (
	"fmt"
	"maps"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Generator gives the enabled targets, in the order of the file, with everything that they refer to.
func (c *Config) Generator() (generator.Config, error) {
	out := generator.Config{Limits: generator.Limits{
		MaxInFlight: c.Global.MaxInFlight, MaxRate: c.Global.MaxRate, MaxStartRate: c.Global.MaxStartPerSecond, Budget: c.Global.Budget,
		Linger: c.Metrics.RemovedTargetLinger,
	}}
	for i := range c.Targets {
		if !c.Targets[i].Enabled {
			continue
		}
		target, err := c.target(&c.Targets[i])
		if err != nil {
			return generator.Config{}, fmt.Errorf("target %q: %w", c.Targets[i].Name, err)
		}
		out.Targets = append(out.Targets, target)
	}
	return out, nil
}

func (c *Config) target(t *Target) (generator.TargetConfig, error) {
	url, err := endpoint.URL(t.URL.Reveal(), "/") // adds the scheme and no path
	if err != nil {
		return generator.TargetConfig{}, fmt.Errorf("url: %w", err)
	}
	workloadName, wl := entry(c.Workloads, t.Workload, workload.DefaultConfig())
	loadName, ld := entry(c.Loads, t.Load, load.DefaultConfig())
	return generator.TargetConfig{
		Name:         t.Name,
		URL:          url,
		Model:        t.Model,
		Endpoint:     t.Endpoint.Config,
		WorkloadName: workloadName,
		Workload:     wl,
		LoadName:     loadName,
		Load:         ld,
		Budget:       c.budgetOf(t),
		Expect:       t.Expect,
		Fingerprint:  t.Fingerprint,
		MachineCost:  t.Cost,
		Provider:     t.Provider,
		Paused:       t.Paused || c.Global.Paused,
		SLOs:         c.slosOf(t),
		Accounting:   t.Accounting,
		Client:       c.clientOf(t),
		Seed:         t.Seed,
		Labels:       maps.Clone(t.Labels),
	}, nil
}

// budgetOf is the budget of a target, with the prices of all targets where it gives none.
func (c *Config) budgetOf(t *Target) budget.Config {
	out := t.Budget
	if out.USDPerMillionInput == 0 && out.USDPerMillionOutput == 0 {
		out.USDPerMillionInput, out.USDPerMillionOutput = c.Global.Budget.USDPerMillionInput, c.Global.Budget.USDPerMillionOutput
	}
	return out
}

// entry finds what a target names. Without a name it is the entry "default", or the built-in default under that name.
func entry[T any](entries map[string]T, name string, builtIn T) (string, T) {
	if name == "" {
		name = defaultName
	}
	if e, ok := entries[name]; ok {
		return name, e
	}
	return name, builtIn
}

func (c *Config) slosOf(t *Target) []metrics.SLO {
	out := make([]metrics.SLO, 0, len(t.SLO))
	for _, name := range t.SLO {
		slo := c.SLOs[name]
		out = append(out, slo.SLO(name))
	}
	return out
}

func (c *Config) clientOf(t *Target) transport.Config {
	_, client := entry(c.HTTPClients, t.Client, DefaultHTTPClient())
	out := client.transportConfig()
	out.Timeouts = t.Timeouts
	out.Credential, out.CredentialKey = c.credential(t), c.credentialKey(t)
	return out
}
