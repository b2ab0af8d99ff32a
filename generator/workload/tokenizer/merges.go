package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// eachMerge calls f with the token that each merge makes, in order. A merge is a text of two tokens with a space between them, or a list of
// the two. There may be half a million, so they are read by hand where nothing is escaped: data has been checked to be JSON.
func eachMerge(data json.RawMessage, f func(merged string) error) error {
	if len(data) == 0 || data[0] != '[' {
		return errors.New("merges must be a list")
	}
	s := scanner{rest: data[1:]}
	for s.more() {
		var merged string
		switch s.rest[0] {
		case '"':
			pair, err := s.text()
			if err != nil {
				return err
			}
			first, second, ok := strings.Cut(pair, " ")
			if !ok {
				return fmt.Errorf("merge %q is no pair", pair)
			}
			merged = first + second
		case '[':
			s.rest = s.rest[1:]
			for s.more() {
				if s.rest[0] != '"' {
					return errors.New("a merge must be two texts")
				}
				part, err := s.text()
				if err != nil {
					return err
				}
				merged += part
			}
		default:
			return errors.New("a merge must be a text or a list")
		}
		if err := f(merged); err != nil {
			return err
		}
	}
	return nil
}

// scanner reads lists and texts of checked JSON.
type scanner struct{ rest []byte }

// more goes to the next item of a list, or behind its end.
func (s *scanner) more() bool {
	for i, c := range s.rest {
		switch c {
		case ' ', '\t', '\n', '\r', ',':
		case ']':
			s.rest = s.rest[i+1:]
			return false
		default:
			s.rest = s.rest[i:]
			return true
		}
	}
	s.rest = nil
	return false
}

// text reads the text that comes next.
func (s *scanner) text() (string, error) {
	escaped := false
	for i := 1; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			literal := s.rest[:i+1]
			s.rest = s.rest[i+1:]
			if !escaped {
				return string(literal[1 : len(literal)-1]), nil
			}
			var out string
			err := json.Unmarshal(literal, &out)
			return out, err
		}
	}
	return "", errors.New("a text of merges does not end")
}
