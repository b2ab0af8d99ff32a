package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// maxCollected bounds the findings that are kept before the first ones are chosen.
const maxCollected = 20 * maxFindings

// checker compares what was written with the types that it is meant for. What is right comes out as nested maps with values of these
// types, ready to be joined with other layers; what is wrong becomes a finding and is left out, so that the rest can still be checked.
type checker struct {
	findings []Finding
	warnings []Finding
	secrets  []string // literal values that must not be shown
	doubtful []string // keys that are missing because they were misspelled

	unavailable map[string]string // reason by pattern
}

func newChecker() *checker { return &checker{unavailable: unavailable()} }

func (c *checker) wrongf(n *node, at *place, format string, args ...any) {
	if len(c.findings) < maxCollected {
		c.findings = append(c.findings, n.finding(at.String(), fmt.Sprintf(format, args...)))
	}
}

func (c *checker) warn(n *node, at *place, message string) {
	if len(c.warnings) < maxCollected {
		c.warnings = append(c.warnings, n.finding(at.String(), message))
	}
}

// value converts n to what t needs. pattern is the place with "*" for each name of an entry and "[]" for each index. ok is false if
// there is nothing to keep: a finding, or an empty value, which is as good as none.
func (c *checker) value(n *node, t reflect.Type, at *place, pattern string) (out any, ok bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch isScalar := n.kind == scalar; {
	case t.Kind() == reflect.Interface:
		c.learnFields(n, at)
		return plain(n), true
	case n.isEmpty():
		return nil, false
	case isScalar && (t == reflect.TypeFor[Names]() || t == reflect.TypeFor[gpu.Sources]()):
		n = &node{source: n.source, line: n.line, column: n.column, kind: list, items: []*node{n}}
	case isScalar && shortForms[t] != nil:
		return shortForms[t](c, n, at)
	case t.Kind() != reflect.String && isOpaque(t):
		return c.opaque(n, t, at)
	}
	switch t.Kind() {
	case reflect.Struct:
		return c.structure(n, t, at, pattern)
	case reflect.Map:
		return c.mapping(n, t, at, pattern)
	case reflect.Slice:
		return c.list(n, t, at, pattern)
	case reflect.String:
		return c.text(n, t, at, pattern)
	default:
		return c.number(n, t, at, pattern)
	}
}

// number checks a scalar that is not meant for a string.
func (c *checker) number(n *node, t reflect.Type, at *place, pattern string) (any, bool) {
	out, problem := convert(n, t)
	if problem == "" && mustBePositive[pattern] && reflect.ValueOf(out).IsZero() {
		problem = "must be > 0, leave the key out if it is not wanted"
	}
	if problem != "" {
		c.wrongf(n, at, "%s", problem)
		return nil, false
	}
	return out, true
}

// structure checks the keys of a map that is meant for a struct.
func (c *checker) structure(n *node, t reflect.Type, at *place, pattern string) (any, bool) {
	if !c.isMap(n, at) {
		return nil, false
	}
	known := keysOf(t)
	out := make(map[string]any, len(n.keys))
	for _, key := range n.keys {
		child, here := n.fields[key], at.key(key)
		fieldType, step := known.lookup(key)
		below := strings.TrimPrefix(pattern+"."+step, ".")
		switch reason, refused := c.unavailable[below]; {
		case at == nil && strings.HasPrefix(key, "x-"): // a home for anchors
		case refused:
			c.wrongf(child, here, "%s", reason)
		case fieldType == nil:
			c.unknown(child, here, key, known.names())
		default:
			if v, ok := c.value(child, fieldType, here, below); ok {
				out[key] = v
			}
		}
	}
	if t == reflect.TypeFor[workload.Length]() {
		out = wholeLaw(out)
	}
	return out, true
}

func (c *checker) unknown(n *node, at *place, key string, known []string) {
	c.wrongf(n, at, "unknown key%s", didYouMean(key, known))
	if meant := closest(key, known); meant != "" {
		c.doubtful = append(c.doubtful, at.parent.key(meant).String())
	}
}

// mapping checks a map whose keys are names that the user chose.
func (c *checker) mapping(n *node, t reflect.Type, at *place, pattern string) (any, bool) {
	if !c.isMap(n, at) {
		return nil, false
	}
	out := make(map[string]any, len(n.keys))
	for _, key := range n.keys {
		if v, ok := c.value(n.fields[key], t.Elem(), at.key(key), pattern+".*"); ok {
			out[key] = v
		} else if t.Elem().Kind() == reflect.Struct {
			out[key] = map[string]any{} // the entry exists, so references to it resolve
		}
	}
	return out, true
}

func (c *checker) isMap(n *node, at *place) bool {
	switch {
	case n.kind == mapping:
		return true
	case n.source.env:
		c.wrongf(n, at, "is a map: name one of its keys")
	default:
		c.wrongf(n, at, "must be a map, got %s", n.describe())
	}
	return false
}

// list checks a list. An item with a finding leaves an empty one behind, so that the others keep their index.
func (c *checker) list(n *node, t reflect.Type, at *place, pattern string) (any, bool) {
	switch {
	case n.kind == list:
	case n.source.env:
		c.wrongf(n, at, "is a list, which cannot be set by an environment variable")
		return nil, false
	default:
		c.wrongf(n, at, "must be a list, got %s", n.describe())
		return nil, false
	}
	out := make([]any, len(n.items))
	for i, item := range n.items {
		here := at.item(i)
		if item.isEmpty() {
			c.wrongf(item, here, "must not be empty")
		}
		v, ok := c.value(item, t.Elem(), here, pattern+"[]")
		switch {
		case ok:
			out[i] = v
		case t.Elem().Kind() == reflect.String:
			out[i] = ""
		default:
			out[i] = map[string]any{}
		}
	}
	return out, true
}

// text checks a scalar that is meant for a string, makes the paths of files relative to the file that names them, and remembers
// secrets.
func (c *checker) text(n *node, t reflect.Type, at *place, pattern string) (any, bool) {
	out, problem := convert(n, t)
	if section := sections[at.lastName()]; problem != "" && n.kind == mapping && section != "" {
		problem = fmt.Sprintf("must be the name of an entry under %s, got a map: write it there and name it here", section)
	}
	if problem != "" {
		c.wrongf(n, at, "%s", problem)
		return nil, false
	}
	s := out.(string) // convert gives a string for every string type
	switch {
	case t == reflect.TypeFor[secret.URL]() || isURL(pattern):
		c.secrets = append(c.secrets, secret.URL(s).Secrets()...)
	case t == reflect.TypeFor[secret.Secret]() || t == reflect.TypeFor[promconfig.Secret]() || isSensitiveHeader(pattern, at):
		c.secrets = append(c.secrets, s)
		if !n.expanded {
			c.warn(n, at, "a literal secret: a file or ${VAR} keeps it out of the configuration")
		}
	case isFile(pattern) && !filepath.IsAbs(s) && s != "":
		return filepath.Join(n.source.dir, s), true
	}
	return s, true
}

// learnFields remembers texts that are secret by their names, in what users pass through to the server.
func (c *checker) learnFields(n *node, at *place) {
	if word, ok := plain(n).(string); ok && secret.SensitiveHeader(at.lastName()) {
		c.secrets = append(c.secrets, word)
	}
	for _, key := range n.keys {
		c.learnFields(n.fields[key], at.key(key))
	}
	for i, item := range n.items {
		c.learnFields(item, at.item(i))
	}
}

// isOpaque tells that a type of another project reads its own text, such as a URL or a TLS version.
func isOpaque(t reflect.Type) bool {
	reads := reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalYAML(func(any) error) error }]())
	return reads && (t.Kind() != reflect.Struct || len(keysOf(t).fields) == 0)
}

// opaque tries whether the type can read the text, and keeps the text.
func (c *checker) opaque(n *node, t reflect.Type, at *place) (any, bool) {
	if t == reflect.TypeFor[model.Duration]() {
		if _, problem := duration(n); problem != "" {
			c.wrongf(n, at, "%s", problem)
			return nil, false
		}
	}
	out, problem := convert(n, reflect.TypeFor[string]())
	if problem != "" {
		c.wrongf(n, at, "%s", problem)
		return nil, false
	}
	s := out.(string) // convert gives a string for the type string
	holdsURL := t == reflect.TypeFor[promconfig.URL]()
	if holdsURL {
		c.secrets = append(c.secrets, secret.URL(s).Secrets()...)
	}
	scalarNode := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	err := scalarNode.Decode(reflect.New(t).Interface())
	switch {
	case err != nil && holdsURL:
		c.wrongf(n, at, "is not a URL") // the error would quote it, with any password
		return nil, false
	case err != nil:
		c.wrongf(n, at, "%v", err)
		return nil, false
	}
	return s, true
}
