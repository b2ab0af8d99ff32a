package budget

import (
	"math"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Config is one `budget` block; a limit of 0 is none. What a request may cost at most is set aside before it is sent, and replaced by what it
// has cost when it has ended; an arrival for which there is not enough left is dropped with the reason `budget`.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	RequestsPerHour    int64   `koanf:"requests_per_hour" yaml:"requests_per_hour,omitempty"`         // requests in a calendar hour
	RequestsPerDay     int64   `koanf:"requests_per_day" yaml:"requests_per_day,omitempty"`           // requests in a calendar day
	InputTokensPerDay  int64   `koanf:"input_tokens_per_day" yaml:"input_tokens_per_day,omitempty"`   // tokens of prompts
	OutputTokensPerDay int64   `koanf:"output_tokens_per_day" yaml:"output_tokens_per_day,omitempty"` // tokens of answers
	TokensPerHour      int64   `koanf:"tokens_per_hour" yaml:"tokens_per_hour,omitempty"`             // input and output together
	TokensPerDay       int64   `koanf:"tokens_per_day" yaml:"tokens_per_day,omitempty"`               // input and output together
	USDPerHour         float64 `koanf:"usd_per_hour" yaml:"usd_per_hour,omitempty"`                   // dollars; needs a price below
	USDPerDay          float64 `koanf:"usd_per_day" yaml:"usd_per_day,omitempty"`                     // dollars; needs a price below
	// Dollars for a million input tokens. The prices of the global budget hold for targets that give none.
	USDPerMillionInput  float64 `koanf:"usd_per_million_input" yaml:"usd_per_million_input,omitempty"`
	USDPerMillionOutput float64 `koanf:"usd_per_million_output" yaml:"usd_per_million_output,omitempty"` // dollars for a million output tokens
	// Time zone in which hours and days begin, as in the IANA database: Europe/Budapest. A change holds from the next hour or day on.
	TZ string `koanf:"tz" yaml:"tz"`
}

const (
	maxAmount   = int64(1e15) // of requests and tokens
	maxUSD      = 1e9
	maxPriceUSD = 1e6 // for a million tokens
)

// nothing is a limit that lets nothing pass; Divide makes it, no file can.
const nothing = -1

// DefaultConfig is what an absent block means: no limits.
func DefaultConfig() Config { return Config{TZ: "UTC"} }

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	var errs []error
	wrong := func(key, format string, args ...any) {
		errs = append(errs, invalid.Key(path+"."+key, format, args...))
	}
	for _, limit := range []struct {
		key   string
		value int64
	}{
		{"requests_per_hour", c.RequestsPerHour},
		{"requests_per_day", c.RequestsPerDay},
		{"input_tokens_per_day", c.InputTokensPerDay},
		{"output_tokens_per_day", c.OutputTokensPerDay},
		{"tokens_per_hour", c.TokensPerHour},
		{"tokens_per_day", c.TokensPerDay},
	} {
		if limit.value < 0 || limit.value > maxAmount {
			wrong(limit.key, "must be between 0 and %d, got %d", maxAmount, limit.value)
		}
	}
	unpriced := c.USDPerMillionInput == 0 && c.USDPerMillionOutput == 0
	for _, money := range []struct {
		key        string
		value, top float64
		limit      bool
	}{
		{"usd_per_hour", c.USDPerHour, maxUSD, true},
		{"usd_per_day", c.USDPerDay, maxUSD, true},
		{"usd_per_million_input", c.USDPerMillionInput, maxPriceUSD, false},
		{"usd_per_million_output", c.USDPerMillionOutput, maxPriceUSD, false},
	} {
		switch {
		case !(money.value >= 0 && money.value <= money.top): // so written, NaN is wrong too
			wrong(money.key, "must be between 0 and %v, got %v", money.top, money.value)
		case money.limit && money.value > 0 && unpriced:
			wrong(money.key, "needs usd_per_million_input or usd_per_million_output")
		}
	}
	if _, err := time.LoadLocation(c.TZ); err != nil {
		wrong("tz", "unknown time zone %q", c.TZ)
	}
	return errs
}

// Divide is the budget of one of count exporters that share it, index from 0, so that together they keep the whole: limits that are counted are
// divided evenly, and what is left over goes to the first of them. A limit that leaves nothing for one lets nothing of it pass.
func (c *Config) Divide(index, count int) Config {
	part := *c
	if count <= 1 {
		return part
	}
	for _, limit := range []*int64{
		&part.RequestsPerHour, &part.RequestsPerDay, &part.InputTokensPerDay, &part.OutputTokensPerDay, &part.TokensPerHour, &part.TokensPerDay,
	} {
		if *limit > 0 {
			*limit = share(*limit, int64(index), int64(count))
		}
	}
	part.USDPerHour /= float64(count)
	part.USDPerDay /= float64(count)
	return part
}

// share is the part of a limit: those of all exporters add up to it.
func share(limit, index, count int64) int64 {
	part := limit / count
	if index < limit%count {
		part++
	}
	if part == 0 {
		return nothing
	}
	return part
}

// limits are those of the periods, by kind.
func (c *Config) limits() [periods]amounts {
	var out [periods]amounts
	for p := range out {
		for k := range out[p] {
			out[p][k] = math.MaxInt64
		}
	}
	set := func(p period, k kind, limit int64) {
		if limit != 0 {
			out[p][k] = max(limit, 0)
		}
	}
	set(hour, requests, c.RequestsPerHour)
	set(day, requests, c.RequestsPerDay)
	set(day, inputTokens, c.InputTokensPerDay)
	set(day, outputTokens, c.OutputTokensPerDay)
	set(hour, tokens, c.TokensPerHour)
	set(day, tokens, c.TokensPerDay)
	set(hour, money, nanoUSD(c.USDPerHour))
	set(day, money, nanoUSD(c.USDPerDay))
	return out
}
