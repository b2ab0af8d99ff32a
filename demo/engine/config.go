package engine

import (
	"math"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Config describes the machine and the model that are imitated.
type Config struct {
	// MaxRunning is how many sequences a batch may hold; the others wait.
	MaxRunning int
	// MaxStepTokens is how many tokens one step may compute. Longer prompts are cut into chunks.
	MaxStepTokens int
	// MaxContext is how many tokens a prompt and its answer may have together.
	MaxContext int
	// CacheTokens is how many tokens the key-value cache holds for all running sequences together.
	CacheTokens int
	// PrefixCaching keeps prompts, so that a prompt that begins like an earlier one skips that part of its prefill.
	PrefixCaching bool

	// StepTime is what a step takes whatever it computes: reading the weights, launching the kernels.
	StepTime time.Duration
	// DecodeTime is added for each sequence that is decoded in the step.
	DecodeTime time.Duration
	// PrefillTime is added for each prompt token that is computed in the step.
	PrefillTime time.Duration
	// Jitter is the standard deviation of the logarithm of a step's time; its mean stays what the fields above say. 0 = none.
	Jitter float64

	// DraftTokens is how many tokens speculative decoding guesses per step; 0 = none, each step gives one token.
	DraftTokens int
	// DraftAcceptance is the probability that a guess is right, given that those before it were.
	DraftAcceptance float64

	Background Background
}

// DefaultConfig imitates a model of 8 billion parameters on one small data-centre GPU: about 100 tokens per second alone, about 40
// in a full batch, 4,000 prompt tokens per second.
func DefaultConfig() Config {
	return Config{
		MaxRunning:    64,
		MaxStepTokens: 512,
		MaxContext:    8192,
		CacheTokens:   65536,
		PrefixCaching: true,
		StepTime:      9 * time.Millisecond,
		DecodeTime:    250 * time.Microsecond,
		PrefillTime:   250 * time.Microsecond,
		Jitter:        0.1,
	}
}

// Background is the load of other people's requests. It takes places in the batch, room in the cache and time of each step, and is
// seen in the gauges, but gives no tokens. It starts at Trough, rises to Peak in half a Period, and falls again, as a day does.
type Background struct {
	Trough, Peak float64 // running sequences
	Period       time.Duration
}

// at is the number of background sequences, since after the engine's start.
func (b Background) at(since time.Duration) float64 {
	if b.Period <= 0 {
		return b.Trough
	}
	phase := 2 * math.Pi * float64(since) / float64(b.Period)
	return b.Trough + (b.Peak-b.Trough)*(1-math.Cos(phase))/2
}

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	errs := c.validateSizes(path)
	for _, d := range []struct {
		key   string
		value time.Duration
	}{{"DecodeTime", c.DecodeTime}, {"PrefillTime", c.PrefillTime}, {"Background.Period", c.Background.Period}} {
		if d.value < 0 {
			errs = append(errs, invalid.Key(path+"."+d.key, "must be >= 0, got %v", d.value))
		}
	}
	if c.StepTime <= 0 {
		errs = append(errs, invalid.Key(path+".StepTime", "must be > 0, got %v", c.StepTime))
	}
	if !(c.Jitter >= 0 && c.Jitter <= 1) {
		errs = append(errs, invalid.Key(path+".Jitter", "must be between 0 and 1, got %v", c.Jitter))
	}
	if c.DraftTokens < 0 {
		errs = append(errs, invalid.Key(path+".DraftTokens", "must be >= 0, got %d", c.DraftTokens))
	}
	if !(c.DraftAcceptance >= 0 && c.DraftAcceptance <= 1) {
		errs = append(errs, invalid.Key(path+".DraftAcceptance", "must be between 0 and 1, got %v", c.DraftAcceptance))
	}
	return append(errs, c.Background.validate(path+".Background")...)
}

func (c *Config) validateSizes(path string) []error {
	var errs []error
	if c.MaxRunning <= 0 {
		errs = append(errs, invalid.Key(path+".MaxRunning", "must be > 0, got %d", c.MaxRunning))
	}
	if c.MaxStepTokens < c.MaxRunning {
		errs = append(errs, invalid.Key(path+".MaxStepTokens", "must be >= MaxRunning (%d), so that each running sequence advances in "+
			"each step, got %d", c.MaxRunning, c.MaxStepTokens))
	}
	if c.MaxContext < 2 {
		errs = append(errs, invalid.Key(path+".MaxContext", "must be >= 2 (a prompt and an answer), got %d", c.MaxContext))
	}
	if c.CacheTokens < c.MaxContext {
		errs = append(errs, invalid.Key(path+".CacheTokens", "must be >= MaxContext (%d), so that each sequence can run, got %d",
			c.MaxContext, c.CacheTokens))
	}
	return errs
}

func (b Background) validate(path string) []error {
	var errs []error
	if !(b.Trough >= 0) || math.IsInf(b.Trough, 0) {
		errs = append(errs, invalid.Key(path+".Trough", "must be >= 0, got %v", b.Trough))
	}
	if b.Period > 0 && (!(b.Peak >= b.Trough) || math.IsInf(b.Peak, 0)) {
		errs = append(errs, invalid.Key(path+".Peak", "must be >= Trough (%v), got %v", b.Trough, b.Peak))
	}
	if b.Period == 0 && b.Peak != 0 {
		errs = append(errs, invalid.Key(path+".Period", "must be > 0 when Peak is set"))
	}
	return errs
}
