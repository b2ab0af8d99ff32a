package answer

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// maxQuoted bounds what a detail repeats of an expectation, in bytes.
const maxQuoted = 64

// newContains looks for a text. Without case it is a regular expression, which folds every script without a copy of the answer.
func newContains(e *Expect) (func(*Answer) string, error) {
	wrong := fmt.Sprintf("does not contain %q", cut(e.Contains, maxQuoted))
	if e.IgnoreCase {
		return matches("(?i)"+regexp.QuoteMeta(e.Contains), wrong)
	}
	needle := []byte(e.Contains)
	return func(a *Answer) string {
		if bytes.Contains(a.Text, needle) {
			return ""
		}
		return wrong
	}, nil
}

func newRegex(e *Expect) (func(*Answer) string, error) {
	pattern := e.Regex
	if e.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	return matches(pattern, fmt.Sprintf("does not match %q", cut(e.Regex, maxQuoted)))
}

func matches(pattern, wrong string) (func(*Answer) string, error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return func(a *Answer) string {
		if expression.Match(a.Text) {
			return ""
		}
		return wrong
	}, nil
}

var errNotPositive = errors.New("must be > 0, leave the key out if it is not wanted")

func newMinTokens(e *Expect) (func(*Answer) string, error) {
	least := int64(e.MinTokens)
	if least < 0 {
		return nil, errNotPositive
	}
	return func(a *Answer) string {
		if a.OutputTokens < 0 || a.OutputTokens >= least {
			return ""
		}
		return fmt.Sprintf("has %d tokens, should have at least %d", a.OutputTokens, least)
	}, nil
}

func newMaxTokens(e *Expect) (func(*Answer) string, error) {
	most := int64(e.MaxTokens)
	if most < 0 {
		return nil, errNotPositive
	}
	return func(a *Answer) string {
		if a.OutputTokens <= most {
			return ""
		}
		return fmt.Sprintf("has %d tokens, should have at most %d", a.OutputTokens, most)
	}, nil
}

func newFinishReason(e *Expect) (func(*Answer) string, error) {
	allowed := slices.Clone(e.FinishReason)
	for _, reason := range allowed {
		if !slices.Contains(metrics.FinishReasons, reason) {
			return nil, fmt.Errorf("unknown finish reason %q, use stop, length, tool_calls, content_filter or other", cut(string(reason), maxQuoted))
		}
	}
	return func(a *Answer) string {
		if slices.Contains(allowed, a.Finish) {
			return ""
		}
		return fmt.Sprintf("ended with %q, should end with one of %q", cut(string(a.Finish), maxQuoted), allowed)
	}, nil
}

// cut shortens s to at most limit bytes, at a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const dots = "…"
	end := limit - len(dots)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.ToValidUTF8(s[:end], "") + dots
}
