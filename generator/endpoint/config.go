package endpoint

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// The wire protocols.
const (
	Chat        Type = "chat"
	Completions Type = "completions"
	Responses   Type = "responses"
	Messages    Type = "messages"
	Multimodal  Type = "multimodal" // another name of chat
	Vision      Type = "vision"     // another name of chat
)

// planned are the types that people know from other tools and may expect here. They get an answer of their own, so that nobody looks
// for a spelling mistake.
var planned = []Type{"video_generation", "dynamic_grpc", "tensorrtllm_engine"}

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
	errs = append(errs, c.validateParams(path+".url_params")...)
	if err := c.validateLimitField(path + ".max_tokens_field"); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, c.validateAbilities(path)...)
	errs = append(errs, c.validateSettings(path)...)
	if _, err := json.Marshal(c.Extra); err != nil {
		errs = append(errs, invalid.Key(path+".extra", "cannot be sent as JSON: %v", err))
	}
	return append(errs, c.validateHeaders(path)...)
}

// limitFields are the fields for the output limit among which users of a type can choose. All other types have one of their own.
var limitFields = map[Type][]MaxTokensField{
	Chat:        {FieldMaxTokens, FieldMaxCompletionTokens},
	Multimodal:  {FieldMaxTokens, FieldMaxCompletionTokens},
	Vision:      {FieldMaxTokens, FieldMaxCompletionTokens},
	Completions: {FieldMaxTokens},
	Messages:    {FieldMaxTokens},
}

func (c *Config) validateLimitField(path string) error {
	switch c.MaxTokensField {
	case FieldAuto:
		return nil
	case FieldMaxTokens, FieldMaxCompletionTokens:
		if c.known() && !slices.Contains(limitFields[c.Type], c.MaxTokensField) {
			return invalid.Key(path, "the %s protocol does not know %s, leave it at auto", c.Type, c.MaxTokensField)
		}
		return nil
	}
	return invalid.Key(path, "must be one of auto, max_tokens, max_completion_tokens, got %q", c.MaxTokensField)
}

// The types whose servers can do what a key asks for.
var (
	continuousUsageTypes = []Type{Chat, Multimodal, Vision, Completions}
	ignoreEOSTypes       = []Type{Chat, Multimodal, Vision, Completions, TritonGenerate, Generate, KServe}
)

func (c *Config) validateAbilities(path string) []error {
	var errs []error
	for _, key := range []struct {
		name  string
		set   bool
		types []Type
	}{
		{".continuous_usage", c.ContinuousUsage, continuousUsageTypes},
		{".ignore_eos", c.IgnoreEOS, ignoreEOSTypes},
	} {
		if key.set && c.known() && !slices.Contains(key.types, c.Type) {
			errs = append(errs, invalid.Key(path+key.name, "the %s protocol cannot ask for that", c.Type))
		}
	}
	return errs
}

// known tells that the type is one of ours, so that other keys can be held against it.
func (c *Config) known() bool { return constructor(c.Type) != nil }

func (c *Config) validateParams(path string) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.URLParams)) {
		if name == "" || strings.ContainsFunc(name+c.URLParams[name], unicode.IsControl) {
			errs = append(errs, invalid.Key(path+"."+name, "must have a name, and no control characters"))
		}
	}
	return errs
}

func (c *Config) validateType(path string) error {
	switch {
	case c.Type == "":
		return invalid.Key(path, "is required, use one of %s", typeNames())
	case c.known():
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
