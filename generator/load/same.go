package load

import "reflect"

// SameArrivals tells whether two loads want the same arrivals, however differently they treat them: then one schedule does for both.
func (c *Config) SameArrivals(other *Config) bool {
	return reflect.DeepEqual(c.wanted(), other.wanted())
}

// wanted is what decides when arrivals are wanted, and nothing else.
func (c *Config) wanted() Config {
	wanted := *c
	wanted.MaxInFlight, wanted.MaxPrefill, wanted.OnFull, wanted.Queue = 0, 0, "", QueueConfig{}
	wanted.MaxCatchup, wanted.WarmupRequests, wanted.Paused = 0, 0, false
	wanted.Backoff, wanted.Cancel = BackoffConfig{}, CancelConfig{}
	return wanted
}
