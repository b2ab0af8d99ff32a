package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// minInterval: a page of a large server takes its API process milliseconds to write, which requests wait for.
const minInterval = time.Second

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	var errs []error
	if c.Interval < minInterval {
		errs = append(errs, invalid.Key(path+".interval", "must be at least %v, got %v", minInterval, c.Interval))
	}
	if c.StaleAfter != nil && *c.StaleAfter < 0 {
		errs = append(errs, invalid.Key(path+".stale_after", "must be >= 0, got %v", *c.StaleAfter))
	}
	if c.MaxSeries <= 0 {
		errs = append(errs, invalid.Key(path+".max_series", "must be > 0, got %d", c.MaxSeries))
	}
	return append(errs, c.Passthrough.Validate(path+".passthrough")...)
}

// Validate finds what is wrong, by key below path.
func (c *TargetConfig) Validate(path string) []error {
	var errs []error
	wrong := func(key, format string, args ...any) {
		errs = append(errs, invalid.Key(path+"."+key, format, args...))
	}
	if !slices.Contains(mapping.Kinds, c.Kind) {
		wrong("kind", "must be one of %s, got %q", strings.Trim(strings.ReplaceAll(fmt.Sprint(mapping.Kinds), " ", ", "), "[]"), c.Kind)
	}
	if c.Auth != "" && c.Auth != InheritAuth {
		wrong("auth", "must be %q or absent, got %q", InheritAuth, c.Auth)
	}
	if c.Prefix != "" && !model.LegacyValidation.IsValidMetricName(c.Prefix) {
		wrong("prefix", "must be the beginning of a name of a metric, got %q", c.Prefix)
	}
	if c.TRTLLMJSON && c.Kind != mapping.Auto && c.Kind != mapping.TRTLLM {
		wrong("trtllm_json", "is only read where kind is %s or %s, it is %s", mapping.TRTLLM, mapping.Auto, c.Kind)
	}
	if c.MetricsURL != "" && c.MetricsURLs != nil {
		wrong("metrics_urls", "excludes metrics_url, set one of the two")
	}
	if c.MetricsURL != "" {
		errs = append(errs, validateURL(path+".metrics_url", c.MetricsURL)...)
	}
	errs = append(errs, validateURLs(path+".metrics_urls", c.MetricsURLs)...)
	for i := range c.Map {
		errs = append(errs, c.Map[i].Validate(fmt.Sprintf("%s.map[%d]", path, i))...)
	}
	return errs
}

func validateURL(path string, u secret.URL) []error {
	if _, err := u.Address(); err != nil {
		return []error{invalid.Key(path, "%v", err)}
	}
	return nil
}

// validateURLs also refuses two replicas that no label could tell from each other.
func validateURLs(path string, urls []secret.URL) []error {
	var errs []error
	first := map[string]int{}
	for i, u := range urls {
		key := fmt.Sprintf("%s[%d]", path, i)
		parsed, err := u.Address()
		if err != nil {
			errs = append(errs, invalid.Key(key, "%v", err))
			continue
		}
		name := hostPort(parsed) + parsed.EscapedPath()
		if other, taken := first[name]; taken {
			errs = append(errs, invalid.Key(key, "has the host, port and path of %s[%d], the series of the two would be the same", path, other))
			continue
		}
		first[name] = i
	}
	return errs
}
