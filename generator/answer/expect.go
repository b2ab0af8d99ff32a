package answer

import (
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Check names what an answer failed. It is the only thing about such a failure that may become a label.
type Check string

// The checks, each by the key that asks for it.
const (
	CheckContains     Check = "contains"
	CheckRegex        Check = "regex"
	CheckJSONSchema   Check = "json_schema" // also of json_schema_file
	CheckMinTokens    Check = "min_tokens"
	CheckMaxTokens    Check = "max_tokens"
	CheckFinishReason Check = "finish_reason"
	CheckToolCall     Check = "tool_call"
	CheckNoRepetition Check = "no_repetition"
	CheckNoGarbage    Check = "no_garbage"
)

// AllChecks is the closed list.
var AllChecks = []Check{
	CheckContains, CheckRegex, CheckJSONSchema, CheckMinTokens, CheckMaxTokens, CheckFinishReason, CheckToolCall, CheckNoRepetition,
	CheckNoGarbage,
}

// Expect is one entry under `expect:` of a target, or the `expect` of a row of a dataset. Everything that is set must hold. Reasoning is
// not part of an answer, except for the last two. Nothing is checked unless it is asked for: an answer has to be kept to be looked at, and
// a load test of random weights must not fail because they talk nonsense.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Expect struct {
	// text that the answer must contain
	Contains string `koanf:"contains" yaml:"contains,omitempty" json:"contains"`
	// regular expression in Go's syntax (RE2) that must match somewhere in the answer
	Regex string `koanf:"regex" yaml:"regex,omitempty" json:"regex"`
	// upper and lower case are the same for `contains` and `regex`
	IgnoreCase bool `koanf:"ignore_case" yaml:"ignore_case,omitempty" json:"ignore_case"`
	// JSON Schema, draft 2020-12 unless its `$schema` says otherwise. The whole answer must be JSON, without a code fence around it, and
	// match. References must stay within the schema: nothing is ever loaded for it
	JSONSchema map[string]any `koanf:"json_schema" yaml:"json_schema,omitempty" json:"json_schema"`
	// file with such a schema, at most 1 MiB; not in rows of a dataset
	JSONSchemaFile string `koanf:"json_schema_file" yaml:"json_schema_file,omitempty" json:"json_schema_file"`
	// fewest output tokens, reasoning included. Not checked where the number of tokens is not known
	MinTokens int `koanf:"min_tokens" yaml:"min_tokens,omitempty" json:"min_tokens"`
	// most output tokens, likewise
	MaxTokens int `koanf:"max_tokens" yaml:"max_tokens,omitempty" json:"max_tokens"`
	// why the server may have ended the answer: `stop`, `length`, `tool_calls`, `content_filter`, `other`
	FinishReason []metrics.FinishReason `koanf:"finish_reason" yaml:"finish_reason,omitempty" json:"finish_reason"`
	// the model must call a tool, in a way that a program could follow
	ToolCall *ToolCallExpect `koanf:"tool_call" yaml:"tool_call,omitempty" json:"tool_call"`
	// the end of the answer must not be a loop: one character, phrase or paragraph over and over, or hardly a phrase that was not said
	// before. Random weights pass as long as they do not loop
	NoRepetition bool `koanf:"no_repetition" yaml:"no_repetition,omitempty" json:"no_repetition"`
	// the answer must not be what broken weights, kernels and tokenizers give: `!!!!`, punctuation without words, replacement characters
	// and bytes that are no text, control characters, words that change the script from letter to letter. Text, code, JSON and tables
	// pass in any language, and so do words without meaning
	NoGarbage bool `koanf:"no_garbage" yaml:"no_garbage,omitempty" json:"no_garbage"`
}

// ToolCallExpect is what is expected of the tool calls of an answer. There must be one, and each must name a tool of the request and have
// arguments that are a JSON object and match the schema that the request gives for that tool.
type ToolCallExpect struct {
	// tool that must be among those called
	Name string `koanf:"name" yaml:"name,omitempty" json:"name"`
	// JSON Schema of the arguments of the calls of `name`, in addition to the tool's own; like `json_schema`
	Arguments map[string]any `koanf:"arguments" yaml:"arguments,omitempty" json:"arguments"`
}

// Validate finds what is wrong, by key below path. A schema file is read.
func (e *Expect) Validate(path string) []error {
	var errs []error
	set := 0
	for i := range makers {
		m := &makers[i]
		if !m.wanted(e) {
			continue
		}
		set++
		if _, err := m.make(e); err != nil {
			errs = append(errs, invalid.Key(path+"."+m.key, "%v", err))
		}
	}
	switch {
	case set == 0:
		errs = append(errs, invalid.Key(path, "expects nothing: set at least one of contains, regex, json_schema, min_tokens, finish_reason, …"))
	case e.IgnoreCase && e.Contains == "" && e.Regex == "":
		errs = append(errs, invalid.Key(path+".ignore_case", "is of use with contains or regex only"))
	case e.MaxTokens > 0 && e.MaxTokens < e.MinTokens:
		errs = append(errs, invalid.Key(path+".max_tokens", "must not be below min_tokens (%d), got %d", e.MinTokens, e.MaxTokens))
	}
	return errs
}
