package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// The functions of this file take JSON apart without making values of what nobody asks for. Other than encoding/json they tell "Text" from
// "text", and a key that stands twice is an error: two readers of such a row would ask two different things.

// object calls take for each member of a JSON object, in order. The key and the value are valid during the call. The key is put in front of
// the error that take gives.
func object(data []byte, take func(key, value []byte) error) error {
	if err := valid(data); err != nil {
		return err
	}
	return members(data, take)
}

// valid tells whether data is one JSON value, and if not, what is wrong.
func valid(data []byte) error {
	if json.Valid(data) {
		return nil
	}
	var v json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&v)
	switch {
	case err == nil:
		return errors.New("is not JSON: there is more behind the value")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("is not JSON: it ends too early")
	}
	return fmt.Errorf("is not JSON: %w", err)
}

// members is object for text that is known to be valid JSON.
func members(data []byte, take func(key, value []byte) error) error {
	i := space(data, 0)
	if data[i] != '{' {
		return fmt.Errorf("must be an object, got %s", kind(data[i:]))
	}
	seen := make([][]byte, 0, 16)
	for i = space(data, i+1); data[i] != '}'; {
		end := skip(data, i)
		key := unquoted(data[i:end])
		if slices.ContainsFunc(seen, func(other []byte) bool { return bytes.Equal(key, other) }) {
			return fmt.Errorf("%q stands twice", key)
		}
		if len(seen) == maxMembers {
			return fmt.Errorf("has more than %d keys", maxMembers)
		}
		seen = append(seen, key)
		i = space(data, space(data, end)+1)
		end = skip(data, i)
		if err := take(key, data[i:end]); err != nil {
			return inKey(string(key), err)
		}
		if i = space(data, end); data[i] == ',' {
			i = space(data, i+1)
		}
	}
	return nil
}

// A row is at most maxRecord long, but what is made of it could be a hundred times as large: these bound it.
const (
	maxElements = 1 << 16 // of a list: turns, messages, contents
	maxIDs      = 1 << 20 // blocks of a prompt
	maxMembers  = 4096    // of an object
	maxObject   = 1 << 20 // bytes of an object that is read as a whole
	maxName     = 1024    // bytes of the name of a session
)

// elements calls take for each element of a list that is known to be valid JSON.
func elements(data []byte, take func(i int, value []byte) error) error {
	return elementsUpTo(maxElements, data, take)
}

func elementsUpTo(most int, data []byte, take func(i int, value []byte) error) error {
	i := space(data, 0)
	if data[i] != '[' {
		return fmt.Errorf("must be a list, got %s", kind(data[i:]))
	}
	n := 0
	for i = space(data, i+1); data[i] != ']'; n++ {
		if n == most {
			return fmt.Errorf("has more than %d elements", most)
		}
		end := skip(data, i)
		if err := take(n, data[i:end]); err != nil {
			return inKey("["+strconv.Itoa(n)+"]", err)
		}
		if i = space(data, end); data[i] == ',' {
			i = space(data, i+1)
		}
	}
	return nil
}

// space gives the place of the first byte from i that is no white space.
func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// skip gives the place behind the valid value that begins at i.
func skip(data []byte, i int) int {
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		for depth := 0; ; i++ {
			switch data[i] {
			case '"':
				i = skipString(data, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(data) && bytes.IndexByte([]byte(" \t\r\n,]}"), data[i]) < 0 {
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		i += n
		slashes := 0
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// kind names the type of a value for messages.
func kind(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// null tells whether a value is null, which everywhere means the same as an absent key.
func null(value []byte) bool { return value[0] == 'n' }

// text reads a string.
func text(value []byte) (string, error) {
	if value[0] != '"' {
		return "", fmt.Errorf("must be a string, got %s", kind(value))
	}
	return string(unquoted(value)), nil
}

// sessionName reads the name of a session, of which many are remembered.
func sessionName(value []byte) (string, error) {
	s, err := text(value)
	if err == nil && len(s) > maxName {
		err = fmt.Errorf("is longer than %d bytes", maxName)
	}
	return s, err
}

// unquoted is the text of a valid string; only where something is escaped, it is a copy.
func unquoted(value []byte) []byte {
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	_ = json.Unmarshal(value, &s) // it is valid
	return []byte(s)
}

// whole reads a whole number of at least least. Numbers such as 12.0 are whole.
func whole(value []byte, least int) (int, error) {
	number, err := strconv.ParseFloat(string(value), 64)
	if c := value[0]; err != nil || (c != '-' && (c < '0' || c > '9')) || number != math.Trunc(number) ||
		number < float64(least) || number > 1<<53 {
		return 0, fmt.Errorf("must be a whole number >= %d, got %s", least, brief(value))
	}
	return int(number), nil
}

// length reads a number of tokens of at least least. Longer ones than any context window are mistakes, and no prompt is made of them.
func length(value []byte, least int) (int, error) {
	n, err := whole(value, least)
	if err == nil && n > maxTokens {
		err = fmt.Errorf("must be at most %d tokens, got %d", maxTokens, n)
	}
	return n, err
}

// identifiers reads a list of whole numbers of up to 64 bits, negative ones as their two's complement.
func identifiers(value []byte) ([]uint64, error) {
	out := make([]uint64, 0, min(maxIDs, 1+bytes.Count(value, []byte{','})))
	err := elementsUpTo(maxIDs, value, func(_ int, v []byte) error {
		id, err := identifier(v)
		if err != nil {
			return err
		}
		out = append(out, id)
		return nil
	})
	return out, err
}

// identifier reads a whole number of up to 64 bits, a negative one as its two's complement.
func identifier(value []byte) (uint64, error) {
	if id, err := strconv.ParseUint(string(value), 10, 64); err == nil {
		return id, nil
	}
	id, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("must be a whole number of 64 bits, got %s", brief(value))
	}
	return uint64(id), nil
}

// span reads a number of units of time that is not negative.
func span(value []byte, unit time.Duration) (time.Duration, error) {
	number, err := strconv.ParseFloat(string(value), 64)
	if c := value[0]; err != nil || c == '"' || !(number >= 0) || number > float64(math.MaxInt64)/float64(unit)/2 {
		return 0, fmt.Errorf("must be a number >= 0, got %s", brief(value))
	}
	if n := int64(number); float64(n) == number {
		return time.Duration(n) * unit, nil
	}
	return time.Duration(math.Round(number * float64(unit))), nil
}

// elapsed is span for what was measured: clocks that were set back make it negative.
func elapsed(value []byte, unit time.Duration) (time.Duration, error) {
	if value[0] == '-' {
		_, err := span(value[1:], unit)
		return 0, err
	}
	return span(value, unit)
}

// flag reads true or false.
func flag(value []byte) (bool, error) {
	if c := value[0]; c != 't' && c != 'f' {
		return false, fmt.Errorf("must be true or false, got %s", kind(value))
	}
	return value[0] == 't', nil
}

// anything reads an object as it is; its numbers keep their digits.
func anything(value []byte) (map[string]any, error) {
	if value[0] != '{' {
		return nil, fmt.Errorf("must be an object, got %s", kind(value))
	}
	if len(value) > maxObject {
		return nil, fmt.Errorf("is longer than %d MiB", maxObject>>20)
	}
	var out map[string]any
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	err := decoder.Decode(&out)
	return out, err
}

// brief shows the beginning of a value in messages, never more: rows are other people's data.
func brief(value []byte) string {
	switch value[0] {
	case '{', '[', '"':
		return kind(value)
	}
	if len(value) > 24 {
		return string(value[:24]) + "…"
	}
	return string(value)
}

// nested is an error about a value inside of a row.
type nested struct {
	path string // keys and indices, as in turns[1].text
	err  error
}

func (n *nested) Error() string { return n.path + ": " + n.err.Error() }
func (n *nested) Unwrap() error { return n.err }

// inKey says in which key or index an error lies.
func inKey(key string, err error) error {
	inner, ok := err.(*nested) //nolint:errorlint // only the outermost can be extended
	switch {
	case err == nil:
		return nil
	case !ok:
		return &nested{clipped(key), err}
	case inner.path[0] == '[':
		return &nested{clipped(key) + inner.path, inner.err}
	}
	return &nested{clipped(key) + "." + inner.path, inner.err}
}
