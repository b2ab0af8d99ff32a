package metrics

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// SLO is a set of limits that a request must keep to be good, and the share of requests that should.
type SLO struct {
	Name       string
	Objective  float64 // 0 < objective < 1
	Window     time.Duration
	Thresholds []Threshold
	// CountDrops makes arrivals that the server's slowness prevented count as bad.
	CountDrops bool
}

// Threshold is one limit. Equal passes.
type Threshold struct {
	Metric SLOMetric
	Limit  float64 // whole nanoseconds for latencies, tokens per second for rates
}

// SLOConfig is one entry under `slos:`. A limit of 0 is not set.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type SLOConfig struct {
	Objective float64       `koanf:"objective" yaml:"objective"` // share of requests that should be good, above 0 and below 1
	Window    time.Duration `koanf:"window" yaml:"window"`       // time over which the objective holds, for dashboards and alerts
	// Count arrivals that were dropped because the server was slow (`in_flight`, `queue_full`, `queue_timeout`, `overlap`) as bad requests.
	CountDrops bool `koanf:"count_drops" yaml:"count_drops"`
	// Name of limits that others have published, from the table of presets. A limit that is written beside it stands in the place of its own.
	Preset SLOPreset `koanf:"preset" yaml:"preset,omitempty"`
	// Longest time from the start of a request to its first token, reasoning included.
	TimeToFirstToken time.Duration `koanf:"time_to_first_token" yaml:"time_to_first_token,omitempty"`
	// Longest time from the start of a request to its first token that is not reasoning.
	TimeToFirstOutputToken time.Duration `koanf:"time_to_first_output_token" yaml:"time_to_first_output_token,omitempty"`
	// Longest gap between the first and the second content event.
	TimeToSecondToken time.Duration `koanf:"time_to_second_token" yaml:"time_to_second_token,omitempty"`
	// Longest mean time per output token after the first; needs token counts from the server.
	InterTokenLatency time.Duration `koanf:"inter_token_latency" yaml:"inter_token_latency,omitempty"`
	// Longest time from the start of a request to its last token.
	RequestLatency time.Duration `koanf:"request_latency" yaml:"request_latency,omitempty"`
	// Longest time from the scheduled instant of a request to its last token.
	EffectiveLatency time.Duration `koanf:"effective_latency" yaml:"effective_latency,omitempty"`
	// Lowest speed in tokens per second at which tokens arrive after the first; needs token counts from the server.
	OutputTokenThroughputPerUser float64 `koanf:"output_token_throughput_per_user" yaml:"output_token_throughput_per_user,omitempty"`
	// Lowest number of output tokens per second over the whole duration of a request.
	E2EOutputTokenThroughput float64 `koanf:"e2e_output_token_throughput" yaml:"e2e_output_token_throughput,omitempty"`
}

// DefaultSLOConfig has no limits.
func DefaultSLOConfig() SLOConfig {
	return SLOConfig{Objective: 0.99, Window: 30 * 24 * time.Hour, CountDrops: true}
}

// thresholds lists the limits that are set, here or by the preset, in the order of the fields.
func (c *SLOConfig) thresholds() []Threshold {
	var out []Threshold
	preset := sloPresets[c.Preset] // of which there may be none
	for i := range sloMeasures {
		if limit := cmp.Or(sloMeasures[i].limit(c), sloMeasures[i].limit(&preset)); limit != 0 {
			out = append(out, Threshold{sloMeasures[i].metric, limit})
		}
	}
	return out
}

// Validate finds what is wrong, by key below path.
func (c *SLOConfig) Validate(path string) []error {
	var errs []error
	if !(c.Objective > 0 && c.Objective < 1) {
		errs = append(errs, invalid.Key(path+".objective", "must be > 0 and < 1 (1 leaves no error budget), got %v", c.Objective))
	}
	if c.Window <= 0 {
		errs = append(errs, invalid.Key(path+".window", "must be > 0, got %v", c.Window))
	}
	limits := c.thresholds()
	switch _, known := sloPresets[c.Preset]; {
	case c.Preset != "" && !known:
		errs = append(errs, invalid.Key(path+".preset", "must be one of %s, got %q", strings.Join(words(SLOPresets()), ", "), c.Preset))
	case len(limits) == 0:
		errs = append(errs, invalid.Key(path, "limits nothing: set a preset, or at least one of time_to_first_token, inter_token_latency, request_latency, …"))
	}
	for _, t := range limits {
		if t.Limit < 0 || math.IsNaN(t.Limit) || math.IsInf(t.Limit, 0) {
			errs = append(errs, invalid.Key(path+"."+string(t.Metric), "must be > 0"))
		}
	}
	return errs
}

// SLO is the objective in the form in which it is evaluated.
func (c *SLOConfig) SLO(name string) SLO {
	return SLO{Name: name, Objective: c.Objective, Window: c.Window, Thresholds: c.thresholds(), CountDrops: c.CountDrops}
}
