package config

import (
	"fmt"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// validateFit checks what the parts of a target must have for each other.
func (c *Config) validateFit(t *Target, path string) []error {
	var errs []error
	wrong := func(key, format string, args ...any) {
		errs = append(errs, invalid.Key(path+"."+key, format, args...))
	}
	workloadName, wl := entry(c.Workloads, t.Workload, workload.DefaultConfig())
	loadName, ld := entry(c.Loads, t.Load, load.DefaultConfig())
	switch {
	case ld.Mode != load.Replay:
	case !wl.Dataset.Enabled():
		wrong("load", "%q replays a recording, but the workload %q has no dataset", loadName, workloadName)
	case wl.Dataset.Format.Valid() && !wl.Dataset.Format.Timed():
		wrong("load", "%q replays a recording, but the format %s of the workload %q has no times", loadName, wl.Dataset.Format, workloadName)
	}
	if t.Fingerprint.Enabled && (len(wl.Prompts) == 0 || wl.Cache != workload.CacheRepeat) {
		wrong("fingerprint.enabled", "needs fixed questions: a workload with prompts and cache: repeat, which %q is not", workloadName)
	}
	features, known := c.features(t)
	if known && !features.Product.Generates() && t.Fingerprint.Enabled {
		wrong("fingerprint.enabled", "needs an endpoint that generates text, which %s is not", t.Endpoint.Type)
	}
	if known && (!features.Streaming || !features.Product.Generates()) {
		errs = append(errs, c.validateUnstreamed(t, path)...)
	}
	return errs
}

// validateBaselines refuses one file for the fingerprints of two targets: each would take the other's answers for a change.
func (c *Config) validateBaselines() []error {
	var errs []error
	owner := map[string]int{}
	for i := range c.Targets {
		file := c.Targets[i].Fingerprint.BaselineFile
		if file == "" {
			continue
		}
		if first, taken := owner[file]; taken {
			errs = append(errs, invalid.Key(fmt.Sprintf("targets[%d].fingerprint.baseline_file", i), "is already that of targets[%d]", first))
			continue
		}
		owner[file] = i
	}
	return errs
}

// validateUnstreamed refuses limits on what an answer that is no stream of tokens does not have: no request could keep them.
func (c *Config) validateUnstreamed(t *Target, path string) []error {
	var errs []error
	for i, slo := range c.slosOf(t) {
		for _, limit := range slo.Thresholds {
			if limit.Metric.Streamed() {
				errs = append(errs, invalid.Key(fmt.Sprintf("%s.slo[%d]", path, i), "%q limits %s, but the target's answers are no streams of tokens", slo.Name, limit.Metric))
			}
		}
	}
	return errs
}
