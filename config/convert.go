package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// convert gives the value of a scalar for a type, or says what is wrong. Nothing is guessed: a quoted number is a string, and a bare
// number is no duration. Only what comes out of a variable is read as the type needs it, because the shell knows no types.
func convert(n *node, t reflect.Type) (out any, problem string) {
	expected := expectation(t)
	if n.kind != scalar {
		return nil, "must be " + expected + ", got " + n.describe()
	}
	var ok bool
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return duration(n)
	case t == reflect.TypeFor[Size]():
		return size(n)
	case t.Kind() == reflect.String:
		out, ok = str(n.value)
	case t.Kind() == reflect.Bool:
		out, ok = boolean(n.value)
	case t.Kind() == reflect.Float64:
		out, ok = float(n.value)
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		out, ok = integer(n.value)
	case t.Kind() == reflect.Uint64:
		out, ok = unsigned(n.value)
	}
	if ok {
		return out, ""
	}
	problem = "must be " + expected + ", got " + n.describe()
	if t.Kind() == reflect.String {
		problem += " (put it in quotes)"
	}
	return nil, problem
}

// expectation names what a type takes.
func expectation(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration such as 30s"
	case t == reflect.TypeFor[Size]():
		return "a size such as 16MiB"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number that is not negative"
	default:
		return "a string"
	}
}

func str(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case text:
		return v.s, true
	}
	return "", false
}

func boolean(v any) (out, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case text:
		return v.s == "true", v.s == "true" || v.s == "false"
	}
	return false, false
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case text:
		f, err := strconv.ParseFloat(v.s, 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	return 0, false
}

func integer(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case text:
		i, err := strconv.Atoi(v.s)
		return i, err == nil
	}
	return 0, false
}

func unsigned(v any) (uint64, bool) {
	switch v := v.(type) {
	case int:
		return uint64(max(v, 0)), v >= 0
	case uint64:
		return v, true
	case text:
		u, err := strconv.ParseUint(v.s, 10, 64)
		return u, err == nil
	}
	return 0, false
}

// duration reads Prometheus' syntax: 30s, 1m30s, 1d. Only 0 may stand without a unit.
func duration(n *node) (out any, problem string) {
	s, ok := str(n.value)
	switch {
	case n.value == 0:
		return time.Duration(0), ""
	case !ok:
		problem = "must be a duration such as 30s, got " + n.describe()
		if _, isNumber := float(n.value); isNumber {
			problem += " without a unit"
		}
		return nil, problem
	}
	d, err := model.ParseDuration(s)
	if err != nil {
		// Limits of fractions of a millisecond, as Go writes them: "1.5s", "12.5ms".
		if fraction, err := time.ParseDuration(s); err == nil && fraction >= 0 {
			return fraction, ""
		}
		return nil, fmt.Sprintf("must be a duration such as 500ms, 30s or 1d, got %q", s)
	}
	return time.Duration(d), ""
}

func size(n *node) (out any, problem string) {
	s, ok := str(n.value)
	if !ok {
		problem = "must be a size such as 16MiB, got " + n.describe()
		if _, isNumber := float(n.value); isNumber {
			problem += " without a unit"
		}
		return nil, problem
	}
	parsed, err := parseSize(s)
	if err != nil {
		return nil, err.Error()
	}
	return parsed, ""
}

// plain gives a node as it is, for keys that take anything.
func plain(n *node) any {
	switch n.kind {
	case list:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = plain(item)
		}
		return out
	case mapping:
		out := make(map[string]any, len(n.keys))
		for _, key := range n.keys {
			out[key] = plain(n.fields[key])
		}
		return out
	case scalar:
	}
	switch v := n.value.(type) {
	case text:
		if v.quoted {
			return v.s
		}
		return resolve(v.s)
	default:
		return v
	}
}

// resolve reads an expanded text as YAML would read it in the file, as a scalar and nothing else.
func resolve(s string) any {
	var out any
	n := yaml.Node{Kind: yaml.ScalarNode, Value: s}
	if err := n.Decode(&out); err != nil {
		return s
	}
	switch out := out.(type) {
	case nil, bool, int, int64, uint64:
		return out
	case float64:
		if !math.IsNaN(out) && !math.IsInf(out, 0) {
			return out
		}
	}
	return s
}
