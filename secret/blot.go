package secret

import (
	"bytes"
	"regexp"
)

// blot is what Blot writes over each byte of a secret. It needs no escape in JSON, in a URL or in a header.
const blot = '*'

// Blot writes over each secret in p, so that nothing else moves: lengths and places mean something in the bytes of a stream. It also knows the
// spellings of a secret, and the beginning of one of at least 8 bytes at the end of p, where a stream has broken off.
func (r *Redactor) Blot(p []byte) {
	if len(p) < minRedactedBytes {
		return
	}
	var spans [][2]int // found before anything is changed: secrets may overlap
	for _, word := range r.forms() {
		spans = append(spans, occurrences(p, word)...)
		if n := begun(p, word); n > 0 {
			spans = append(spans, [2]int{len(p) - n, len(p)})
		}
	}
	for _, span := range append(spans, quoted(p)...) {
		for i := span[0]; i < span[1]; i++ {
			p[i] = blot
		}
	}
}

// occurrences finds a word, also where it overlaps itself: then it is one span.
func occurrences(p, word []byte) [][2]int {
	var spans [][2]int
	for from := 0; ; from++ {
		next := bytes.Index(p[from:], word)
		if next < 0 {
			return spans
		}
		from += next
		if last := len(spans) - 1; last >= 0 && from <= spans[last][1] {
			spans[last][1] = from + len(word)
		} else {
			spans = append(spans, [2]int{from, from + len(word)})
		}
	}
}

// begun is how many bytes at the end of p are the beginning of a word, if they are too many to be shown.
func begun(p, word []byte) int {
	for n := min(len(p), len(word)-1); n >= minRedactedBytes; n-- {
		if bytes.HasSuffix(p, word[:n]) {
			return n
		}
	}
	return 0
}

// credentialHere is credential at the beginning of a text.
var credentialHere = regexp.MustCompile(`^(?i)(basic|bearer)\s+[A-Za-z0-9+/=._~-]{8,}`)

// quoted finds the credentials of Authorization headers. The expression alone would take milliseconds for a long prompt.
func quoted(p []byte) [][2]int {
	lower := make([]byte, len(p))
	for i, c := range p {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	var spans [][2]int
	for _, scheme := range []string{"basic", "bearer"} {
		for from := 0; ; from++ {
			next := bytes.Index(lower[from:], []byte(scheme))
			if next < 0 {
				break
			}
			from += next
			match := credentialHere.Find(p[from:])
			if match == nil || (from > 0 && isWord(p[from-1])) {
				continue
			}
			// What stays of the match is the scheme and the space behind it, or all of it.
			if masked := maskCredential(string(match)); masked != string(match) {
				token := bytes.TrimLeft(match[len(scheme):], " \t\r\n\f\v")
				spans = append(spans, [2]int{from + len(match) - len(token), from + len(match)})
			}
		}
	}
	return spans
}

// isWord tells that no word begins behind a byte.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
