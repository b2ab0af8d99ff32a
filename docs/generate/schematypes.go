package main

import (
	"reflect"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

// singular are lists of which a single text may stand without the brackets.
var singular = map[reflect.Type]bool{
	reflect.TypeFor[config.Names]():      true,
	reflect.TypeFor[gpu.Sources]():       true,
	reflect.TypeFor[workload.Sequence](): true, // as its short form, 128,64:40;512,128:60
}

// fixedSchemas are those of types with a text of their own.
var fixedSchemas = map[reflect.Type]object{
	reflect.TypeFor[model.Duration](): pointTo("duration"),
	reflect.TypeFor[time.Duration]():  pointTo("duration"),
	reflect.TypeFor[config.Size]():    pointTo("size"),
	reflect.TypeFor[promconfig.URL](): texts(),
}

func texts() object { return object{{"type", []string{"string", "null"}}} }

// scalar is the schema of a plain value, for which a text with a variable may stand.
func scalar(kind reflect.Kind) object {
	name := "number"
	switch kind {
	case reflect.Bool:
		name = "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64, reflect.Uint16, reflect.Uint:
		name = "integer"
	}
	out := object{{"type", []string{name, "string", "null"}}, {"pattern", variablePattern}}
	if kind == reflect.Uint64 || kind == reflect.Uint16 || kind == reflect.Uint {
		out = append(out, member{"minimum", 0})
	}
	return out
}

// shortTypes says what a struct is: a map, or the single value that may stand for it.
func shortTypes(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[workload.Length](), reflect.TypeFor[workload.RangeRatio]():
		return object{{"type", []string{"object", "number", "string", "null"}}, {"pattern", variablePattern}}
	case reflect.TypeFor[workload.Delay]():
		return object{{"type", []string{"object", "string", "integer", "null"}}, {"pattern", durationPattern}, {"minimum", 0}, {"maximum", 0}}
	}
	return object{{"type", []string{"object", "null"}}}
}

// filled is the schema of an item of a list, which must not be empty.
func filled(o object) object {
	out := slices.Clone(o)
	for i, m := range out {
		switch value := m.value.(type) {
		case []string: // the types
			if m.key == "type" {
				out[i].value = slices.DeleteFunc(slices.Clone(value), func(name string) bool { return name == "null" })
			}
		case string:
			if m.key == "$ref" {
				return append(out, member{"not", object{{"type", "null"}}})
			}
		case []object: // the closed list and the variable
			values, _ := value[0][0].value.([]any) // made by text
			first := object{{value[0][0].key, values[:len(values)-1]}}
			out[i].value = []object{first, value[1]}
		}
	}
	return out
}

// jsonDefault is a default as it would be written; false: there is none to tell.
func jsonDefault(v reflect.Value, optional bool) (any, bool) {
	if !v.IsValid() || (optional && v.IsZero() && v.Kind() != reflect.Bool) {
		return nil, false
	}
	switch value := v.Interface().(type) {
	case time.Duration:
		return model.Duration(value).String(), true
	case config.Size:
		return value.String(), true
	case workload.Length:
		return value.Mean, value.Mean != 0
	case workload.Sequence, workload.Delay, workload.RangeRatio:
		return nil, false
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), true
	case reflect.String:
		return v.String(), v.String() != ""
	case reflect.Int, reflect.Int64:
		return v.Int(), true
	case reflect.Uint64:
		return v.Uint(), true
	case reflect.Float64:
		return v.Float(), true
	}
	return nil, false
}

// capital makes a sentence of a comment.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	out := string(unicode.ToUpper(first)) + text[size:]
	if last, _ := utf8.DecodeLastRuneInString(out); last == '.' || last == '…' {
		return out
	}
	return out + "."
}

// readsText tells that a type of another project reads its own text, such as a URL or a TLS version.
func readsText(t reflect.Type) bool {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalYAML(func(any) error) error }]()) {
		return false
	}
	if t.Kind() != reflect.Struct {
		return t.Kind() != reflect.String && t.Kind() != reflect.Slice && t.Kind() != reflect.Map
	}
	for field := range t.Fields() {
		if name, inline := tagOf(&field); field.IsExported() && (name != "" || inline) {
			return false
		}
	}
	return true
}
