package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// variable matches "$$", "${…}" and an opening brace that is never closed.
	variable = regexp.MustCompile(`\$\$|\$\{[^}]*\}?`)
	// namedVariable only matches what names a variable.
	namedVariable = regexp.MustCompile(`\$\{([A-Za-z0-9_]+)`)
)

// firstVariable gives the name of the first variable in a text, "" if there is none.
func firstVariable(s string) string {
	if m := namedVariable.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}

// environment looks variables up and remembers what they gave, so that an error message can name the variable in place of its value.
type environment struct {
	vars map[string]string
	used map[string]string // value → name
	left int               // bytes that may still be inserted
}

func newEnvironment(environ []string) *environment {
	e := &environment{vars: make(map[string]string, len(environ)), used: map[string]string{}, left: maxFileBytes}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			e.vars[name] = value
		}
	}
	return e
}

// expand replaces ${VAR} and ${VAR:-default} by the variable and $$ by a dollar; a dollar in front of anything else stays. As in a
// shell, the default also stands in for an empty variable. changed tells whether there was anything to replace.
func (e *environment) expand(s string) (out string, changed bool, err error) {
	out = variable.ReplaceAllStringFunc(s, func(ref string) string {
		changed = true
		if ref == "$$" {
			return "$"
		}
		value, lookupErr := e.lookup(ref)
		if lookupErr != nil && err == nil {
			err = lookupErr
		}
		return value
	})
	return out, changed, err
}

// lookup gives the value for "${…}".
func (e *environment) lookup(ref string) (string, error) {
	inner, closed := strings.CutSuffix(strings.TrimPrefix(ref, "${"), "}")
	if !closed {
		return "", fmt.Errorf("%q is not closed, write $${ for a plain ${", "${")
	}
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	if !variableName.MatchString(name) {
		return "", fmt.Errorf("%q is not the name of a variable, write $${ for a plain ${", name)
	}
	value, set := e.vars[name]
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !set:
		return "", fmt.Errorf("variable %s is not set and has no default", name)
	}
	if e.left -= len(value); e.left < 0 {
		return "", fmt.Errorf("variables expand to more than %d MiB", maxFileBytes>>20)
	}
	e.used[value] = name
	return value, nil
}

// minMaskedBytes is the length from which a value is replaced by the name of its variable: a shorter one would be found in ordinary
// words.
const minMaskedBytes = 8

// replacer puts the names of variables in the place of the values that they gave.
func (e *environment) replacer() *strings.Replacer {
	values := slices.SortedFunc(maps.Keys(e.used), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	var pairs []string
	for _, v := range values { // the longest first: a value may begin with another
		if len(v) < minMaskedBytes {
			continue
		}
		for _, spelling := range spellings(v) {
			pairs = append(pairs, spelling, "${"+e.used[v]+"}")
		}
	}
	return strings.NewReplacer(pairs...)
}
