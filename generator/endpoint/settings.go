package endpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/jmespath/go-jmespath"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// validateSettings checks the keys that only some protocols have.
func (c *Config) validateSettings(path string) []error {
	var errs []error
	for _, s := range []struct {
		key, value string
		types      []Type
		check      func(string) error
	}{
		{"cumulative", string(c.Cumulative), []Type{TritonGenerate, Generate}, oneOf(CumulativeAuto, CumulativeAlways, CumulativeNever)},
		{"tensors", string(c.Tensors), []Type{KServe}, oneOf(TensorsTRTLLM, TensorsVLLM)},
		{"template", c.Template, []Type{Template}, validateTemplate},
		{"response_field", c.ResponseField, []Type{Raw, Template}, validateExpression},
	} {
		if s.value == "" {
			continue
		}
		err := fmt.Errorf("is only for endpoint type %s", joinNames(s.types, " and "))
		if slices.Contains(s.types, c.Type) {
			err = s.check(s.value)
		}
		if err != nil {
			errs = append(errs, invalid.Key(path+"."+s.key, "%v", err))
		}
	}
	if c.Type == Template && c.Template == "" {
		errs = append(errs, invalid.Key(path+".template", "is required, it makes the bodies of the requests"))
	}
	return errs
}

// oneOf makes the check of a value that must be one of these.
func oneOf[T ~string](values ...T) func(string) error {
	return func(v string) error {
		if slices.Contains(values, T(v)) {
			return nil
		}
		return fmt.Errorf("must be one of %s, got %q", joinNames(values, ", "), v)
	}
}

func joinNames[T ~string](names []T, separator string) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = string(name)
	}
	return strings.Join(words, separator)
}

func validateTemplate(source string) error {
	_, err := parseTemplate(source)
	return err
}

// validateExpression checks a JMESPath. The library panics at the control character U+0080.
func validateExpression(expression string) error {
	if strings.ContainsFunc(expression, unicode.IsControl) {
		return errors.New("must not have control characters")
	}
	_, err := jmespath.Compile(expression)
	if syntax, ok := errors.AsType[jmespath.SyntaxError](err); ok {
		return fmt.Errorf("is not a JMESPath: syntax error at character %d", syntax.Offset+1) // its own words name tokens of the parser
	}
	return err
}
