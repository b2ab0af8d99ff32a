package endpoint

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"
)

// text is a JSON string as it stands in the data. It is only valid as long as the data is.
type text struct {
	quoted  []byte // with its quotes; nil if the value was no string
	escaped bool
}

// empty tells whether the string has no character. An escape is never empty, so there is nothing to decode.
func (t text) empty() bool { return len(t.quoted) <= len(`""`) }

// bytes returns the string's bytes. Only a string with escapes allocates; no server escapes names.
func (t text) bytes() []byte {
	switch {
	case t.empty():
		return nil
	case t.escaped:
		return []byte(t.decode())
	}
	return t.quoted[1 : len(t.quoted)-1]
}

// decode returns the string with escapes resolved and bad UTF-8 replaced.
func (t text) decode() string {
	if t.empty() {
		return ""
	}
	if plain := t.quoted[1 : len(t.quoted)-1]; !t.escaped && utf8.Valid(plain) {
		return string(plain)
	}
	var out string
	if json.Unmarshal(t.quoted, &out) != nil {
		return "" // cannot happen: the scanner has checked it
	}
	return out
}

// appendTo appends the string as decode gives it. Only one with escapes or bad UTF-8 allocates beyond dst.
func (t text) appendTo(dst []byte) []byte {
	if t.empty() {
		return dst
	}
	if plain := t.quoted[1 : len(t.quoted)-1]; !t.escaped && utf8.Valid(plain) {
		return append(dst, plain...)
	}
	return append(dst, t.decode()...)
}

// text reads a string; a value of another kind is skipped.
func (s *scanner) text() text {
	if s.peek() != '"' {
		s.skip()
		return text{}
	}
	d, i, escaped := s.data, s.pos+1, false
	for {
		i += plain(d[i:])
		if i >= len(d) {
			s.fail("a string does not end")
			return text{}
		}
		switch d[i] {
		case '"':
			t := text{quoted: d[s.pos : i+1], escaped: escaped}
			s.pos = i + 1
			return t
		case '\\':
			n := escape(d[i:])
			if n == 0 {
				s.fail("a string has a malformed escape")
				return text{}
			}
			i += n
			escaped = true
		default:
			s.fail("a string has a control character")
			return text{}
		}
	}
}

// plain returns the length of the run of bytes at the start of d that stand for themselves in a string: neither quote, backslash nor
// control character. It looks at eight bytes at a time, for lines of a megabyte.
func plain(d []byte) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	for ; len(d)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(d[i:])
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		// (x-ones)&^x has a byte's high bit set if the byte is zero, (w-ones*0x20)&^w if it is below 0x20. Borrows only reach bytes
		// above the first hit, so the lowest bit is exact.
		hit := ((quote-ones)&^quote | (backslash-ones)&^backslash | (w-ones*0x20)&^w) & highs
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(d); i++ {
		if c := d[i]; c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// escape returns the length of the escape sequence at the start of d, 0 if it is malformed.
func escape(d []byte) int {
	if len(d) < 2 {
		return 0
	}
	switch d[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
	default:
		return 0
	}
	if len(d) < 6 {
		return 0
	}
	for _, c := range d[2:6] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return 0
		}
	}
	return 6
}
