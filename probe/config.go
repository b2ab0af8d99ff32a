package probe

import (
	"fmt"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Config is the block `probe:`.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	// To whom modules without `allowed_targets` of their own and without credentials may speak: hosts (`llm.example.net`, `llm.example.net:8000`,
	// `*.example.net`), addresses and networks (`10.0.0.0/8`). Empty: only to configured targets, by their names. The address is looked at when it
	// is connected to. Without a port, the ports 80, 443 and those from 1024 on are meant. Link-local addresses and those where clouds tell
	// credentials need an entry that is not wider than they are, such as `169.254.169.254/32`
	AllowedTargets []string `koanf:"allowed_targets" yaml:"allowed_targets"`
	// How much earlier than the scraper stops waiting a probe ends, so that the answer arrives in time
	TimeoutOffset time.Duration `koanf:"timeout_offset" yaml:"timeout_offset"`
	// Probes that may run at the same time; further ones get 429
	MaxInFlight int `koanf:"max_in_flight" yaml:"max_in_flight"`
}

// DefaultConfig is what an absent block means.
func DefaultConfig() Config { return Config{TimeoutOffset: 500 * time.Millisecond, MaxInFlight: 16} }

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	errs := ValidateAllowed(path+".allowed_targets", c.AllowedTargets)
	if c.TimeoutOffset < 0 || c.TimeoutOffset >= maxScrapeTimeout {
		errs = append(errs, invalid.Key(path+".timeout_offset", "must be >= 0 and below %v, got %v", maxScrapeTimeout, c.TimeoutOffset))
	}
	if c.MaxInFlight < 1 {
		errs = append(errs, invalid.Key(path+".max_in_flight", "must be >= 1, got %d", c.MaxInFlight))
	}
	return errs
}

// ValidateAllowed finds what is wrong with a list of those to whom probes may speak; path is the key that holds it.
func ValidateAllowed(path string, entries []string) []error {
	var errs []error
	for i, entry := range entries {
		if _, err := parseRule(entry); err != nil {
			errs = append(errs, invalid.Key(fmt.Sprintf("%s[%d]", path, i), "%v", err))
		}
	}
	return errs
}

func (c *Config) rules() Rules { return NewRules(c.AllowedTargets) }
