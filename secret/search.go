package secret

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// span is a part of a text: from the first byte to before the second.
type span struct{ from, to int }

// search finds what may not be shown of a text: words, and credentials of Authorization headers, however many levels of escapes there are. What it finds is
// in order; none overlaps another.
func (l *lexicon) search(text []byte) []span {
	if len(text) < minRedactedBytes {
		return nil
	}
	var found []span
	for r, level := (&reading{text: text}), 0; r != nil && level <= maxLevels; r, level = r.unescaped(), level+1 {
		for _, s := range append(quoted(r.text), l.occurrences(r.text)...) {
			found = append(found, span{r.origin(s.from), r.origin(s.to)})
		}
	}
	return joined(found)
}

// joined makes one span of those that overlap.
func joined(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && s.from < out[last].to {
			out[last].to = max(out[last].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// lexicon are the words that are searched for, by the bytes with which they begin: one look at each place of a text is enough, however many there are.
type lexicon struct {
	words map[uint64][][]byte
	// maybe is false for what no word begins with, by hash.
	maybe [1 << hashBits]bool
}

const hashBits = 12

// hash spreads the beginnings of words.
func hash(begin uint64) uint64 { return begin * 0x9E3779B97F4A7C15 >> (64 - hashBits) }

func newLexicon(words []string) *lexicon {
	l := &lexicon{words: map[uint64][][]byte{}}
	for _, word := range words {
		begin := binary.LittleEndian.Uint64([]byte(word))
		l.words[begin] = append(l.words[begin], []byte(word))
		l.maybe[hash(begin)] = true
	}
	return l
}

// occurrences finds the words, and the beginnings of them where the text was cut.
func (l *lexicon) occurrences(p []byte) []span {
	var out []span
	for from := 0; from+minRedactedBytes <= len(p); from++ {
		begin := binary.LittleEndian.Uint64(p[from:])
		if !l.maybe[hash(begin)] {
			continue
		}
		for _, word := range l.words[begin] {
			n := minRedactedBytes
			for n < len(word) && from+n < len(p) && p[from+n] == word[n] {
				n++
			}
			if n == len(word) || isCut(p, from+n) {
				out = append(out, span{from, from + n})
			}
		}
	}
	return out
}

const ellipsis = "…"

// Abridged gives a text of at most so many bytes, at least that of a mark, which it has where the text was cut. What begins before the mark as a secret does
// is known as one: so a text may be cut before Redact sees it.
func Abridged(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, maxBytes-len(ellipsis))], "") + ellipsis
}

// isCut tells that a text ends there, or goes on with the mark of those who cut texts. The cut may have gone through an escape.
func isCut(p []byte, at int) bool {
	const marks = `\%&`
	begin := len(bytes.TrimRight(p[:at], marks)) // a mark may also be what the secret has there
	if rest := bytes.TrimLeft(p[begin:], marks); begin+len(rest) < len(p) {
		for n := 0; n < maxEntity && len(rest) > 0 && (isWord(rest[0]) || rest[0] == '#'); n++ {
			rest = rest[1:]
		}
		at = len(p) - len(rest)
	}
	return at == len(p) || bytes.HasPrefix(p[at:], []byte(ellipsis)) || bytes.HasPrefix(p[at:], []byte("..."))
}

// quoted finds what stands in Authorization headers, as servers like to quote them. Basic credentials and the tokens of OAuth 2.0 are in no file and no
// variable.
func quoted(p []byte) []span {
	lower := make([]byte, len(p))
	for i, c := range p {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	var spans []span
	for _, scheme := range []string{"basic", "bearer"} {
		for from := 0; ; from++ {
			next := bytes.Index(lower[from:], []byte(scheme))
			if next < 0 {
				break
			}
			from += next
			if token := tokenAt(p, from+len(scheme)); token.to-token.from >= minRedactedBytes && (from == 0 || !isWord(p[from-1])) && !isProse(p[token.from:token.to]) {
				spans = append(spans, token)
			}
		}
	}
	return spans
}

// tokenAt is what stands behind blanks, empty if there are none.
func tokenAt(p []byte, at int) span {
	from := at
	for from < len(p) && (p[from] == ' ' || p[from] >= '\t' && p[from] <= '\r') {
		from++
	}
	to := from
	for from > at && to < len(p) && (isWord(p[to]) || strings.IndexByte("+/=.~-", p[to]) >= 0) {
		to++
	}
	return span{from, to}
}

// isProse tells that what stands behind a scheme is a word: "Bearer authentication" has neither a capital letter inside nor anything but letters.
func isProse(token []byte) bool {
	odd := func(c rune) bool { return (c < 'a' || c > 'z') && c != '.' && c != '-' }
	return !bytes.ContainsFunc(token[1:], odd)
}

// isWord tells that no word begins behind a byte.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
