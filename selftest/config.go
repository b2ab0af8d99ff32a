package selftest

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Config is the block `selftest:`.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	// measure a null target: a stream of known timing that the exporter serves to itself on the loopback interface and reads like any other
	Enabled bool `koanf:"enabled" yaml:"enabled"`
	// time between requests to the null target, each of which takes 0.2s; at most 30s
	Interval time.Duration `koanf:"interval" yaml:"interval"`
	// error bar, the p99 of the last minute, above which finished requests are counted in `aiperf_suspect_requests_total`
	Limit time.Duration `koanf:"limit" yaml:"limit"`
}

const (
	// minInterval is more than a request takes on a host that is well.
	minInterval = 500 * time.Millisecond
	// maxInterval keeps two requests within the span of the error bar.
	maxInterval = 30 * time.Second
)

// DefaultConfig is what an absent block means.
func DefaultConfig() Config { return Config{Interval: time.Second, Limit: 10 * time.Millisecond} }

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	var errs []error
	if c.Interval < minInterval || c.Interval > maxInterval {
		errs = append(errs, invalid.Key(path+".interval", "must be between %v and %v, got %v", minInterval, maxInterval, c.Interval))
	}
	if c.Limit <= 0 {
		errs = append(errs, invalid.Key(path+".limit", "must be > 0, got %v", c.Limit))
	}
	return errs
}
