// Package workload decides WHAT is asked: prompts of a wished length, recorded conversations or fixed questions, and how long the answer
// may be. It knows nothing about wire formats; the endpoint says it in its protocol's words.
package workload

import (
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/media"
)

// Cache says how prompts relate to the server's prefix cache.
type Cache string

// The choices of cache.
const (
	// CacheBust puts a fresh number at the very beginning of each conversation, so that no prefix cache can answer.
	CacheBust Cache = "bust"
	// CacheSharedPrefix puts the fresh number behind what all conversations share (`system_prompt`, `prefix.shared_tokens`, `prefix.pool`), so
	// that a prefix cache can answer exactly that.
	CacheSharedPrefix Cache = "shared_prefix"
	// CacheRepeat sends the same prompt each time, once the first answers have taught its length, so that a prefix cache can answer all of it.
	CacheRepeat Cache = "repeat"
)

// Valid tells whether the choice is one of the list.
func (c Cache) Valid() bool { return c == CacheBust || c == CacheSharedPrefix || c == CacheRepeat }

// Config is one entry under `workloads:`.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	// Length of prompts by the server's own count, chat template included: it is learned from the usage of answers. In a conversation it is
	// that of each further message.
	InputTokens  Length `koanf:"input_tokens" yaml:"input_tokens"`
	OutputTokens Length `koanf:"output_tokens" yaml:"output_tokens"` // most tokens that an answer may have, reasoning included
	// Mix of pairs of lengths, in place of the two above: a list of `input_tokens`, `output_tokens` and `weight` (default 1), or a text of
	// percentages with standard deviations behind a bar, `128|10,64|5:40;512,128:60`.
	Sequence Sequence `koanf:"sequence" yaml:"sequence,omitempty"`
	// Draws lengths uniformly around the two numbers above: a ratio, or a map of `input`, `output` and `style`. In the `style` of `vllm` (default)
	// from mean*(1-ratio) to mean*(1+ratio), rounded outwards; in that of `sglang` from mean*ratio to the mean.
	RangeRatio RangeRatio `koanf:"range_ratio" yaml:"range_ratio,omitempty"`
	Stream     bool       `koanf:"stream" yaml:"stream"` // ask for a stream; without one there is no time to first token
	// What a prefix cache of the server may answer. Measure two workloads that differ in nothing else beside each other: with `repeat` the
	// time to first token has to be lower.
	Cache  Cache  `koanf:"cache" yaml:"cache"`
	Corpus Corpus `koanf:"corpus" yaml:"corpus"` // what made-up prompts consist of
	Prefix Prefix `koanf:"prefix" yaml:"prefix,omitempty"`
	// Text that opens every conversation, beside input_tokens. It stands before the system prompt of a dataset.
	SystemPrompt     string `koanf:"system_prompt" yaml:"system_prompt,omitempty"`
	SystemPromptFile string `koanf:"system_prompt_file" yaml:"system_prompt_file,omitempty"` // file with that text, at most 1 MiB
	// Turns of a conversation, a number or a map like input_tokens. An arrival takes the oldest conversation whose next turn is due and begins
	// a new one if there is none, so that the rate stays that of the load. Further turns repeat what was said before, answers without
	// reasoning. A failed turn ends its conversation.
	Turns Length `koanf:"turns" yaml:"turns"`
	// Think time between an answer and the next turn of its conversation: a duration, or a map of `mean`, `stddev` or `median`, and `max`.
	TurnDelay Delay `koanf:"turn_delay" yaml:"turn_delay,omitempty"`
	// Conversations end early rather than need a longer context, prompt and answer together; 0 = no bound.
	MaxContextTokens int `koanf:"max_context_tokens" yaml:"max_context_tokens,omitempty"`
	// Texts that are asked in turn, in place of made-up prompts. With `cache: repeat` they are sent as they stand here.
	Prompts []string `koanf:"prompts" yaml:"prompts,omitempty"`
	// Recorded conversations, in place of made-up prompts. The fresh number of `cache: bust` stands in front of each of them, but is the same for a
	// whole pass over a trace of `hash_ids`; recorded bodies are sent as they are.
	Dataset dataset.Config `koanf:"dataset" yaml:"dataset,omitempty"`
	// Gives prompts the wished length from the first one on.
	Tokenizer TokenizerConfig `koanf:"tokenizer" yaml:"tokenizer,omitempty"`
	Batch     int             `koanf:"batch" yaml:"batch"` // texts of input_tokens tokens in one request, for embeddings
	Passages  Passages        `koanf:"passages" yaml:"passages,omitempty"`
	Images    media.Images    `koanf:"images" yaml:"images,omitempty"`
	Audio     media.Audio     `koanf:"audio" yaml:"audio,omitempty"`
	Video     media.Video     `koanf:"video" yaml:"video,omitempty"`
	// Fields for the top level of the body of each request, such as `temperature`. They replace the exporter's own fields of that name.
	Extra map[string]any `koanf:"extra" yaml:"extra,omitempty"`
}

// TokenizerConfig is where the tokenizer of the served model is. Without one, lengths are learned from the usage of answers.
type TokenizerConfig struct {
	// The model's `tokenizer.json`, of byte-level BPE: GPT-2, Llama 3, Qwen, DeepSeek, gpt-oss and their like; others are refused. It costs about
	// 30 MB of memory, and a millisecond of CPU for each hundred tokens of a prompt. Answers are counted by it, too, where the server tells no
	// usage.
	File string `koanf:"file" yaml:"file,omitempty"`
	// Asks the server itself before the first request how long a few texts are: `POST /tokenize` of vLLM, SGLang, llama.cpp or TGI. It takes
	// no other part in the load; where it does not answer, lengths are learned as without it.
	Server bool `koanf:"server" yaml:"server,omitempty"`
}

// Prefix is text in front of made-up prompts, beside input_tokens.
type Prefix struct {
	SharedTokens     int  `koanf:"shared_tokens" yaml:"shared_tokens,omitempty"`           // tokens of a system prompt that all conversations share; 0 = none
	PerSessionTokens int  `koanf:"per_session_tokens" yaml:"per_session_tokens,omitempty"` // tokens in front of the first message, others for each conversation; 0 = none
	Pool             Pool `koanf:"pool" yaml:"pool,omitempty"`
}

// Pool is a few prefixes of which each conversation begins with one, at random. It excludes the two other kinds.
type Pool struct {
	Size   int `koanf:"size" yaml:"size,omitempty"`     // how many prefixes there are, at most 10 000; 0 = none
	Tokens int `koanf:"tokens" yaml:"tokens,omitempty"` // tokens of each of them
}

// Passages are what a ranking compares with its query, which has input_tokens tokens.
type Passages struct {
	Count  int `koanf:"count" yaml:"count,omitempty"` // passages in each request, for rankings; 0 = none
	Tokens int `koanf:"tokens" yaml:"tokens"`         // tokens of each of them
}

// DefaultConfig is what an absent block means: small enough for a canary that runs all day.
func DefaultConfig() Config {
	return Config{
		InputTokens:  Length{Mean: 128},
		OutputTokens: Length{Mean: 64},
		RangeRatio:   RangeRatio{Style: RangeVLLM},
		Stream:       true,
		Cache:        CacheBust,
		Corpus:       CorpusWords,
		Turns:        Length{Mean: 1},
		Dataset:      dataset.DefaultConfig(),
		Batch:        1,
		Passages:     Passages{Tokens: 128},
		Images:       media.DefaultImages(),
		Audio:        media.DefaultAudio(),
	}
}

// conversations tells whether conversations may have several turns.
func (c *Config) conversations() bool { return !c.Turns.fixed() || c.Turns.Mean > 1 }

// MeanTurns is how many turns a made-up conversation has on average.
func (c *Config) MeanTurns() float64 { return c.Turns.expected() }

// Converses tells whether there may be conversations of several turns.
func (c *Config) Converses() bool { return c.conversations() || c.Dataset.Enabled() }

// IsZero tells that nothing is ranked, for printing.
func (p Passages) IsZero() bool { return p.Count == 0 }
