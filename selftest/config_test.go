package selftest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"defaults", func(*Config) {}, nil},
		{"shortest interval", func(c *Config) { c.Interval = 500 * time.Millisecond }, nil},
		{"longest interval", func(c *Config) { c.Interval = 30 * time.Second }, nil},
		{"limit below what can be reached", func(c *Config) { c.Limit = time.Nanosecond }, nil},
		{"interval shorter than a request", func(c *Config) { c.Interval = 499 * time.Millisecond }, []string{"selftest.interval: must be between 500ms and 30s, got 499ms"}},
		{"interval longer than the memory", func(c *Config) { c.Interval = 31 * time.Second }, []string{"selftest.interval: must be between 500ms and 30s, got 31s"}},
		{"nothing", func(c *Config) { *c = Config{} }, []string{"selftest.interval: must be between 500ms and 30s, got 0s", "selftest.limit: must be > 0, got 0s"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := DefaultConfig()
			test.change(&c)
			var got []string
			for _, err := range c.Validate("selftest") {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The last content event must be out before the next request begins.
func TestPlanIsOverBeforeTheNextRequest(t *testing.T) {
	t.Parallel()
	if end := planned(contentEvents - 1); end > minInterval/2 {
		t.Errorf("the plan ends after %v, want it well before %v", end, minInterval)
	}
}
