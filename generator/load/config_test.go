package load_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*load.Config)
		want   []string // nil = valid
	}{
		"the default is valid":                      {func(*load.Config) {}, nil},
		"a rate alone is valid":                     {func(c *load.Config) { c.Rate = 0.2 }, nil},
		"an interval alone is valid":                {func(c *load.Config) { c.Interval = 10 * time.Second }, nil},
		"the highest rate is valid":                 {func(c *load.Config) { c.Rate = 100_000 }, nil},
		"the shortest interval is valid":            {func(c *load.Config) { c.Interval = 10 * time.Microsecond }, nil},
		"the longest interval is valid":             {func(c *load.Config) { c.Interval = 720 * time.Hour }, nil},
		"poisson and queue are valid":               {func(c *load.Config) { c.Mode, c.OnFull = load.Poisson, load.Queue }, nil},
		"rate and interval exclude each other":      {func(c *load.Config) { c.Rate, c.Interval = 1, time.Second }, []string{"l.interval: excludes rate, set exactly one of the two"}},
		"a negative rate":                           {func(c *load.Config) { c.Rate = -1 }, []string{"l.rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got -1"}},
		"a rate that is not a number":               {func(c *load.Config) { c.Rate = math.NaN() }, []string{"l.rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got NaN"}},
		"an infinite rate":                          {func(c *load.Config) { c.Rate = math.Inf(1) }, []string{"l.rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got +Inf"}},
		"an absurdly high rate":                     {func(c *load.Config) { c.Rate = 100_001 }, []string{"l.rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got 100001"}},
		"an absurdly low rate":                      {func(c *load.Config) { c.Rate = 1e-9 }, []string{"l.rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got 1e-09"}},
		"a negative interval":                       {func(c *load.Config) { c.Interval = -time.Second }, []string{"l.interval: must be between 10µs and 720h0m0s, got -1s"}},
		"an absurdly short interval":                {func(c *load.Config) { c.Interval = 1 }, []string{"l.interval: must be between 10µs and 720h0m0s, got 1ns"}},
		"an absurdly long interval":                 {func(c *load.Config) { c.Interval = 721 * time.Hour }, []string{"l.interval: must be between 10µs and 720h0m0s, got 721h0m0s"}},
		"a mode of a later version is told as such": {func(c *load.Config) { c.Mode = "gamma" }, []string{`l.mode: mode "gamma" is not available in this version, use one of constant, poisson`}},
		"a mode that nobody knows":                  {func(c *load.Config) { c.Mode = "posson" }, []string{`l.mode: unknown mode "posson", must be one of constant, poisson`}},
		"no mode":                                   {func(c *load.Config) { c.Mode = "" }, []string{`l.mode: unknown mode "", must be one of constant, poisson`}},
		"nothing may be in flight":                  {func(c *load.Config) { c.MaxInFlight = 0 }, []string{"l.max_in_flight: must be >= 1, got 0"}},
		"an unknown policy":                         {func(c *load.Config) { c.OnFull = "wait" }, []string{`l.on_full: must be one of drop, queue, got "wait"`}},
		"every mistake is told at once": {
			func(c *load.Config) {
				c.Queue = load.QueueConfig{Size: 0, MaxWait: -1}
				c.MaxCatchup = 0
				c.WarmupRequests = -1
			},
			[]string{
				"l.queue.size: must be between 1 and 100000, got 0",
				"l.queue.max_wait: must be > 0, got -1ns",
				"l.max_catchup: must be > 0, got 0s",
				"l.warmup_requests: must be >= 0, got -1",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := load.DefaultConfig()
			test.change(&c)
			got := ""
			if err := errors.Join(c.Validate("l")...); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(strings.Join(test.want, "\n"), got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryPlannedModeIsToldAsNotAvailable(t *testing.T) {
	t.Parallel()
	for _, mode := range []load.Mode{"gamma", "closed", "probe", "users", "replay"} {
		c := load.DefaultConfig()
		c.Mode = mode
		errs := c.Validate("l")
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), "is not available in this version") {
			t.Errorf("mode %q: %v", mode, errs)
		}
	}
}

func TestHz(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config load.Config
		want   float64
	}{
		"neither rate nor interval is one in 30 s": {load.Config{}, 1.0 / 30},
		"a rate is taken as it is":                 {load.Config{Rate: 0.2}, 0.2},
		"an interval is turned into a rate":        {load.Config{Interval: 250 * time.Millisecond}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.config.Hz(); got != test.want {
				t.Errorf("Hz = %v, want %v", got, test.want)
			}
		})
	}
}
