package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/config"
)

// schemaID is where editors find the schema of the newest version.
const schemaID = "https://raw.githubusercontent.com/aiperf-exporter/aiperf-exporter/main/config/schema.json"

// Patterns of texts, in what the regular expressions of Go and of JavaScript have in common.
const (
	// variablePattern is that of a text that holds a variable, which may stand for a value of any type.
	variablePattern = `\$\{.+\}`
	durationPattern = `^(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(y|w|d|h|m|s|ms|us|µs|ns))+)$|` + variablePattern
	sizePattern     = `^[0-9]+(B|KiB|MiB|GiB)$|` + variablePattern
)

// schemaPage is config/schema.json, the JSON Schema of a configuration file.
func schemaPage() ([]byte, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	blocks, err := defaultsOfBlocks(root)
	if err != nil {
		return nil, err
	}
	w := newSchemaWriter(root, blocks)
	all, err := w.file()
	if err != nil {
		return nil, err
	}
	var compact, out bytes.Buffer
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(all); err != nil {
		return nil, err
	}
	if err := json.Indent(&out, compact.Bytes(), "", " "); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// schemaWriter makes a schema of the structs of the configuration. A struct is written once, under $defs, for all places where it takes the same
// keys.
type schemaWriter struct {
	walker  walker
	blocks  map[string]any // values of keys that are not written, by block
	refused map[string]string
	defs    object
	written map[written]*definition
	taken   map[string]bool
}

// written tells structs apart by what they take.
type written struct {
	of      reflect.Type
	without string // the keys that are refused
}

// definition is a struct that is in $defs, and the defaults that it was written with.
type definition struct {
	name     string
	defaults reflect.Value
}

func newSchemaWriter(root string, blocks map[string]any) *schemaWriter {
	target := blocks["targets"].(config.Target)
	blocks["defaults"] = target
	blocks["modules"] = config.Module{Endpoint: target.Endpoint, Timeouts: target.Timeouts}
	return &schemaWriter{
		walker: walker{sources: sources{root: root, parsed: map[string]*source{}}}, blocks: blocks, refused: config.Refused(),
		written: map[written]*definition{}, taken: map[string]bool{},
	}
}

// file is the schema of a whole file.
func (w *schemaWriter) file() (object, error) {
	w.defs = object{
		{"variable", object{{"description", "A variable of the environment, ${VAR} or ${VAR:-default}."}, {"type", "string"}, {"pattern", variablePattern}}},
		{"duration", object{{"type", []string{"string", "integer", "null"}}, {"pattern", durationPattern}, {"minimum", 0}, {"maximum", 0}}},
		{"size", object{{"type", []string{"string", "null"}}, {"pattern", sizePattern}}},
	}
	properties, _, err := w.properties(reflect.TypeFor[config.Config](), "", reflect.Value{})
	if err != nil {
		return nil, err
	}
	defaults, err := w.of(reflect.TypeFor[config.Target](), "defaults", reflect.ValueOf(w.blocks["defaults"]))
	if err != nil {
		return nil, err
	}
	defaults = append(defaults, member{"description", "Merged under every target."})
	return object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", schemaID},
		{"title", "Configuration of aiperf-exporter"},
		{"type", []string{"object", "null"}},
		{"properties", append(properties, member{"defaults", defaults})},
		{"patternProperties", object{{"^x-", true}}}, // a home for anchors
		{"additionalProperties", false},
		{"$defs", w.defs},
	}, nil
}

// properties are the keys of a struct that stands at a pattern; open is what any other key may hold, false = there is none.
func (w *schemaWriter) properties(t reflect.Type, pattern string, defaults reflect.Value) (out object, open any, err error) {
	open = false
	for i := range t.NumField() {
		field := t.Field(i)
		name, inline := tagOf(&field)
		here := strings.TrimPrefix(pattern+"."+name, ".")
		value := reflect.Value{}
		if defaults.IsValid() {
			value = defaults.Field(i)
		}
		switch {
		case !field.IsExported():
		case inline && field.Type.Kind() == reflect.Map:
			open, err = w.of(field.Type.Elem(), pattern+".*", reflect.Value{})
		case inline:
			var more object
			if more, _, err = w.properties(field.Type, pattern, value); err == nil {
				out = append(out, more...)
			}
		case name == "" || w.refused[here] != "":
		default:
			if pattern == "" {
				value = reflect.ValueOf(w.blocks[name])
			}
			var property object
			if property, err = w.property(t, &field, here, value); err == nil {
				out = append(out, member{name, property})
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return out, open, nil
}

// property is the schema of one key, with what is known about it.
func (w *schemaWriter) property(owner reflect.Type, field *reflect.StructField, pattern string, value reflect.Value) (object, error) {
	out, err := w.of(field.Type, pattern, value)
	if err != nil {
		return nil, err
	}
	source, err := w.walker.sources.of(owner.PkgPath())
	if err != nil {
		return nil, err
	}
	documented := documentedKey(pattern)
	about := described[documented]
	if about == "" && source != nil {
		about = source.fields[owner.Name()][field.Name]
	}
	choices, err := w.walker.choices(field.Type)
	if err != nil {
		return nil, err
	}
	if len(choices) > 0 && about != "" {
		_, about = describeChoices(choices, about)
	}
	if about != "" {
		out = append(out, member{"description", capital(about)})
	}
	optional := strings.Contains(field.Tag.Get("yaml"), "omitempty")
	if fallback, ok := jsonDefault(value, optional); ok && source != nil && fallbacks[documented] == "" {
		out = append(out, member{"default", fallback})
	}
	return out, nil
}

// documentedKey is a pattern as the tables of the reference have it: block.key. What holds for targets holds for their defaults and templates.
func documentedKey(pattern string) string {
	block, key, _ := strings.Cut(pattern, ".")
	if block == "target_discovery[]" && strings.HasPrefix(key, "template.") {
		block, key = "targets", strings.TrimPrefix(key, "template.")
	}
	if block == "defaults" {
		block = "targets"
	}
	return strings.TrimSuffix(block, "[]") + "." + strings.TrimPrefix(key, "*.")
}

// of is the schema of a type at a pattern.
func (w *schemaWriter) of(t reflect.Type, pattern string, defaults reflect.Value) (object, error) {
	if t.Kind() == reflect.Pointer {
		t, defaults = t.Elem(), reflect.Value{}
	}
	if fixed := fixedSchemas[t]; fixed != nil {
		return slices.Clone(fixed), nil
	}
	switch kind := t.Kind(); {
	case kind == reflect.Interface:
		return object{}, nil
	case strings.HasSuffix(pattern, ".kubernetes_sd_configs[]"), strings.HasSuffix(pattern, ".inference_pool_sd_configs[]"):
		return object{{"type", []string{"object", "null"}}}, nil // their types are not in every build
	case readsText(t):
		return texts(), nil
	case kind == reflect.Struct:
		return w.reference(t, pattern, defaults)
	case kind == reflect.Map:
		elem, err := w.of(t.Elem(), pattern+".*", w.entry(pattern))
		return object{{"type", []string{"object", "null"}}, {"additionalProperties", elem}}, err
	case kind == reflect.Slice:
		return w.list(t, pattern)
	case kind == reflect.String:
		return w.text(t)
	}
	return scalar(t.Kind()), nil
}

// entry gives the defaults of the entries of a block.
func (w *schemaWriter) entry(block string) reflect.Value { return reflect.ValueOf(w.blocks[block]) }

// list is a list of what is not empty. Of some, a single one may stand without the brackets.
func (w *schemaWriter) list(t reflect.Type, pattern string) (object, error) {
	items, err := w.of(t.Elem(), pattern+"[]", w.entry(pattern))
	if err != nil {
		return nil, err
	}
	items = filled(items)
	if pattern == "targets" || pattern == "target_discovery" {
		items = append(items, member{"required", []string{"name"}})
	}
	if singular[t] {
		return object{{"type", []string{"array", "string", "null"}}, {"items", items}}, nil
	}
	return object{{"type", []string{"array", "null"}}, {"items", items}}, nil
}

// text is a string, or one of a closed list.
func (w *schemaWriter) text(t reflect.Type) (object, error) {
	choices, err := w.walker.choices(t)
	if err != nil || len(choices) == 0 {
		return texts(), err
	}
	values := make([]any, 0, len(choices)+1)
	for _, c := range choices {
		values = append(values, c.value)
	}
	return object{{"anyOf", []object{{{"enum", append(values, nil)}}, {{"$ref", "#/$defs/variable"}}}}}, nil
}

// reference points to a struct, which it writes if it is the first to do so.
func (w *schemaWriter) reference(t reflect.Type, pattern string, defaults reflect.Value) (object, error) {
	var without []string
	for key := range w.refused {
		if below, ok := strings.CutPrefix(key, pattern+"."); ok {
			without = append(without, below)
		}
	}
	slices.Sort(without)
	id := written{t, strings.Join(without, " ")}
	if d := w.written[id]; d != nil {
		if d.defaults.IsValid() && defaults.IsValid() && !reflect.DeepEqual(d.defaults.Interface(), defaults.Interface()) && shortForms[t] == "" {
			return nil, fmt.Errorf("%s: %s has other defaults than elsewhere", pattern, t)
		}
		return pointTo(d.name), nil
	}
	name := path.Base(t.PkgPath()) + "." + t.Name()
	if w.taken[name] {
		name += "-" + strings.Trim(pattern[strings.LastIndex(pattern, ".")+1:], "[]*")
	}
	if w.taken[name] {
		return nil, fmt.Errorf("%s: there are two definitions %s", pattern, name)
	}
	w.taken[name] = true
	w.written[id] = &definition{name, defaults}
	if shortForms[t] != "" {
		defaults = reflect.Value{} // those of its keys are not those of the block in which it stands
	}
	at := len(w.defs)
	w.defs = append(w.defs, member{key: name})
	properties, open, err := w.properties(t, pattern, defaults)
	if err != nil {
		return nil, err
	}
	w.defs[at].value = append(shortTypes(t), member{"properties", properties}, member{"additionalProperties", open})
	return pointTo(name), nil
}

func pointTo(name string) object { return object{{"$ref", "#/$defs/" + name}} }
