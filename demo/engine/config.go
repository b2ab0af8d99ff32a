package engine

import (
	"math"
	"time"
)

// Config describes the machine and the model that are imitated.
type Config struct {
	// MaxRunning is how many sequences a batch may hold; the others wait.
	MaxRunning int
	// MaxStepTokens is how many tokens one step may compute, MaxRunning at least. Longer prompts are cut into chunks.
	MaxStepTokens int
	// MaxContext is how many tokens a prompt and its answer may have together.
	MaxContext int
	// CacheTokens is how many tokens the key-value cache holds for all running sequences together, MaxContext at least.
	CacheTokens int

	// StepTime is what a step takes whatever it computes: reading the weights, launching the kernels.
	StepTime time.Duration
	// DecodeTime is added for each sequence that is decoded in the step.
	DecodeTime time.Duration
	// PrefillTime is added for each prompt token that is computed in the step.
	PrefillTime time.Duration
	// Jitter is the standard deviation of the logarithm of a step's time; its mean stays what the fields above say. 0 = none.
	Jitter float64

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
