package dataset

import (
	"cmp"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Sampling says in which order conversations are asked.
type Sampling string

// The orders.
const (
	Sequential Sampling = "sequential" // as in the file, and then from its beginning
	Shuffle    Sampling = "shuffle"    // each once in a random order, and then in another one
	Random     Sampling = "random"     // any at any time
)

// Valid tells whether the order is one of the list.
func (s Sampling) Valid() bool { return s == Sequential || s == Shuffle || s == Random }

// TurnTiming says when a replay asks the turns of a session.
type TurnTiming string

// The timings.
const (
	TurnsRecorded TurnTiming = "recorded" // at their instants, but not before the answer to the turn before
	TurnsStrict   TurnTiming = "strict"   // at their instants, each on its own
	TurnsPaused   TurnTiming = "paused"   // after the answer to the turn before, by the recorded pause
)

// Valid tells whether the timing is one of the list.
func (t TurnTiming) Valid() bool { return t == TurnsRecorded || t == TurnsStrict || t == TurnsPaused }

// Config is the block `dataset` of a workload.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	Format Format `koanf:"format" yaml:"format"` // the format of the file; it is never guessed
	// The file, or a folder of files where the format allows one. Names that end in `.gz` are decompressed where the format is one of lines.
	File string `koanf:"file" yaml:"file"`
	// The order of conversations: sequential, shuffle or random. Empty = sequential, for `random_pool` shuffle.
	Sampling Sampling `koanf:"sampling" yaml:"sampling,omitempty"`
	// Rows with a longer recorded prompt are left out; 0 = no bound.
	MaxInputTokens int `koanf:"max_input_tokens" yaml:"max_input_tokens,omitempty"`
	// Longer recorded answers are shortened to this, except those of recorded bodies; 0 = no bound.
	MaxOutputTokens int `koanf:"max_output_tokens" yaml:"max_output_tokens,omitempty"`
	// Conversations that by their recorded lengths need a longer context are left out; 0 = no bound.
	MaxContextTokens int           `koanf:"max_context_tokens" yaml:"max_context_tokens,omitempty"`
	IgnoreDelays     bool          `koanf:"ignore_delays" yaml:"ignore_delays,omitempty"` // ask the turns of a conversation without a pause
	DelayCap         time.Duration `koanf:"delay_cap" yaml:"delay_cap,omitempty"`         // longer pauses between turns are shortened to this; 0 = no bound
	// Of `weka_trace`: pauses are the recorded think times, without what tools and the network took.
	ThinkTimeOnly bool `koanf:"think_time_only" yaml:"think_time_only,omitempty"`
	// Tokens that one entry of `hash_ids` stands for; 0 = as the format has it.
	BlockSize int `koanf:"block_size" yaml:"block_size,omitempty"`
	// Share of the sessions that are kept, whole sessions and always the same ones.
	SessionSampleRatio float64 `koanf:"session_sample_ratio" yaml:"session_sample_ratio,omitempty"`
	// Of `baseten_trace`: ask for answers of exactly the recorded length (`min_tokens`).
	ForceMinTokens bool `koanf:"force_min_tokens" yaml:"force_min_tokens"`
	// Of `baseten_trace`: send the recorded `hash_ids` and `block_size` to the server.
	KVHints bool `koanf:"kv_hints" yaml:"kv_hints"`
	// Of `baseten_trace`: when a replay asks the turns of a session.
	TurnTiming TurnTiming `koanf:"turn_timing" yaml:"turn_timing"`
}

// DefaultConfig is what absent keys mean. Format and file must be named.
func DefaultConfig() Config {
	return Config{SessionSampleRatio: 1, ForceMinTokens: true, KVHints: true, TurnTiming: TurnsRecorded}
}

// Enabled tells whether there is a dataset at all.
func (c *Config) Enabled() bool { return c.File != "" || c.Format != "" }

const (
	// maxTokens is beyond every context window.
	maxTokens = 10_000_000
	// maxBlock is beyond every block size of a server's cache.
	maxBlock = 65536
)

// Validate finds what is wrong, by key below path. It does not open the file: Check does.
func (c *Config) Validate(path string) []error {
	errs := c.validateFormat(path)
	wrong := func(key, format string, args ...any) {
		errs = append(errs, invalid.Key(path+"."+key, format, args...))
	}
	if c.File == "" {
		wrong("file", "must be named")
	}
	if c.Sampling != "" && !c.Sampling.Valid() {
		wrong("sampling", "must be one of %s, %s, %s, got %q", Sequential, Shuffle, Random, c.Sampling)
	}
	for _, bound := range []struct {
		key   string
		value int
	}{
		{"max_input_tokens", c.MaxInputTokens}, {"max_output_tokens", c.MaxOutputTokens}, {"max_context_tokens", c.MaxContextTokens},
	} {
		if bound.value < 0 || bound.value > maxTokens {
			wrong(bound.key, "must be between 0 (no bound) and %d tokens, got %d", maxTokens, bound.value)
		}
	}
	switch {
	case c.DelayCap < 0:
		wrong("delay_cap", "must be >= 0, got %v", c.DelayCap)
	case c.DelayCap > 0 && c.IgnoreDelays:
		wrong("delay_cap", "excludes ignore_delays")
	}
	if c.BlockSize < 0 || c.BlockSize > maxBlock {
		wrong("block_size", "must be between 0 (as the format has it) and %d tokens, got %d", maxBlock, c.BlockSize)
	}
	if !(c.SessionSampleRatio > 0 && c.SessionSampleRatio <= 1) { // so written, NaN is wrong too
		wrong("session_sample_ratio", "must be > 0 and at most 1, got %v", c.SessionSampleRatio)
	}
	return errs
}

// validateFormat checks the format, and the keys that only some formats know.
func (c *Config) validateFormat(path string) []error {
	var errs []error
	wrong := func(key, format string, args ...any) {
		errs = append(errs, invalid.Key(path+"."+key, format, args...))
	}
	switch {
	case c.Format == "":
		wrong("format", "must be named, one of %s", formatList())
	case !c.Format.Valid():
		wrong("format", "unknown format %q, must be one of %s", c.Format, formatList())
	case c.BlockSize != 0 && formats[c.Format].blockSize == 0:
		wrong("block_size", "is not used by the format %s", c.Format)
	}
	if c.ThinkTimeOnly && c.Format != WekaTrace {
		wrong("think_time_only", "is only known to the format %s", WekaTrace)
	}
	switch {
	case !c.TurnTiming.Valid():
		wrong("turn_timing", "must be one of %s, %s, %s, got %q", TurnsRecorded, TurnsStrict, TurnsPaused, c.TurnTiming)
	case c.TurnTiming != TurnsRecorded && c.Format != BasetenTrace:
		wrong("turn_timing", "is only known to the format %s", BasetenTrace)
	}
	return errs
}

// settings are a configuration with what the format has for keys that are not set.
type settings struct {
	Config
	format format
	// library is the folder of a dataset of which File is but one pool; "" = File is all.
	library string
}

func (c *Config) settings() *settings {
	out := &settings{Config: *c, format: formats[c.Format]}
	out.BlockSize = cmp.Or(out.BlockSize, out.format.blockSize)
	out.Sampling = cmp.Or(out.Sampling, out.format.sampling, Sequential)
	return out
}

// IsZero tells that there is no dataset, for printing.
func (c Config) IsZero() bool { return !c.Enabled() }
