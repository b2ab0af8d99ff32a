// Package workload decides WHAT is asked: prompts of a wished length, and how long the answer may be. It knows nothing about wire
// formats; the endpoint says it in its protocol's words.
package workload

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Cache says how prompts relate to the server's prefix cache.
type Cache string

// CacheBust puts a fresh number in front of each prompt, so that no prefix cache can answer.
const CacheBust Cache = "bust"

// plannedCaches are understood but cannot be run yet.
var plannedCaches = []Cache{"shared_prefix", "repeat"}

// Valid tells whether the choice can be run.
func (c Cache) Valid() bool { return c == CacheBust }

// Config is one entry under `workloads:`.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	// Length of prompts by the server's own count, chat template included: it is learned from the usage of answers.
	InputTokens  Length `koanf:"input_tokens" yaml:"input_tokens"`
	OutputTokens Length `koanf:"output_tokens" yaml:"output_tokens"` // most tokens that an answer may have, reasoning included
	Stream       bool   `koanf:"stream" yaml:"stream"`               // ask for a stream; without one there is no time to first token
	Cache        Cache  `koanf:"cache" yaml:"cache"`                 // what a prefix cache of the server may answer
	// Fields for the top level of the body of each request, such as `temperature`. They replace the exporter's own fields of that name.
	Extra map[string]any `koanf:"extra" yaml:"extra,omitempty"`
}

// DefaultConfig is what an absent block means: small enough for a canary that runs all day.
func DefaultConfig() Config {
	return Config{InputTokens: Length{Mean: 128}, OutputTokens: Length{Mean: 64}, Stream: true, Cache: CacheBust}
}

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	errs := c.InputTokens.validate(path + ".input_tokens")
	errs = append(errs, c.OutputTokens.validate(path+".output_tokens")...)
	switch {
	case c.Cache.Valid():
	case slices.Contains(plannedCaches, c.Cache):
		errs = append(errs, invalid.Key(path+".cache", "cache %q is not available in this version, use %s", c.Cache, CacheBust))
	default:
		errs = append(errs, invalid.Key(path+".cache", "unknown cache %q, must be %s", c.Cache, CacheBust))
	}
	if _, err := json.Marshal(c.Extra); err != nil {
		errs = append(errs, invalid.Key(path+".extra", "cannot be written as JSON: %v", err))
	}
	return errs
}

// maxTokens is beyond every context window; a larger number is a mistake, and a prompt of this length already has tens of megabytes.
const maxTokens = 10_000_000

// validate finds what is wrong. A length of 0 is refused: a prompt cannot be empty, and an answer without a limit may cost any amount.
func (l *Length) validate(path string) []error {
	var errs []error
	wrong := func(key, format string, args ...any) {
		errs = append(errs, invalid.Key(path+key, format, args...))
	}
	if !(l.Mean >= 1 && l.Mean <= maxTokens) { // so written, NaN is wrong too
		wrong("", "mean must be between 1 and %d tokens, got %v", maxTokens, l.Mean)
	}
	if !(l.Stddev >= 0 && l.Stddev <= maxTokens) {
		wrong(".stddev", "must be between 0 and %d tokens, got %v", maxTokens, l.Stddev)
	}
	if l.Min < 0 || l.Min > maxTokens {
		wrong(".min", "must be between 0 and %d tokens, got %d", maxTokens, l.Min)
	}
	if l.Max < 0 || l.Max > maxTokens {
		wrong(".max", "must be between 0 (no bound) and %d tokens, got %d", maxTokens, l.Max)
	}
	if len(errs) > 0 {
		return errs
	}
	switch mean := math.Round(l.Mean); {
	case l.Max != 0 && l.Max < l.Min:
		wrong(".max", "must not be below min (%d), got %d", l.Min, l.Max)
	case mean < float64(l.Min):
		wrong(".min", "must not be above the mean (%v), got %d", l.Mean, l.Min)
	case l.Max != 0 && mean > float64(l.Max):
		wrong(".max", "must not be below the mean (%v), got %d", l.Mean, l.Max)
	}
	return errs
}
