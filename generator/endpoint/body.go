package endpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// body is a request body under construction: top-level fields in the order in which they are sent, so that equal turns give equal
// bytes.
type body []field

type field struct {
	name  string
	value any
}

// set replaces the field in its place, or appends it.
func (b *body) set(name string, value any) {
	for i := range *b {
		if (*b)[i].name == name {
			(*b)[i].value = value
			return
		}
	}
	*b = append(*b, field{name, value})
}

// get returns the value of a field.
func (b body) get(name string) (value any, ok bool) {
	for i := range b {
		if b[i].name == name {
			return b[i].value, true
		}
	}
	return nil, false
}

// merge sets all of extra, new names in alphabetical order. The merge is shallow: a map replaces a map.
func (b *body) merge(extra map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		b.set(name, extra[name])
	}
}

// appendTo appends the body as a JSON object to dst.
func (b body) appendTo(dst []byte) ([]byte, error) {
	out := sink(dst)
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // a prompt is not a web page: send "<" as one byte
	separator := byte('{')
	for _, f := range b {
		out = append(out, separator)
		separator = ','
		if err := enc.Encode(f.name); err != nil {
			return dst, fmt.Errorf("encode name of field %q: %w", f.name, err)
		}
		out[len(out)-1] = ':' // in place of the line feed that Encode leaves
		if err := enc.Encode(f.value); err != nil {
			return dst, fmt.Errorf("encode field %q: %w", f.name, err)
		}
		out = out[:len(out)-1]
	}
	return append(out, '}'), nil
}

// sink is a byte slice that grows as it is written to.
type sink []byte

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

// wholeNumber reads a number as a configuration file or a dataset holds it.
func wholeNumber(v any) (n int, ok bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case uint64:
		return int(min(v, math.MaxInt)), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v), true
		}
	}
	return 0, false
}
