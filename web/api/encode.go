package api

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// encode writes a value as JSON, by the tags that encoding/json reads, in three ways different from it: times are UTC with milliseconds, lists
// and maps that are nil are empty, so that readers can walk them without asking, and a number that is none (NaN, ±Inf) is null, for which
// encoding/json gives up the whole answer. It takes what this package hands it: structs, maps by string, slices, pointers and plain values.
func encode(v any) []byte { return append(encodeValue(nil, reflect.ValueOf(v)), '\n') }

// timeFormat is RFC 3339 with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

func encodeValue(out []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Invalid:
		return append(out, "null"...)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(out, "null"...)
		}
		return encodeValue(out, v.Elem())
	case reflect.String:
		return encodeText(out, v.String())
	case reflect.Bool:
		return strconv.AppendBool(out, v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(out, v.Int(), 10)
	case reflect.Float64:
		return encodeNumber(out, v.Float())
	case reflect.Slice:
		return encodeList(out, v)
	case reflect.Map:
		return encodeMap(out, v)
	case reflect.Struct:
		if at, ok := reflect.TypeAssert[time.Time](v); ok {
			return encodeText(out, at.UTC().Format(timeFormat))
		}
		return encodeStruct(out, v)
	}
	panic("api: cannot encode a " + v.Type().String())
}

// encodeText leaves what browsers could take for markup to encoding/json, which escapes it, as it does what is no UTF-8.
func encodeText(out []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always has a form
	}
	return append(out, quoted...)
}

func encodeNumber(out []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(out, "null"...)
	}
	format := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(out, v, format, -1, 64)
}

func encodeList(out []byte, v reflect.Value) []byte {
	out = append(out, '[')
	for i := range v.Len() {
		if i > 0 {
			out = append(out, ',')
		}
		out = encodeValue(out, v.Index(i))
	}
	return append(out, ']')
}

func encodeMap(out []byte, v reflect.Value) []byte {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	out = append(out, '{')
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(encodeText(out, key.String()), ':')
		out = encodeValue(out, v.MapIndex(key))
	}
	return append(out, '}')
}

func encodeStruct(out []byte, v reflect.Value) []byte {
	out = append(out, '{')
	first := true
	for field, value := range v.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if options == "omitempty" && empty(value) {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(encodeText(out, name), ':')
		out = encodeValue(out, value)
	}
	return append(out, '}')
}

// empty is what omitempty leaves out.
func empty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	return v.Kind() != reflect.Struct && v.IsZero()
}
