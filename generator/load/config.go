// Package load decides WHEN a request is wanted and whether it may be sent. It is pure: no goroutines, no sockets, and every instant
// is handed in, so that a whole day of arrivals can be tested in a millisecond.
//
// To add an arrival process: one file with a type that implements Process, one line in the table of processes.go.
package load

import "time"

// Mode names an arrival process.
type Mode string

// The arrival processes.
const (
	Constant Mode = "constant" // evenly spaced, at the same instants after a restart
	Poisson  Mode = "poisson"  // independent of each other, as those of many users, in exponential intervals
	Gamma    Mode = "gamma"    // in bursts or smoother than `poisson`, as `smoothness` says
	Closed   Mode = "closed"   // each of `concurrency` workers asks again when it has its answer. A slow server is asked less, so it looks better than it is
	Probe    Mode = "probe"    // one each `interval`, at fixed instants of the wall clock; dropped as `overlap` while the one before still runs
	Users    Mode = "users"    // evenly spaced, by `users` users in turn, none of whom asks before having the answer before
	Replay   Mode = "replay"   // at the times of the recording that the workload reads
)

// Valid tells whether the mode can be run.
func (m Mode) Valid() bool {
	_, ok := processes[m]
	return ok
}

// OnFull says what happens to an arrival that finds max_in_flight requests running.
type OnFull string

// The policies.
const (
	Drop  OnFull = "drop"  // it is not sent, and counted with the reason `in_flight`
	Queue OnFull = "queue" // it waits, and keeps its scheduled instant
)

// Valid tells whether the policy is one of the list.
func (o OnFull) Valid() bool { return o == Drop || o == Queue }

// Config is one entry under `loads:`.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	Mode     Mode          `koanf:"mode" yaml:"mode"`                   // how arrivals lie in time
	Rate     float64       `koanf:"rate" yaml:"rate,omitempty"`         // requests per second; excludes `interval`, without both it is one request in 30s
	Interval time.Duration `koanf:"interval" yaml:"interval,omitempty"` // time between requests, on average; excludes `rate`

	// `gamma` only: shape of the intervals, whose standard deviation is their mean divided by the root of it. 1 is `poisson`, and holds
	// without it; less comes in bursts, more is smoother
	Smoothness float64 `koanf:"smoothness" yaml:"smoothness,omitempty"`
	Burstiness float64 `koanf:"burstiness" yaml:"burstiness,omitempty"` // another name of `smoothness`

	Concurrency int `koanf:"concurrency" yaml:"concurrency,omitempty"` // `closed` only: number of workers; 1 without it
	// `closed` only: shortest time between the starts of two requests of a worker, so that a server that answers with errors is not
	// hammered; 1s without it
	MinInterval time.Duration `koanf:"min_interval" yaml:"min_interval,omitempty"`

	// `users` only, which needs it: number of users. Each asks once in `users` divided by `rate` seconds; what is due earlier than the
	// answer to the request before waits for it
	Users int `koanf:"users" yaml:"users,omitempty"`

	// `replay` only: times of the recording, and its delays after an answer, are divided by it; 1 without it
	Speedup float64 `koanf:"speedup" yaml:"speedup,omitempty"`
	// `replay` only: longest time between one recorded turn and the next, after `speedup`; a longer one is cut to it. No limit without it
	IdleCap     time.Duration `koanf:"idle_cap" yaml:"idle_cap,omitempty"`
	StartOffset time.Duration `koanf:"start_offset" yaml:"start_offset,omitempty"` // `replay` only: turns before this time of the recording are left out
	EndOffset   time.Duration `koanf:"end_offset" yaml:"end_offset,omitempty"`     // `replay` only: turns after this time of the recording are left out
	Loop        *bool         `koanf:"loop" yaml:"loop,omitempty"`                 // `replay` only: `false` stops at the end of the recording; without it, it begins anew
	// `replay` only: time from the last recorded turn to the first of the next pass; 1s without it
	LoopGap time.Duration `koanf:"loop_gap" yaml:"loop_gap,omitempty"`

	Ramp RampConfig `koanf:"ramp" yaml:"ramp,omitempty"`
	// windows of the day with another rate, of which the first that holds counts. `constant`, `poisson`, `gamma` and `users` only
	Schedule []WindowConfig `koanf:"schedule" yaml:"schedule,omitempty"`
	// points of a rate that changes all the time, instead of `rate`: at least two, linear between them, the last one joined to the first of
	// the next `period`. `constant`, `poisson`, `gamma` and `users` only
	RateSeries []PointConfig `koanf:"rate_series" yaml:"rate_series,omitempty"`
	// time after which `rate_series` repeats, counted by the clock of `tz` from midnight on, of a Monday if it is longer than a day; 1d
	// without it
	Period time.Duration `koanf:"period" yaml:"period,omitempty"`
	// IANA name of the time zone of `rate_series`, and of windows that name none; UTC without it
	TZ string `koanf:"tz" yaml:"tz,omitempty"`

	// Requests of the target that may run at the same time.
	MaxInFlight int `koanf:"max_in_flight" yaml:"max_in_flight"`
	// requests of the target that may wait for their first token at the same time; others are treated as `on_full` says. At most
	// `max_in_flight`; no limit without it
	MaxPrefill int         `koanf:"max_prefill" yaml:"max_prefill,omitempty"`
	OnFull     OnFull      `koanf:"on_full" yaml:"on_full"` // what becomes of an arrival when `max_in_flight` requests run already
	Queue      QueueConfig `koanf:"queue" yaml:"queue"`
	// How late the exporter may wake up before the arrivals that it missed are dropped as `scheduler_late`.
	MaxCatchup time.Duration `koanf:"max_catchup" yaml:"max_catchup"`
	// Requests after the start that are sent and checked, but kept out of all series of requests except `aiperf_warmup_requests_total`.
	WarmupRequests int           `koanf:"warmup_requests" yaml:"warmup_requests,omitempty"`
	Backoff        BackoffConfig `koanf:"backoff" yaml:"backoff"`
	Cancel         CancelConfig  `koanf:"cancel" yaml:"cancel,omitempty"`
	Paused         bool          `koanf:"paused" yaml:"paused,omitempty"` // no arrivals; the series of the target stay
}

// RampConfig lets the rate change slowly after the start.
type RampConfig struct {
	// time in which the rate changes evenly from `ramp.from` to the one that is wanted, after the start and after a change of the load; none
	// without it. `constant`, `poisson`, `gamma` and `users` only
	Duration time.Duration `koanf:"duration" yaml:"duration,omitempty"`
	From     float64       `koanf:"from" yaml:"from,omitempty"` // requests per second at the start
}

// PointConfig is one point of rate_series.
type PointConfig struct {
	At   time.Duration `koanf:"at" yaml:"at"`     // time since the start of `period`, more than that of the point before
	Rate float64       `koanf:"rate" yaml:"rate"` // requests per second at that time
}

// QueueConfig bounds the queue of on_full: queue.
type QueueConfig struct {
	Size int `koanf:"size" yaml:"size"` // arrivals that may wait; further ones are dropped as `queue_full`
	// How long an arrival may wait before it is dropped as `queue_timeout`.
	MaxWait time.Duration `koanf:"max_wait" yaml:"max_wait"`
}

// defaultInterval holds when neither rate nor interval is set: a canary that costs little.
const defaultInterval = 30 * time.Second

// DefaultConfig is what an absent block means. Rate and Interval are both 0, which Hz reads as one request in 30 s, so that the default
// never conflicts with the one that a user sets.
func DefaultConfig() Config {
	return Config{
		Mode:        Constant,
		MaxInFlight: 8,
		OnFull:      Drop,
		Queue:       QueueConfig{Size: 16, MaxWait: 2 * time.Second},
		MaxCatchup:  time.Second,
		Backoff:     DefaultBackoffConfig(),
	}
}

// Hz is the wished mean rate in requests per second, from whichever of rate and interval is set.
func (c *Config) Hz() float64 {
	switch {
	case c.Rate != 0:
		return c.Rate
	case c.Interval != 0:
		return float64(time.Second) / float64(c.Interval)
	}
	return float64(time.Second) / float64(defaultInterval)
}

// Steady is the rate outside of windows and ramps. ok is false where there is none: the server sets it, a recording does, or it changes all
// the time.
func (c *Config) Steady() (hz float64, ok bool) {
	if c.Mode == Closed || c.Mode == Replay || len(c.RateSeries) > 0 {
		return 0, false
	}
	return c.Hz(), true
}

// loops tells whether a recording begins anew at its end.
func (c *Config) loops() bool { return c.Loop == nil || *c.Loop }
