package main

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

// none stands in a cell that has nothing to say.
const none = "–"

// key is one row of a table.
type key struct{ name, kind, fallback, meaning string }

// walker turns structs of the configuration into keys.
type walker struct {
	sources sources
	keys    []key
}

// keysOf lists the keys of a block in the order of the struct; defaults is a struct with the values of keys that are not written.
func (w *walker) keysOf(block string, defaults reflect.Value) ([]key, error) {
	w.keys = nil
	if err := w.structure(block, "", defaults); err != nil {
		return nil, err
	}
	return w.keys, nil
}

// structure adds the keys of a struct, whose names begin with prefix.
func (w *walker) structure(block, prefix string, v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, inline := tagOf(&field)
		var err error
		switch {
		case !field.IsExported():
		case inline && field.Type.Kind() == reflect.Struct:
			err = w.structure(block, prefix, v.Field(i))
		case name == "" || refused[block+"."+prefix+name]:
		case isGroup(field.Type):
			err = w.structure(block, prefix+name+".", v.Field(i))
		default:
			err = w.key(block, prefix+name, v, i)
			if isListOfGroups(field.Type) {
				err = cmp.Or(err, w.structure(block, prefix+name+"[].", reflect.Zero(field.Type.Elem())))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tagOf reads the key from the tags of a field. Types of other projects only have yaml tags.
func tagOf(field *reflect.StructField) (name string, inline bool) {
	koanf, ours := field.Tag.Lookup("koanf")
	yamlName, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	if koanf == ",squash" || options == "inline" {
		return "", true
	}
	if ours {
		yamlName, _, _ = strings.Cut(koanf, ",")
	}
	if yamlName == "-" {
		return "", false
	}
	return yamlName, false
}

// shortForms are what blocks take for which a single value may stand.
var shortForms = map[reflect.Type]string{
	reflect.TypeFor[workload.Length]():     "number or map",
	reflect.TypeFor[workload.Delay]():      "duration or map",
	reflect.TypeFor[workload.RangeRatio](): "number or map",
	reflect.TypeFor[workload.Sequence]():   "text or list of maps",
	reflect.TypeFor[config.Target]():       "map", // of a template, whose keys are those of the table of targets
}

// isGroup tells that a key is a map with keys of ours, which get rows of their own.
func isGroup(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), module) && shortForms[t] == ""
}

// isListOfGroups tells that a key is a list of maps with keys of ours.
func isListOfGroups(t reflect.Type) bool { return t.Kind() == reflect.Slice && isGroup(t.Elem()) }

// key adds the row for the i-th field of a struct.
func (w *walker) key(block, name string, v reflect.Value, i int) error {
	field := v.Type().Field(i)
	source, err := w.sources.of(v.Type().PkgPath())
	if err != nil {
		return err
	}
	meaning := described[block+"."+name]
	if meaning == "" && source != nil {
		meaning = source.fields[v.Type().Name()][field.Name]
	}
	if meaning == "" {
		return fmt.Errorf("key %s.%s has no description: comment the field %s of %s", block, name, field.Name, v.Type())
	}
	choices, err := w.choices(field.Type)
	if err != nil {
		return err
	}
	kind := kindOf(field.Type)
	if len(choices) > 0 {
		kind, meaning = describeChoices(choices, meaning)
	}
	fallback := cmp.Or(fallbacks[block+"."+name], fallbackOf(v.Field(i), strings.Contains(field.Tag.Get("yaml"), "omitempty")))
	w.keys = append(w.keys, key{name, kind, fallback, finish(meaning)})
	return nil
}

// choices lists the values of a closed list, none for any other type.
func (w *walker) choices(t reflect.Type) ([]choice, error) {
	if t.Kind() != reflect.String {
		return nil, nil
	}
	source, err := w.sources.of(t.PkgPath())
	if err != nil || source == nil {
		return nil, err
	}
	return source.choices[t.Name()], nil
}

// describeChoices gives the cells for a closed list.
func describeChoices(choices []choice, meaning string) (kind, described string) {
	values := make([]string, 0, len(choices))
	var explained []string
	for _, c := range choices {
		values = append(values, "`"+c.value+"`")
		if c.comment != "" {
			explained = append(explained, "`"+c.value+"`: "+strings.TrimSuffix(c.comment, "."))
		}
	}
	if len(explained) > 0 {
		meaning = strings.TrimSuffix(meaning, ".") + ". " + strings.Join(explained, "; ")
	}
	return strings.Join(values, ", "), meaning
}

// finish makes a sentence of a comment.
func finish(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return cell(string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + ".")
}

// kindOf names what a key takes.
func kindOf(t reflect.Type) string {
	if kind := shortForms[t]; kind != "" {
		return kind
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[config.Size]():
		return "size"
	case reflect.TypeFor[config.Names]():
		return "text or list of texts"
	case reflect.TypeFor[promconfig.URL]():
		return "text"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "list of maps"
		}
		return "list of texts"
	default:
		if t.Kind() == reflect.Map && t.Elem().Kind() == reflect.String {
			return "map of texts"
		}
		return "map"
	}
}

// fallbackOf writes a default as a user would; optional ones without a value have none.
func fallbackOf(v reflect.Value, optional bool) string {
	if (optional && v.IsZero() && v.Kind() != reflect.Bool) || !v.IsValid() {
		return none
	}
	switch value := v.Interface().(type) {
	case time.Duration:
		return "`" + model.Duration(value).String() + "`"
	case workload.Length:
		if value.Mean == 0 {
			return none
		}
		return "`" + strconv.FormatFloat(value.Mean, 'g', -1, 64) + "`"
	case workload.Sequence, workload.Delay, workload.RangeRatio:
		return none
	}
	switch {
	case slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map, reflect.Struct, reflect.Pointer}, v.Kind()):
		return none
	case v.Kind() == reflect.String && v.String() == "":
		return none
	}
	return fmt.Sprintf("`%v`", v.Interface())
}
