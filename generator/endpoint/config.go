package endpoint

import (
	"slices"
	"strings"
	"unicode"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// The wire protocols.
const (
	Chat        Type = "chat"
	Completions Type = "completions"
)

// planned are the types that people know from other tools and may expect here. They get an answer of their own, so that nobody looks
// for a spelling mistake.
var planned = []Type{
	"responses", "messages", "embeddings", "chat_embeddings", "nim_embeddings", "nim_rankings", "cohere_rankings", "hf_tei_rankings",
	"huggingface_generate", "image_generation", "image_edit", "video_generation", "image_retrieval", "audio_transcription",
	"solido_rag", "raw", "template", "triton_generate", "kserve", "nvclip", "multimodal", "vision", "rankings",
}

// DefaultConfig has no type: a target must say which protocol its server speaks.
func DefaultConfig() Config { return Config{MaxTokensField: FieldAuto} }

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	var errs []error
	if err := c.validateType(path + ".type"); err != nil {
		errs = append(errs, err)
	}
	if err := validatePath(path+".path", c.Path); err != nil {
		errs = append(errs, err)
	}
	switch c.MaxTokensField {
	case FieldAuto, FieldMaxTokens:
	case FieldMaxCompletionTokens:
		if c.Type == Completions {
			errs = append(errs, invalid.Key(path+".max_tokens_field", "the completions protocol only knows max_tokens"))
		}
	default:
		errs = append(errs, invalid.Key(path+".max_tokens_field", "must be one of auto, max_tokens, max_completion_tokens, got %q",
			c.MaxTokensField))
	}
	return errs
}

func (c *Config) validateType(path string) error {
	switch {
	case c.Type == "":
		return invalid.Key(path, "is required, use one of %s", typeNames())
	case constructor(c.Type) != nil:
		return nil
	case slices.Contains(planned, c.Type):
		return invalid.Key(path, "endpoint type %q is not available in this version, use one of %s", c.Type, typeNames())
	}
	return invalid.Key(path, "unknown endpoint type %q, use one of %s", c.Type, typeNames())
}

// validatePath checks a path that replaces the protocol's own; "" is none.
func validatePath(path, value string) error {
	switch {
	case value == "":
		return nil
	case !strings.HasPrefix(value, "/"):
		return invalid.Key(path, `must start with "/", got %q`, value)
	case strings.ContainsAny(value, "?#"):
		return invalid.Key(path, "must not have a query or a fragment, a query belongs to the target's url")
	case strings.ContainsFunc(value, notInURL):
		return invalid.Key(path, "must not have white space or control characters, got %q", value)
	}
	if _, err := escapePath(value); err != nil {
		return invalid.Key(path, "%v", err)
	}
	return nil
}

func notInURL(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
