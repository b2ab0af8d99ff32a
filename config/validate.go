package config

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// entryName is what a target or another entry may be called. A target's name is the identity of its series.
var entryName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$`)

const entryNameRule = "must be 1 to 63 letters, digits, dots, dashes and underscores, and begin with a letter or a digit"

// validate asks each room about its part and checks what lies between the rooms.
func (c *Config) validate() []error {
	return slices.Concat(
		c.Global.validate("global"),
		c.Collectors.validate("collectors"),
		c.OTLP.Validate("otlp"),
		c.Metrics.Validate("metrics"),
		c.SelfTest.Validate("selftest"),
		c.Probe.Validate("probe"),
		c.Debug.validate("debug"),
		validateExtraLabels("metrics.extra_labels", c.Metrics.ExtraLabels, c.Global.Labels),
		validateEntries("secrets", c.Secrets, (*Secret).validate),
		validateEntries("http_clients", c.HTTPClients, (*HTTPClient).Validate),
		validateEntries("workloads", c.Workloads, (*workload.Config).Validate),
		validateEntries("loads", c.Loads, (*load.Config).Validate),
		validateEntries("slos", c.SLOs, (*metrics.SLOConfig).Validate),
		c.validateModules(),
		c.validateTargets(),
		c.validateDiscovery(),
	)
}

// validateEntries checks the names of the entries of a block, and each entry.
func validateEntries[T any](block string, entries map[string]T, validate func(*T, string) []error) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		path := block + "." + name
		if !entryName.MatchString(name) {
			errs = append(errs, invalid.Key(path, "the name of an entry "+entryNameRule))
		}
		entry := entries[name]
		errs = append(errs, validate(&entry, path)...)
	}
	return errs
}

// maxSeries is what one process exposes at most.
const maxSeries = 200_000

func (g *Global) validate(path string) []error {
	var errs []error
	if g.MaxInFlight < 1 {
		errs = append(errs, invalid.Key(path+".max_in_flight", "must be >= 1, got %d", g.MaxInFlight))
	}
	if g.MaxRate < 0 || math.IsNaN(g.MaxRate) {
		errs = append(errs, invalid.Key(path+".max_rate", "must be >= 0, got %v", g.MaxRate))
	}
	if !(g.MaxStartPerSecond > 0) { // so written, NaN is wrong too
		errs = append(errs, invalid.Key(path+".max_start_per_second", "must be > 0, got %v", g.MaxStartPerSecond))
	}
	errs = append(errs, g.Budget.Validate(path+".budget")...)
	if g.MaxTargets < 1 {
		errs = append(errs, invalid.Key(path+".max_targets", "must be >= 1, got %d", g.MaxTargets))
	}
	if len(g.Labels) > maxGlobalLabels {
		errs = append(errs, invalid.Key(path+".labels", "has %d labels, at most %d are allowed", len(g.Labels), maxGlobalLabels))
	}
	for _, name := range buildLabels {
		if _, ok := g.Labels[name]; ok {
			errs = append(errs, invalid.Key(path+".labels."+name, "the label %q is reserved, it belongs to aiperf_exporter_build_info", name))
		}
	}
	for _, name := range slices.Concat(metrics.ServerLabels, metrics.GPULabels) {
		if _, ok := g.Labels[name]; ok && !isReserved(name) {
			errs = append(errs, invalid.Key(path+".labels."+name, "the label %q is reserved, it tells servers or GPUs apart", name))
		}
	}
	return append(errs, validateLabels(path+".labels", g.Labels)...)
}

func (s *Secret) validate(path string) []error {
	if (s.File == "") == (s.Value == "") {
		return []error{invalid.Key(path, "set exactly one of file and value")}
	}
	return nil
}

func (c *Config) validateTargets() []error {
	var errs []error
	if n := len(c.Targets); c.excessTargets > 0 {
		errs = append(errs, invalid.Key(fmt.Sprintf("targets[%d]", n), "is one of %d targets, global.max_targets allows %d", n+c.excessTargets, n))
	}
	first, all, series := map[string]int{}, c.AllSLOs(), 0
	for i := range c.Targets {
		t, path := &c.Targets[i], fmt.Sprintf("targets[%d]", i)
		if j, ok := first[t.Name]; ok && t.Name != "" {
			errs = append(errs, invalid.Key(path+".name", "%q is already the name of targets[%d]", t.Name, j))
		} else {
			first[t.Name] = i
		}
		errs = append(errs, c.validateTarget(t, path)...)
		if !t.Enabled {
			continue
		}
		features, _ := c.features(t)
		n := c.Metrics.SeriesOf(&features, all)
		series += n
		if limit := c.Metrics.MaxSeriesPerTarget; n > limit && limit > 0 {
			errs = append(errs, invalid.Key(path, "has an estimated %d series, metrics.max_series_per_target allows %d", n, limit))
		}
	}
	entries := c.entryNames()
	for _, ref := range c.collectorReferences() {
		errs = append(errs, ref.resolve(entries, ref.key)...)
	}
	errs = append(errs, c.validateBaselines()...)
	errs = append(errs, c.validateGPUs()...)
	if series > maxSeries {
		errs = append(errs, invalid.Key("targets", "have an estimated %d series together, %d are allowed: metrics.histograms: native needs far fewer", series, maxSeries))
	}
	return errs
}

// validateTarget checks a target and what it refers to.
func (c *Config) validateTarget(t *Target, path string) []error {
	errs := t.validate(path)
	spending := c.budgetOf(t)
	errs = append(errs, spending.Validate(path+".budget")...)
	for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
		if _, ok := c.Global.Labels[name]; ok {
			errs = append(errs, invalid.Key(path+".labels."+name, "%q is already a label of every series, from global.labels", name))
		}
	}
	errs = append(errs, c.validateReferences(t, path)...)
	return append(errs, c.validateFit(t, path)...)
}

// features are those of the target's series; ok is false if its endpoint is not a valid one, and so nothing is known.
func (c *Config) features(t *Target) (features metrics.Features, ok bool) {
	if len(t.Endpoint.Validate("")) > 0 {
		return metrics.Features{SLOs: c.slosOf(t)}, false
	}
	target, err := c.target(t)
	if err != nil {
		return metrics.Features{SLOs: c.slosOf(t)}, false
	}
	return target.Features(), true
}

// validate checks what can be said about a target alone.
func (t *Target) validate(path string) []error {
	var errs []error
	switch {
	case t.Name == "":
		errs = append(errs, invalid.Key(path+".name", "is required"))
	case !entryName.MatchString(t.Name):
		errs = append(errs, invalid.Key(path+".name", entryNameRule+", got %q", t.Name))
	}
	if t.URL == "" {
		errs = append(errs, invalid.Key(path+".url", "is required"))
	} else {
		errs = append(errs, endpoint.ValidateURL(path+".url", t.URL.Reveal())...)
	}
	if t.Model == "" {
		errs = append(errs, invalid.Key(path+".model", "is required"))
	} else if problem := labelValueProblem(t.Model); problem != "" {
		errs = append(errs, invalid.Key(path+".model", "%s", problem))
	}
	errs = append(errs, t.Endpoint.Validate(path+".endpoint")...)
	errs = append(errs, t.Endpoint.validateCredential(path+".endpoint")...)
	errs = append(errs, t.Accounting.Validate(path+".accounting")...)
	errs = append(errs, validateTimeouts(path+".timeouts", t.Timeouts)...)
	for i := range t.Expect {
		errs = append(errs, t.Expect[i].Validate(fmt.Sprintf("%s.expect[%d]", path, i))...)
	}
	errs = append(errs, t.Fingerprint.Validate(path+".fingerprint")...)
	errs = append(errs, t.Server.Validate(path+".server")...)
	errs = append(errs, t.GPUs.Validate(path+".gpus")...)
	errs = append(errs, t.Cost.Validate(path+".cost")...)
	if problem := labelValueProblem(t.Provider); t.Provider != "" && problem != "" {
		errs = append(errs, invalid.Key(path+".provider", "%s", problem))
	}
	return append(errs, validateLabels(path+".labels", t.Labels)...)
}

// validateCredential allows one of the three ways to name a credential.
func (e *Endpoint) validateCredential(path string) []error {
	var given []string
	for _, way := range []struct {
		key string
		set bool
	}{{"secret", e.Secret != ""}, {"api_key_file", e.APIKeyFile != ""}, {"api_key", e.APIKey != ""}} {
		if way.set {
			given = append(given, way.key)
		}
	}
	if len(given) < 2 {
		return nil
	}
	return []error{invalid.Key(path+"."+given[1], "excludes %s, set one of the two", given[0])}
}

func validateTimeouts(path string, t transport.Timeouts) []error {
	var errs []error
	if t.Total < 0 {
		errs = append(errs, invalid.Key(path+".total", "must be >= 0 (0 = no limit), got %v", t.Total))
	}
	for _, limit := range []struct {
		key   string
		value time.Duration
	}{{"connect", t.Connect}, {"first_token", t.FirstToken}, {"idle", t.Idle}} {
		switch {
		case limit.value <= 0:
			errs = append(errs, invalid.Key(path+"."+limit.key, "must be > 0, only total may be without a limit"))
		case t.Total > 0 && limit.value > t.Total:
			errs = append(errs, invalid.Key(path+"."+limit.key, "must not be above total (%v), got %v", t.Total, limit.value))
		}
	}
	return errs
}
