package load

import (
	"math/rand/v2"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// CancelConfig lets some requests be given up on purpose, as users do who close the page.
type CancelConfig struct {
	Percent float64       `koanf:"percent" yaml:"percent,omitempty"` // share of the requests that are cancelled on purpose, 0 to 100
	After   time.Duration `koanf:"after" yaml:"after,omitempty"`     // time from the moment a request is written to its cancellation; 0 is at once
}

// Validate finds what is wrong, by key below path.
func (c *CancelConfig) Validate(path string) []error {
	var errs []error
	if !(c.Percent >= 0 && c.Percent <= 100) { // so written, NaN is wrong too
		errs = append(errs, invalid.Key(path+".percent", "must be between 0 and 100, got %v", c.Percent))
	}
	if c.After < 0 {
		errs = append(errs, invalid.Key(path+".after", "must be >= 0, got %v", c.After))
	}
	return errs
}

// Cancellation decides which requests of a target are cancelled. Not safe for concurrent use.
type Cancellation struct {
	random *rand.Rand
	share  float64
	after  time.Duration
}

// NewCancellation makes the decisions of a validated c, which follow from the seed.
func NewCancellation(c *CancelConfig, root uint64, target string) *Cancellation {
	return &Cancellation{
		random: rand.New(rand.NewChaCha8(seed.Derive(root, "load.cancel", target))),
		share:  c.Percent / 100,
		after:  c.After,
	}
}

// Next decides about the next request: whether it is cancelled, and how long after it was written.
func (c *Cancellation) Next() (after time.Duration, cancel bool) {
	return c.after, c.random.Float64() < c.share
}
