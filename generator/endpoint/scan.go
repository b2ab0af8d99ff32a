package endpoint

import (
	"bytes"
	"fmt"
)

// maxDepth bounds the nesting of what a server sends. Real answers stay below ten.
const maxDepth = 512

// ProtocolError says why bytes are not the wire protocol.
type ProtocolError struct {
	Offset int // of the first byte that does not fit
	Reason string
}

// Error implements error. It does not quote the bytes: they are a model's answer.
func (e *ProtocolError) Error() string {
	return fmt.Sprintf("not the protocol at byte %d: %s", e.Offset, e.Reason)
}

// scanner walks over one JSON value from left to right without allocating. The caller asks for what it wants where it stands and
// skips the rest; everything that is passed is checked, so after end() the value is known to be valid JSON as encoding/json has it.
//
// The first violation is kept in err and empties the input. All methods then return their zero value, hence callers check once.
type scanner struct {
	data  []byte
	pos   int
	depth int
	err   error
}

func (s *scanner) fail(reason string) {
	if s.err == nil {
		s.err = &ProtocolError{Offset: s.pos, Reason: reason}
	}
	s.data, s.pos = nil, 0
}

// peek returns the first byte of the next token, 0 at the end of the input.
func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// end checks that nothing follows the value, and returns the violation if there was one.
func (s *scanner) end() error {
	if s.peek(); s.pos < len(s.data) {
		s.fail("data after the value")
	}
	return s.err
}

// object tells whether the value is an object; anything else is a violation.
func (s *scanner) object() bool {
	switch s.peek() {
	case '{':
		return true
	case '<':
		s.fail("markup instead of JSON")
	default:
		s.fail("not a JSON object")
	}
	return false
}

// enterObject steps into an object and tells whether it has a member to read:
//
//	for ok := s.enterObject(); ok; ok = s.nextMember() { switch string(s.name()) { case "x": …; default: s.skip() } }
//
// A value of another kind is skipped.
func (s *scanner) enterObject() bool { return s.enter('{', '}') }

// nextMember moves on from a member's value and tells whether another member follows.
func (s *scanner) nextMember() bool { return s.next('}') }

// enterArray steps into an array and tells whether it has an element to read. A value of another kind is skipped.
func (s *scanner) enterArray() bool { return s.enter('[', ']') }

// nextElement moves on from an element and tells whether another one follows.
func (s *scanner) nextElement() bool { return s.next(']') }

func (s *scanner) enter(first, last byte) bool {
	if s.peek() != first {
		s.skip()
		return false
	}
	if s.depth++; s.depth > maxDepth {
		s.fail("nested too deeply")
		return false
	}
	s.pos++
	if s.peek() == last {
		s.pos++
		s.depth--
		return false
	}
	return true
}

func (s *scanner) next(last byte) bool {
	switch s.peek() {
	case ',':
		s.pos++
		return true
	case last:
		s.pos++
		s.depth--
	default:
		s.fail("a comma or the end of a list or object is missing")
	}
	return false
}

// name reads a member's name and the colon.
func (s *scanner) name() []byte {
	if s.peek() != '"' {
		s.fail("a member's name is missing")
		return nil
	}
	t := s.text()
	if s.peek() != ':' {
		s.fail("a colon is missing")
		return nil
	}
	s.pos++
	return t.bytes()
}

// skip passes any value.
func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '"':
		s.text()
	case '{':
		for ok := s.enterObject(); ok; ok = s.nextMember() {
			s.name()
			s.skip()
		}
	case '[':
		for ok := s.enterArray(); ok; ok = s.nextElement() {
			s.skip()
		}
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

// raw passes any value and returns it as it stands, nil if it is malformed.
func (s *scanner) raw() []byte {
	s.peek()
	data, from := s.data, s.pos
	s.skip()
	if s.err != nil {
		return nil
	}
	return data[from:s.pos]
}

// truthy passes any value and tells whether it says something: not null, false, 0 or empty. Servers whose type always has an error
// member send such a value when there is none.
func (s *scanner) truthy() bool {
	switch s.peek() {
	case '"':
		return !s.text().empty()
	case '{':
		members := 0
		for ok := s.enterObject(); ok; ok = s.nextMember() {
			s.name()
			s.skip()
			members++
		}
		return members > 0
	case '[':
		elements := 0
		for ok := s.enterArray(); ok; ok = s.nextElement() {
			s.skip()
			elements++
		}
		return elements > 0
	case 't':
		s.skip()
		return true
	case 'f', 'n':
		s.skip()
		return false
	}
	return string(s.number()) != "0"
}

func (s *scanner) literal(word string) {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		s.fail("a value is malformed")
		return
	}
	s.pos += len(word)
}

// number reads a number as it stands; nil if there is none.
func (s *scanner) number() []byte {
	d, i := s.data, s.pos
	if at(d, i, '-') {
		i++
	}
	leadingZero := at(d, i, '0')
	start := i
	i, ok := digits(d, i)
	ok = ok && (!leadingZero || i == start+1)
	if ok && at(d, i, '.') {
		i, ok = digits(d, i+1)
	}
	if ok && (at(d, i, 'e') || at(d, i, 'E')) {
		i++
		if at(d, i, '+') || at(d, i, '-') {
			i++
		}
		i, ok = digits(d, i)
	}
	if !ok {
		s.fail("a value is missing or malformed")
		return nil
	}
	raw := d[s.pos:i]
	s.pos = i
	return raw
}

func at(d []byte, i int, c byte) bool { return i < len(d) && d[i] == c }

// digits passes digits from i on, and tells whether there is at least one.
func digits(d []byte, i int) (end int, ok bool) {
	end = i
	for end < len(d) && '0' <= d[end] && d[end] <= '9' {
		end++
	}
	return end, end > i
}
