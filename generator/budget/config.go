// Package budget bounds what targets may use in a calendar hour or day: requests, tokens and money. What a request may need at most is
// reserved before it is sent and settled with what it has used. It decides nothing but yes or no and never waits.
package budget

import (
	"time"
)

// Config is one `budget` block; a limit of 0 is none.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	RequestsPerHour    int64   `koanf:"requests_per_hour" yaml:"requests_per_hour,omitempty"`
	RequestsPerDay     int64   `koanf:"requests_per_day" yaml:"requests_per_day,omitempty"`
	InputTokensPerDay  int64   `koanf:"input_tokens_per_day" yaml:"input_tokens_per_day,omitempty"`
	OutputTokensPerDay int64   `koanf:"output_tokens_per_day" yaml:"output_tokens_per_day,omitempty"`
	TokensPerHour      int64   `koanf:"tokens_per_hour" yaml:"tokens_per_hour,omitempty"` // input and output together
	TokensPerDay       int64   `koanf:"tokens_per_day" yaml:"tokens_per_day,omitempty"`
	USDPerHour         float64 `koanf:"usd_per_hour" yaml:"usd_per_hour,omitempty"` // needs at least one price
	USDPerDay          float64 `koanf:"usd_per_day" yaml:"usd_per_day,omitempty"`
	// Prices of a million tokens.
	USDPerMillionInput  float64 `koanf:"usd_per_million_input" yaml:"usd_per_million_input,omitempty"`
	USDPerMillionOutput float64 `koanf:"usd_per_million_output" yaml:"usd_per_million_output,omitempty"`
	// Time zone in which hours and days begin, as in the IANA database.
	TZ string `koanf:"tz" yaml:"tz"`
}

// DefaultConfig is what an absent block means: no limits.
func DefaultConfig() Config { return Config{TZ: "UTC"} }

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	_ = path
	return nil
}

// Divide is the part of one of count shards.
func (c *Config) Divide(count int) Config {
	_ = count
	return *c
}

// Need is what a request uses, or may use at most.
type Need struct {
	InputTokens, OutputTokens int64
}

// Kind is what is counted.
type Kind string

// The kinds.
const (
	Requests     Kind = "requests"
	InputTokens  Kind = "input_tokens"
	OutputTokens Kind = "output_tokens"
	Tokens       Kind = "tokens" // input and output together
	USD          Kind = "usd"
)

// Period is how long a limit holds.
type Period string

// The periods.
const (
	Hour Period = "hour"
	Day  Period = "day"
)

// Use is what is used of one limit in the running period. Money is in dollars.
type Use struct {
	Kind        Kind
	Period      Period
	Used, Limit float64
}

// Account is the budget of one target, or of all together.
type Account struct{}

// State gives the limits that are set and what is used of them, reserved included.
func (a *Account) State(wall time.Time) []Use { _ = wall; return nil }

// Exhausted tells whether a request was refused in a period that still runs.
func (a *Account) Exhausted(wall time.Time) bool { _ = wall; return false }

// Ledger is all accounts of the process.
type Ledger struct{}

// Open reads the ledger at path, "" = it lives in memory only.
func Open(path string) (*Ledger, error) { _ = path; return &Ledger{}, nil }

// Close writes the exact figures.
func (l *Ledger) Close() error { return nil }

// Account gives the account of that name with the limits of c; Global is that of all targets together.
func (l *Ledger) Account(name string, c *Config) *Account { _, _ = name, c; return &Account{} }

// Global names the account of all targets together. No target can have this name.
const Global = ""

// Err is why nothing can be reserved at present, because the file cannot be written; nil if it can.
func (l *Ledger) Err() error { return nil }

// Reserve reserves one request and what it may need from all accounts, or from none.
func (l *Ledger) Reserve(wall time.Time, need Need, accounts ...*Account) (*Reservation, bool) {
	_, _, _ = wall, need, accounts
	return &Reservation{}, true
}

// Reservation is what Reserve has set aside for a request. It ends with Settle or Cancel.
type Reservation struct{}

// Settle replaces what was reserved by what was used.
func (r *Reservation) Settle(wall time.Time, actual Need) { _, _ = wall, actual }

// Cancel gives back what was reserved for a request that was not sent.
func (r *Reservation) Cancel() {}
