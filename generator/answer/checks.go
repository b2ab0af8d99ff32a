package answer

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Answer is a whole answer as the checks see it.
type Answer struct {
	*Transcript

	// OutputTokens is how many tokens were generated, reasoning included; negative = not known.
	OutputTokens int64
	Finish       metrics.FinishReason
	// Offered are the tools of the request as it has them, a JSON array of definitions; nil = none, or not known.
	Offered json.RawMessage
}

// Failure is one thing that an answer should have been and was not.
type Failure struct {
	Check Check
	// Detail says what is wrong, for a log: at most 256 bytes of what was expected and where, never what the answer says.
	Detail string
}

const maxDetailBytes = 256

// Checks judge answers. They are safe for concurrent use.
type Checks struct{ judges []judge }

// judge is one check that was asked for. holds says what is wrong, "" = nothing.
type judge struct {
	check Check
	holds func(*Answer) string
}

// maker makes the check that one key asks for.
type maker struct {
	key    string
	check  Check
	wanted func(*Expect) bool
	make   func(*Expect) (func(*Answer) string, error)
}

// makers has one line for each key.
var makers = []maker{
	{"contains", CheckContains, func(e *Expect) bool { return e.Contains != "" }, newContains},
	{"regex", CheckRegex, func(e *Expect) bool { return e.Regex != "" }, newRegex},
	{"json_schema", CheckJSONSchema, func(e *Expect) bool { return e.JSONSchema != nil }, newJSONSchema},
	{"json_schema_file", CheckJSONSchema, func(e *Expect) bool { return e.JSONSchemaFile != "" }, newJSONSchemaFile},
	{"min_tokens", CheckMinTokens, func(e *Expect) bool { return e.MinTokens != 0 }, newMinTokens},
	{"max_tokens", CheckMaxTokens, func(e *Expect) bool { return e.MaxTokens != 0 }, newMaxTokens},
	{"finish_reason", CheckFinishReason, func(e *Expect) bool { return len(e.FinishReason) > 0 }, newFinishReason},
	{"tool_call", CheckToolCall, func(e *Expect) bool { return e.ToolCall != nil }, newToolCall},
	{"no_repetition", CheckNoRepetition, func(e *Expect) bool { return e.NoRepetition }, newNoRepetition},
	{"no_garbage", CheckNoGarbage, func(e *Expect) bool { return e.NoGarbage }, newNoGarbage},
}

// Kinds are the checks that the entries of a list ask for, each once, in the order of AllChecks.
func Kinds(entries []Expect) []Check {
	asked := map[Check]bool{}
	for i := range entries {
		for j := range makers {
			if makers[j].wanted(&entries[i]) {
				asked[makers[j].check] = true
			}
		}
	}
	var out []Check
	for _, check := range AllChecks {
		if asked[check] {
			out = append(out, check)
		}
	}
	return out
}

// NewChecks makes the checks that the entries of a list ask for, all of which must hold. It reads the files that they name.
func NewChecks(entries []Expect) (*Checks, error) {
	c := &Checks{}
	var errs []error
	for i := range entries {
		for j := range makers {
			m := &makers[j]
			if !m.wanted(&entries[i]) {
				continue
			}
			holds, err := m.make(&entries[i])
			if err != nil {
				errs = append(errs, fmt.Errorf("expect[%d].%s: %w", i, m.key, err))
				continue
			}
			c.judges = append(c.judges, judge{m.check, holds})
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return c, nil
}

// Empty tells that nothing is expected, so that nobody has to look at an answer.
func (c *Checks) Empty() bool { return len(c.judges) == 0 }

// Judge gives what is wrong with an answer, in the order of the entries; nil if everything holds. The work is linear in the answer.
func (c *Checks) Judge(a *Answer) []Failure {
	var out []Failure
	for i := range c.judges {
		if wrong := c.judges[i].holds(a); wrong != "" {
			out = append(out, Failure{c.judges[i].check, cut(wrong, maxDetailBytes)})
		}
	}
	return out
}
