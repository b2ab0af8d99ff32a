package load

import "time"

// Day is a day of the week.
type Day string

// The days.
const (
	Monday    Day = "mon"
	Tuesday   Day = "tue"
	Wednesday Day = "wed"
	Thursday  Day = "thu"
	Friday    Day = "fri"
	Saturday  Day = "sat"
	Sunday    Day = "sun"
)

// WindowConfig is one entry under `schedule`: a part of the day in which the rate is another.
type WindowConfig struct {
	Name string `koanf:"name" yaml:"name,omitempty"` // for the reader
	Days []Day  `koanf:"days" yaml:"days,omitempty"` // days on which the window begins; every day without it
	From string `koanf:"from" yaml:"from,omitempty"` // when it begins, by the clock of `tz`, such as `"08:00"`; `"00:00"` without it
	// when it ends, at most `"24:00"`, and so without it; earlier than `from` is on the next day
	To string `koanf:"to" yaml:"to,omitempty"`
	TZ string `koanf:"tz" yaml:"tz,omitempty"` // IANA name of the time zone, such as `Europe/Budapest`; that of the load without it

	Rate       float64       `koanf:"rate" yaml:"rate,omitempty"`             // requests per second; at most one of `rate`, `interval` and `multiplier`
	Interval   time.Duration `koanf:"interval" yaml:"interval,omitempty"`     // time between requests, on average
	Multiplier float64       `koanf:"multiplier" yaml:"multiplier,omitempty"` // the rate outside of windows times this
	Mode       Mode          `koanf:"mode" yaml:"mode,omitempty"`             // `constant`, `poisson` or `gamma` instead of the one of the load
	Enabled    *bool         `koanf:"enabled" yaml:"enabled,omitempty"`       // `false`: no requests; `true` without it
}
