package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
)

const (
	maxPool         = 10_000
	maxBatch        = 2048
	maxPassages     = 10_000
	maxPrompts      = 10_000
	maxSystemPrompt = 1 << 20 // bytes
	// maxTurns bounds conversations, whose history grows with each turn.
	maxTurns = 10_000
)

// Validate finds what is wrong, by key below path. Files are not opened: New does.
func (c *Config) Validate(path string) []error {
	f := findings{path: path}
	f.errs = append(f.errs, c.InputTokens.validate(path+".input_tokens", "tokens")...)
	f.errs = append(f.errs, c.OutputTokens.validate(path+".output_tokens", "tokens")...)
	f.errs = append(f.errs, c.Sequence.validate(path+".sequence")...)
	f.errs = append(f.errs, c.RangeRatio.validate(path+".range_ratio")...)
	f.errs = append(f.errs, c.Turns.validate(path+".turns", "turns")...)
	f.errs = append(f.errs, c.TurnDelay.validate(path+".turn_delay")...)
	if !c.Cache.Valid() {
		f.wrongf(".cache", "unknown cache %q, must be %s, %s or %s", c.Cache, CacheBust, CacheSharedPrefix, CacheRepeat)
	}
	if !c.Corpus.Valid() {
		f.wrongf(".corpus", "unknown corpus %q, must be %s, %s or %s", c.Corpus, CorpusWords, CorpusText, CorpusCode)
	}
	c.validateNumbers(&f)
	c.validateTexts(&f)
	if c.Tokenizer.File != "" && c.Tokenizer.Server {
		f.wrongf(".tokenizer.server", "excludes file")
	}
	f.errs = append(f.errs, c.Images.Validate(path+".images")...)
	f.errs = append(f.errs, c.Audio.Validate(path+".audio")...)
	f.errs = append(f.errs, c.Video.Validate(path+".video")...)
	if c.Dataset.Enabled() {
		f.errs = append(f.errs, c.Dataset.Validate(path+".dataset")...)
	}
	if len(f.errs) == 0 {
		c.validateTogether(&f)
	}
	return f.errs
}

// validateNumbers checks what is a single number.
func (c *Config) validateNumbers(f *findings) {
	for _, n := range []struct {
		key, zero         string
		value, least, top int
	}{
		{".prefix.shared_tokens", " (none)", c.Prefix.SharedTokens, 0, maxTokens},
		{".prefix.per_session_tokens", " (none)", c.Prefix.PerSessionTokens, 0, maxTokens},
		{".prefix.pool.size", " (none)", c.Prefix.Pool.Size, 0, maxPool},
		{".prefix.pool.tokens", "", c.Prefix.Pool.Tokens, 0, maxTokens},
		{".max_context_tokens", " (no bound)", c.MaxContextTokens, 0, maxTokens},
		{".batch", "", c.Batch, 1, maxBatch},
		{".passages.count", " (none)", c.Passages.Count, 0, maxPassages},
		{".passages.tokens", "", c.Passages.Tokens, 1, maxTokens},
	} {
		if n.value < n.least || n.value > n.top {
			f.wrongf(n.key, "must be between %d%s and %d, got %d", n.least, n.zero, n.top, n.value)
		}
	}
	pool := c.Prefix.Pool
	if (pool.Size == 0) != (pool.Tokens == 0) {
		f.wrongf(".prefix.pool", "needs both size and tokens")
	}
	if n := pool.Size * pool.Tokens; n > maxTokens {
		f.wrongf(".prefix.pool", "must hold at most %d tokens in all, got %d", maxTokens, n)
	}
	if pool.Size > 0 && c.Prefix.SharedTokens+c.Prefix.PerSessionTokens > 0 {
		f.wrongf(".prefix.pool", "excludes shared_tokens and per_session_tokens")
	}
	if c.Turns.expected() > maxTurns {
		f.wrongf(".turns", "mean must be at most %d turns, got %v", maxTurns, c.Turns.expected())
	}
}

// validateTexts checks what the user writes for the model.
func (c *Config) validateTexts(f *findings) {
	if c.SystemPrompt != "" && c.SystemPromptFile != "" {
		f.wrongf(".system_prompt_file", "excludes system_prompt")
	}
	if len(c.SystemPrompt) > maxSystemPrompt {
		f.wrongf(".system_prompt", "must be at most %d bytes, got %d", maxSystemPrompt, len(c.SystemPrompt))
	}
	if len(c.Prompts) > maxPrompts {
		f.wrongf(".prompts", "must be at most %d texts, got %d", maxPrompts, len(c.Prompts))
	}
	for i, p := range c.Prompts {
		if p == "" {
			f.wrongf(at(".prompts", i), "must not be empty")
		}
	}
	if _, err := json.Marshal(c.Extra); err != nil {
		f.wrongf(".extra", "cannot be written as JSON: %v", err)
	}
}

// validateTogether finds keys that contradict each other.
func (c *Config) validateTogether(f *findings) {
	var (
		sequence  = len(c.Sequence) > 0
		fixed     = c.InputTokens.fixed() && c.OutputTokens.fixed()
		given     = len(c.Prompts) > 0 || c.Dataset.Enabled()
		many      = c.Passages.Count > 0 || c.Batch > 1
		varied    = sequence || c.RangeRatio.on()
		turns     = c.conversations()
		prefix    = c.Prefix != Prefix{}
		media     = c.Images.Count > 0 || c.Audio.Count > 0 || len(c.Video.Files) > 0
		uncounted = c.Passages.Count == 0 && c.Passages != DefaultConfig().Passages
	)
	for _, conflict := range []struct {
		key    string
		wrong  []bool // all of them together
		reason string
	}{
		{".sequence", []bool{sequence, c.ownLengths()}, "excludes input_tokens and output_tokens"},
		{".sequence", []bool{sequence, c.RangeRatio.on()}, "excludes range_ratio"},
		{".range_ratio", []bool{c.RangeRatio.on(), !fixed}, "needs a plain number in input_tokens and output_tokens"},
		{".prompts", []bool{len(c.Prompts) > 0, c.Dataset.Enabled()}, "excludes dataset"},
		{".prompts", []bool{len(c.Prompts) > 0, varied}, "excludes sequence and range_ratio"},
		{".turns", []bool{turns, given}, "is for made-up prompts, without prompts and dataset"},
		{".turns", []bool{turns, many}, "excludes passages and batch"},
		{".turn_delay", []bool{c.TurnDelay != Delay{}, !turns}, "needs turns"},
		{".passages", []bool{uncounted}, "needs count"},
		{".passages", []bool{c.Passages.Count > 0, c.Batch > 1}, "excludes batch"},
		{".passages", []bool{c.Passages.Count > 0, given}, "is for made-up prompts, without prompts and dataset"},
		{".batch", []bool{c.Batch > 1, given}, "is for made-up prompts, without prompts and dataset"},
		{".prefix", []bool{prefix, many}, "excludes passages and batch"},
		{".cache", []bool{c.Cache == CacheSharedPrefix, !c.shares()}, "shared_prefix needs prefix.shared_tokens, prefix.pool, system_prompt or system_prompt_file"},
		{".images", []bool{media, c.Dataset.Enabled()}, "media are for made-up prompts and prompts, without dataset"},
		{".images", []bool{media, many}, "media exclude passages and batch"},
	} {
		if !slices.Contains(conflict.wrong, false) {
			f.wrongf(conflict.key, "%s", conflict.reason)
		}
	}
}

// ownLengths tells whether the file has lengths of its own beside those of a sequence. One that is written as the default is not seen.
func (c *Config) ownLengths() bool {
	d := DefaultConfig()
	return !reflect.DeepEqual(c.InputTokens, d.InputTokens) || !reflect.DeepEqual(c.OutputTokens, d.OutputTokens)
}

// shares tells whether there is something that all conversations begin with.
func (c *Config) shares() bool {
	return c.Prefix.SharedTokens > 0 || c.Prefix.Pool.Size > 0 || c.SystemPrompt != "" || c.SystemPromptFile != ""
}

// systemPrompt is the text, from wherever the configuration has it.
func (c *Config) systemPrompt() (string, error) {
	if c.SystemPromptFile == "" {
		return c.SystemPrompt, nil
	}
	file, err := os.Open(c.SystemPromptFile)
	if err != nil {
		return "", fmt.Errorf("system_prompt_file: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSystemPrompt+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("system_prompt_file %s: %w", c.SystemPromptFile, err)
	}
	if len(text) > maxSystemPrompt {
		return "", fmt.Errorf("system_prompt_file %s: is longer than %d bytes", c.SystemPromptFile, maxSystemPrompt)
	}
	return string(text), nil
}
