package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

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
