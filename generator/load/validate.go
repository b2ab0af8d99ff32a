package load

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

const (
	maxRateHz      = 100_000
	minInterval    = time.Second / maxRateHz
	maxInterval    = 30 * 24 * time.Hour
	maxQueueSize   = 100_000
	maxConcurrency = 100_000
	maxUsers       = 100_000
	minSmoothness  = 0.01
	maxSmoothness  = 10_000
)

// findings collects what is wrong with the keys below a path.
type findings struct {
	path string
	errs []error
}

func (f *findings) wrongf(key, format string, args ...any) {
	f.errs = append(f.errs, invalid.Key(f.path+"."+key, format, args...))
}

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	f := &findings{path: path}
	if !c.Mode.Valid() {
		f.wrongf("mode", "unknown mode %q, must be one of %s", c.Mode, modeList(slices.Sorted(maps.Keys(processes))))
	} else {
		c.validateKeysOfModes(f)
	}
	c.validatePace(f)
	c.validateSmoothness(f)
	c.validateClosed(f)
	c.validateUsers(f)
	c.validateReplay(f)
	c.validateRamp(f)
	c.validateSchedule(f)
	c.validateSeries(f)
	c.validateLimits(f)
	f.errs = append(f.errs, c.Backoff.Validate(path+".backoff")...)
	f.errs = append(f.errs, c.Cancel.Validate(path+".cancel")...)
	return f.errs
}

func (c *Config) validateLimits(f *findings) {
	if c.MaxInFlight < 1 {
		f.wrongf("max_in_flight", "must be >= 1, got %d", c.MaxInFlight)
	}
	if c.MaxPrefill < 0 || c.MaxPrefill > max(c.MaxInFlight, 0) {
		f.wrongf("max_prefill", "must be between 0 and max_in_flight, %d, got %d", c.MaxInFlight, c.MaxPrefill)
	}
	if !c.OnFull.Valid() {
		f.wrongf("on_full", "must be one of %s, %s, got %q", Drop, Queue, c.OnFull)
	}
	if c.Queue.Size < 1 || c.Queue.Size > maxQueueSize {
		f.wrongf("queue.size", "must be between 1 and %d, got %d", maxQueueSize, c.Queue.Size)
	}
	if c.Queue.MaxWait <= 0 {
		f.wrongf("queue.max_wait", "must be > 0, got %v", c.Queue.MaxWait)
	}
	if c.MaxCatchup <= 0 {
		f.wrongf("max_catchup", "must be > 0, got %v", c.MaxCatchup)
	}
	if c.WarmupRequests < 0 {
		f.wrongf("warmup_requests", "must be >= 0, got %d", c.WarmupRequests)
	}
}

// varying are the modes whose rate can change.
var varying = []Mode{Constant, Gamma, Poisson, Users}

// validateKeysOfModes finds keys that belong to other modes than the one that is set. They would do nothing.
func (c *Config) validateKeysOfModes(f *findings) {
	paced := []Mode{Constant, Gamma, Poisson, Probe, Users}
	replay := []Mode{Replay}
	for _, key := range []struct {
		name  string
		set   bool
		modes []Mode
	}{
		{"rate", c.Rate != 0, paced},
		{"interval", c.Interval != 0, paced},
		{"smoothness", c.Smoothness != 0 && !c.draws(Gamma), []Mode{Gamma}},
		{"burstiness", c.Burstiness != 0 && !c.draws(Gamma), []Mode{Gamma}},
		{"concurrency", c.Concurrency != 0, []Mode{Closed}},
		{"min_interval", c.MinInterval != 0, []Mode{Closed}},
		{"users", c.Users != 0, []Mode{Users}},
		{"speedup", c.Speedup != 0, replay},
		{"idle_cap", c.IdleCap != 0, replay},
		{"start_offset", c.StartOffset != 0, replay},
		{"end_offset", c.EndOffset != 0, replay},
		{"loop", c.Loop != nil, replay},
		{"loop_gap", c.LoopGap != 0, replay},
		{"ramp", c.Ramp != RampConfig{}, varying},
		{"schedule", len(c.Schedule) > 0, varying},
		{"rate_series", len(c.RateSeries) > 0, varying},
	} {
		if key.set && !slices.Contains(key.modes, c.Mode) {
			f.wrongf(key.name, "belongs to mode %s, not to %s", modeList(key.modes), c.Mode)
		}
	}
}

// validatePace checks the mean rate.
func (c *Config) validatePace(f *findings) {
	switch {
	case len(c.RateSeries) > 0 && c.Rate != 0:
		f.wrongf("rate", "excludes rate_series, set exactly one of the two")
	case len(c.RateSeries) > 0 && c.Interval != 0:
		f.wrongf("interval", "excludes rate_series, set exactly one of the two")
	case c.Rate != 0 && c.Interval != 0:
		f.wrongf("interval", "excludes rate, set exactly one of the two")
	default:
		f.pace("", c.Rate, c.Interval)
	}
}

// pace checks a rate and an interval, of which at most one is set.
func (f *findings) pace(prefix string, rateHz float64, interval time.Duration) {
	switch {
	case rateHz != 0 && !isRate(rateHz):
		f.wrongf(prefix+"rate", "must be > 0, at most %d requests per second and at least one in %v, got %v", maxRateHz, maxInterval, rateHz)
	case interval != 0 && (interval < minInterval || interval > maxInterval):
		f.wrongf(prefix+"interval", "must be between %v and %v, got %v", minInterval, maxInterval, interval)
	}
}

func isRate(hz float64) bool { return hz <= maxRateHz && hz*maxInterval.Seconds() >= 1 } // NaN is none

func (c *Config) validateSmoothness(f *findings) {
	for _, key := range []struct {
		name  string
		value float64
	}{{"smoothness", c.Smoothness}, {"burstiness", c.Burstiness}} {
		if key.value != 0 && !(key.value >= minSmoothness && key.value <= maxSmoothness) { // so written, NaN is wrong too
			f.wrongf(key.name, "must be between %v and %d, got %v", minSmoothness, maxSmoothness, key.value)
		}
	}
	if c.Smoothness != 0 && c.Burstiness != 0 {
		f.wrongf("burstiness", "is another name of smoothness, set one of the two")
	}
}

func (c *Config) validateClosed(f *findings) {
	switch {
	case c.Concurrency < 0 || c.Concurrency > maxConcurrency:
		f.wrongf("concurrency", "must be between 1 and %d, got %d", maxConcurrency, c.Concurrency)
	case c.Concurrency > c.MaxInFlight && c.MaxInFlight >= 1:
		f.wrongf("concurrency", "must be <= max_in_flight, %d, got %d", c.MaxInFlight, c.Concurrency)
	}
	if c.MinInterval != 0 && (c.MinInterval < minInterval || c.MinInterval > maxInterval) {
		f.wrongf("min_interval", "must be between %v and %v, got %v", minInterval, maxInterval, c.MinInterval)
	}
}

func (c *Config) validateUsers(f *findings) {
	switch {
	case c.Mode == Users && c.Users == 0:
		f.wrongf("users", "is required with mode users")
	case c.Users < 0 || c.Users > maxUsers:
		f.wrongf("users", "must be between 1 and %d, got %d", maxUsers, c.Users)
	}
	if c.Mode == Users && c.Rate == 0 && c.Interval == 0 && len(c.RateSeries) == 0 {
		f.wrongf("rate", "is required with mode users, or interval, or rate_series")
	}
}

func (c *Config) validateReplay(f *findings) {
	if c.Speedup != 0 && !(c.Speedup >= 1e-3 && c.Speedup <= 1e6) { // so written, NaN is wrong too
		f.wrongf("speedup", "must be between 0.001 and 1000000, got %v", c.Speedup)
	}
	for _, key := range []struct {
		name  string
		value time.Duration
	}{{"idle_cap", c.IdleCap}, {"start_offset", c.StartOffset}, {"end_offset", c.EndOffset}, {"loop_gap", c.LoopGap}} {
		if key.value < 0 {
			f.wrongf(key.name, "must be >= 0, got %v", key.value)
		}
	}
	if c.EndOffset != 0 && c.EndOffset < c.StartOffset {
		f.wrongf("end_offset", "must be >= start_offset, %v, got %v", c.StartOffset, c.EndOffset)
	}
	if c.LoopGap > 0 && c.LoopGap < minInterval {
		f.wrongf("loop_gap", "must be >= %v, got %v", minInterval, c.LoopGap)
	}
}

func (c *Config) validateRamp(f *findings) {
	if c.Ramp.Duration < 0 {
		f.wrongf("ramp.duration", "must be >= 0, got %v", c.Ramp.Duration)
	}
	if !(c.Ramp.From >= 0 && c.Ramp.From <= maxRateHz) { // so written, NaN is wrong too
		f.wrongf("ramp.from", "must be between 0 and %d requests per second, got %v", maxRateHz, c.Ramp.From)
	}
	if c.Ramp.From != 0 && c.Ramp.Duration == 0 {
		f.wrongf("ramp.duration", "is required with ramp.from")
	}
}

func modeList(modes []Mode) string {
	names := make([]string, 0, len(modes))
	for _, m := range modes {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}
