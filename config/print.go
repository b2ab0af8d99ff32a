package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// hashBytes of the SHA-256 are shown: 12 hexadecimal digits.
const hashBytes = 6

// YAML gives the effective configuration with all defaults and without secrets, in the order of the fields.
func (c *Config) YAML() ([]byte, error) {
	text, err := c.print()
	if err != nil || c.redactor == nil {
		return text, err
	}
	return []byte(c.redactor.Redact(string(text))), nil
}

// Hash gives 12 hexadecimal digits that change when the effective configuration does. Secrets do not count, nor do seeds that Load
// made up.
func (c *Config) Hash() string {
	fixed := *c
	fixed.Targets = c.written()
	var random []string
	for i := range fixed.Targets {
		if t := &fixed.Targets[i]; t.randomSeed {
			t.Seed = 0
			random = append(random, t.Name)
		}
	}
	text, err := fixed.print()
	if err != nil {
		text = []byte(err.Error()) // of a configuration that Load did not make
	}
	sum := sha256.Sum256(fmt.Appendf(text, "%q", random))
	return hex.EncodeToString(sum[:hashBytes])
}

// written are the targets of the file: those that were discovered are not part of it.
func (c *Config) written() []Target {
	return slices.DeleteFunc(slices.Clone(c.Targets), func(t Target) bool { return t.Source != "" })
}

func (c *Config) print() ([]byte, error) {
	shown := *c
	shown.Targets = c.written()
	n, err := toYAML(reflect.ValueOf(shown))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// toYAML writes a value as the file would: durations and sizes in our own syntax, which the YAML library does not know.
func toYAML(v reflect.Value) (*yaml.Node, error) {
	switch value := v.Interface().(type) {
	case time.Duration:
		if value%time.Millisecond != 0 { // finer than the syntax of Prometheus
			return encode(value.String())
		}
		return encode(model.Duration(value).String())
	case Size:
		return encode(value.String())
	case HTTPClient:
		return clientToYAML(v)
	case DiscoverySet:
		return setToYAML(&value)
	case yaml.Marshaler:
		return encode(value)
	}
	switch v.Kind() {
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode}
		return n, addFields(n, v)
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.Interface {
			n, err := encode(v.Interface())
			if err == nil {
				redactFields(n)
			}
			return n, err
		}
		return mapToYAML(v)
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			item, err := toYAML(v.Index(i))
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		if n.Content == nil {
			n.Style = yaml.FlowStyle
		}
		return n, nil
	default:
		return encode(v.Interface())
	}
}

func mapToYAML(v reflect.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	names := v.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range names {
		value := v.MapIndex(name)
		if text, ok := reflect.TypeAssert[string](value); ok && text != "" && secret.SensitiveHeader(name.String()) {
			value = reflect.ValueOf(secret.Mask)
		}
		if err := addField(n, name.String(), value); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// redactFields hides texts that are secret by their names: what users pass through to the server, such as `extra`, may hold a credential that nobody
// declared as one.
func redactFields(n *yaml.Node) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && child.Kind == yaml.ScalarNode && child.Tag == "!!str" && secret.SensitiveHeader(n.Content[i-1].Value) {
			child.Value = secret.Mask
		}
		redactFields(child)
	}
}

// addFields appends the fields of a struct by their yaml tags.
func addFields(n *yaml.Node, v reflect.Value) error {
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		field := v.Field(i)
		var err error
		switch {
		case options == "inline":
			err = addFields(n, field)
		case name == "" || name == "-":
		case options == "omitempty" && isEmpty(field):
		default:
			err = addField(n, name, field)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isEmpty tells that a value says nothing: it is zero, or it says so of itself, such as a block that is off whatever its other keys are.
func isEmpty(v reflect.Value) bool {
	if zeroer, ok := reflect.TypeAssert[interface{ IsZero() bool }](v); ok {
		return zeroer.IsZero()
	}
	if v.Kind() == reflect.Map || v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

func addField(n *yaml.Node, name string, v reflect.Value) error {
	key, err := encode(name)
	if err != nil {
		return err
	}
	value, err := toYAML(v)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n.Content = append(n.Content, key, value)
	return nil
}

func encode(v any) (*yaml.Node, error) {
	n := &yaml.Node{}
	if err := n.Encode(v); err != nil {
		return nil, err
	}
	return n, nil
}

// clientToYAML writes our keys and those of Prometheus, whose own types hide passwords but neither users in URLs nor headers.
func clientToYAML(v reflect.Value) (*yaml.Node, error) {
	client := v.Interface().(HTTPClient) // the caller has looked
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if name == "" || name == "-" || options == "omitempty" && isEmpty(v.Field(i)) { // without a name: theirs
			continue
		}
		if err := addField(n, name, v.Field(i)); err != nil {
			return nil, err
		}
	}
	theirs, err := encode(client.HTTP)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(theirs.Content); i += 2 {
		switch key := theirs.Content[i]; key.Value {
		case "follow_redirects", "enable_http2": // not keys of ours
		default:
			redact(key.Value, theirs.Content[i+1], false)
			n.Content = append(n.Content, key, theirs.Content[i+1])
		}
	}
	return n, nil
}

// setToYAML writes the keys of Prometheus as it has them, and of the template what a template may have.
func setToYAML(s *DiscoverySet) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	if err := addField(n, "name", reflect.ValueOf(s.Name)); err != nil {
		return nil, err
	}
	theirs, err := encode(s.SD)
	if err != nil {
		return nil, err
	}
	redact("", theirs, false)
	n.Content = append(n.Content, theirs.Content...)
	template, err := toYAML(reflect.ValueOf(s.Template))
	if err != nil {
		return nil, err
	}
	dropKeys(template, map[string]bool{"name": true, "url": true, "model": s.Template.Model == "", "seed": s.Template.randomSeed})
	if protocol := valueOf(template, "endpoint"); protocol != nil {
		dropKeys(protocol, map[string]bool{"type": s.Template.Endpoint.Type == ""})
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "template"}, template)
	if err := addField(n, "max_targets", reflect.ValueOf(s.MaxTargets)); err != nil {
		return nil, err
	}
	return n, addField(n, "grace", reflect.ValueOf(s.Grace))
}

// dropKeys leaves keys out of a map.
func dropKeys(n *yaml.Node, keys map[string]bool) {
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !keys[n.Content[i].Value] {
			kept = append(kept, n.Content[i], n.Content[i+1])
		}
	}
	n.Content = kept
}

// valueOf finds the value of a key, nil if the map has none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// redact hides what a client's YAML still shows: users and queries in URLs, and the values of headers that are secret by their name.
func redact(key string, n *yaml.Node, sensitive bool) {
	switch {
	case n.Kind == yaml.ScalarNode && (strings.HasSuffix(key, "_url") || key == "url" || key == "api_server"):
		n.Value = secret.RedactURL(n.Value)
	case n.Kind == yaml.ScalarNode && sensitive:
		n.Value = secret.Mask
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			redact(key, item, sensitive && key == "values")
		}
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			redact(name, n.Content[i+1], sensitive || ((key == "http_headers" || key == "endpoint_params") && secret.SensitiveHeader(name)))
		}
	}
}
