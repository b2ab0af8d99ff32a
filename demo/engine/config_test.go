package engine

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"the default is right", func(*Config) {}, nil},
		{"a background that varies", func(c *Config) { c.Background = Background{1, 5, time.Minute} }, nil},
		{"a background that does not", func(c *Config) { c.Background.Trough = 5 }, nil},
		{"no place in the batch", func(c *Config) { c.MaxRunning = 0 }, []string{"e.MaxRunning"}},
		{"a budget smaller than the batch", func(c *Config) { c.MaxStepTokens = 63 }, []string{"e.MaxStepTokens"}},
		{"no room for an answer", func(c *Config) { c.MaxContext = 1 }, []string{"e.MaxContext"}},
		{"a cache smaller than one sequence", func(c *Config) { c.CacheTokens = 100 }, []string{"e.CacheTokens"}},
		{"no time", func(c *Config) { c.StepTime = 0 }, []string{"e.StepTime"}},
		{"negative times", func(c *Config) { c.DecodeTime, c.PrefillTime = -1, -1 }, []string{"e.DecodeTime", "e.PrefillTime"}},
		{"a jitter that is no number", func(c *Config) { c.Jitter = math.NaN() }, []string{"e.Jitter"}},
		{
			"guesses out of range", func(c *Config) { c.DraftTokens, c.DraftAcceptance = -1, 1.5 },
			[]string{"e.DraftTokens", "e.DraftAcceptance"},
		},
		{"a background upside down", func(c *Config) { c.Background = Background{5, 1, time.Minute} }, []string{"e.Background.Peak"}},
		{"a peak without a period", func(c *Config) { c.Background.Peak = 1 }, []string{"e.Background.Period"}},
		{"a background without end", func(c *Config) { c.Background.Trough = math.Inf(1) }, []string{"e.Background.Trough"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := DefaultConfig()
			tc.change(&cfg)
			findings := cfg.Validate("e")
			got := make([]string, 0, len(findings))
			for _, err := range findings {
				var finding *invalid.Error
				if !errors.As(err, &finding) {
					t.Fatalf("%v is not a finding about a key", err)
				}
				got = append(got, finding.Path)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("keys found wrong (-want +got):\n%s", diff)
			}
		})
	}
}
