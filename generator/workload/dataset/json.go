package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
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
