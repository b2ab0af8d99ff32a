package endpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// jsonBody is what the codecs that send a JSON object have in common: what authors add to it, and bodies that were recorded. Embedded, it
// gives a codec Streams and OutputLimit.
type jsonBody struct {
	// extra is the endpoint's own, below that of a turn.
	extra map[string]any
	// limits are the fields that limit the length of the answer; the first is the one that we send. None = the protocol has no limit.
	limits []string
}

// lookup tells what the body for turn has at its top level under this name because its author wrote it there: in a recorded body, in the
// turn's extra or in the endpoint's.
func (j *jsonBody) lookup(turn *Turn, name string) (value any, set bool) {
	if payload := recorded(turn); payload != nil {
		return member(payload, name)
	}
	if value, set = turn.Extra[name]; set {
		return value, true
	}
	value, set = j.extra[name]
	return value, set
}

// Streams implements Codec for protocols with a field stream.
func (j *jsonBody) Streams(turn *Turn) bool {
	if v, set := j.lookup(turn, "stream"); set || recorded(turn) != nil {
		return v == true
	}
	return turn.Stream
}

// streamsByPath is Streams of protocols whose path asks for the stream: a field stream need not be there.
func (j *jsonBody) streamsByPath(turn *Turn) bool {
	if v, set := j.lookup(turn, "stream"); set {
		return v == true
	}
	return turn.Stream
}

// OutputLimit implements Codec. Only the field that we send counts, unless the body was recorded: if the author adds another one through
// extra, both are sent, and it is up to the server which one it obeys.
func (j *jsonBody) OutputLimit(turn *Turn) int {
	if len(j.limits) == 0 {
		return 0
	}
	if recorded(turn) != nil {
		for _, name := range j.limits {
			if v, set := j.lookup(turn, name); set {
				return limit(v)
			}
		}
		return 0
	}
	if v, set := j.lookup(turn, j.limits[0]); set {
		return limit(v)
	}
	return max(turn.MaxOutputTokens, 0)
}

// limit reads a limit; null and -1 are ways to say that there is none.
func limit(v any) int {
	n, _ := wholeNumber(v)
	return max(n, 0)
}

// merge sets what authors add: the endpoint's extra, then that of the turn.
func (j *jsonBody) merge(b *body, turn *Turn) {
	b.merge(j.extra)
	b.merge(turn.Extra)
}

// encodeFields appends the body made of the protocol's fields and what authors add, or the recorded one that the turn brings with it.
func (j *jsonBody) encodeFields(dst []byte, turn *Turn, fields func(*Turn) (body, error)) ([]byte, string, error) {
	if payload := recorded(turn); payload != nil {
		return append(dst, payload...), jsonType, nil
	}
	b, err := fields(turn)
	if err != nil {
		return dst, "", err
	}
	j.merge(&b, turn)
	out, err := b.appendTo(dst)
	return out, jsonType, err
}

// recorded is the whole body that a turn brings with it, nil if it has none. It is sent as it is.
func recorded(turn *Turn) []byte {
	if turn.Prompt == nil {
		return nil
	}
	return turn.Prompt.Payload
}

// member reads one member of an object without reading the others; of equal names the last wins. What is not JSON has no members.
func member(object []byte, name string) (value any, set bool) {
	s := scanner{data: object}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		found := string(s.name()) == name
		raw := s.raw()
		if found {
			value = nil // of an equal name before
			set = json.Unmarshal(raw, &value) == nil
		}
	}
	return value, set && s.end() == nil
}

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
	if len(b) == 0 {
		return append(dst, "{}"...), nil
	}
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

// MarshalJSON implements json.Marshaler, for a body within a body.
func (b body) MarshalJSON() ([]byte, error) { return b.appendTo(nil) }

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
