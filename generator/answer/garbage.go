package answer

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// What a healthy answer does not reach: of half a million pieces of source code, data and documents, cut to 300, 2000 and 12000 bytes, one in
// fifteen thousand does, most of them tables of character sets. Shares are of the characters of an answer without white space.
const (
	// A few replacement characters are a subject of conversation, or a character that the limit of tokens cut in half; as many as that come
	// of a tokenizer that does not fit. The same holds of control and private characters.
	minBroken   = 4
	brokenShare = 0.02

	// An answer of at least minMarks characters is punctuation only if less than wordShare of them are letters, digits and pictures, which
	// text, code and tables always have, and more than markShare are marks that drawings do not have.
	minMarks  = 16
	wordShare = 0.02
	markShare = 0.5

	// From minShout on, a run of one punctuation mark is no emphasis, unless it is a mark that people draw lines with. "!" is the first token
	// of many vocabularies, and hence what NaN for all tokens gives. From minMark on, it is no answer if there is nothing else.
	minShout = 24
	minMark  = 4

	// Where a letter of one alphabet stands beside one of another, a word has changed its script.
	minMixed   = 4
	mixedShare = 0.02
)

func newNoGarbage(*Expect) (func(*Answer) string, error) {
	return func(a *Answer) string {
		for _, text := range [][]byte{a.Text, a.Reasoning} {
			if wrong := garbage(text); wrong != "" {
				return wrong
			}
		}
		return ""
	}, nil
}

// garbage says why text is none, "" if it may be.
func garbage(text []byte) string {
	var c census
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		c.add(r)
		text = text[size:]
	}
	return c.verdict()
}

// census counts what an answer is made of.
type census struct {
	all, words, letters int // characters without white space
	marks               int // of all, punctuation that draws no lines
	broken, cut         int // of all, what is no text; and as much of it at the very end as does not decode
	mixed               int // letters beside one of another alphabet

	last         rune
	before       alphabet // of last
	run, longest int      // of one mark: the one that last is in, and the longest that is no line
}

func (c *census) add(r rune) {
	run := 1
	if r == c.last {
		run += c.run
	}
	c.last, c.run = r, run
	before := c.before
	c.before = none
	if unicode.IsSpace(r) {
		return
	}
	c.all++
	if isBroken(r) {
		c.broken++
		if r == utf8.RuneError {
			c.cut++
		}
		return
	}
	c.cut = 0
	if isWord(r) {
		c.words++
	} else if isMark(r) && !isRuler(r) {
		c.marks++
		c.longest = max(c.longest, run)
	}
	if now := alphabetOf(r); now != none {
		c.letters++
		if before != none && before != now {
			c.mixed++
		}
		c.before = now
	}
}

func (c *census) verdict() string {
	const cutBytes = utf8.UTFMax - 1 // what may be left of a character that was cut in half
	broken := c.broken - min(c.cut, cutBytes)
	switch share := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }; {
	case broken >= minBroken && share(broken, c.all) > brokenShare:
		return fmt.Sprintf("%d of its %d characters are no text: replacement, control or private characters, or bytes that are not UTF-8", broken, c.all)
	case c.longest >= minShout:
		return fmt.Sprintf("repeats one punctuation mark %d times", c.longest)
	case c.all >= minMark && c.run == c.all && c.words == 0:
		return fmt.Sprintf("is one punctuation mark, %d times", c.all)
	case c.all >= minMarks && share(c.words, c.all) < wordShare && share(c.marks, c.all) > markShare:
		return fmt.Sprintf("is punctuation only: %d of its %d characters belong to words", c.words, c.all)
	case c.mixed >= minMixed && share(c.mixed, c.letters) > mixedShare:
		return fmt.Sprintf("mixes scripts within words, %d times", c.mixed)
	}
	return ""
}

// isBroken tells what no text has: what does not decode, control characters, and characters that mean nothing to others.
func isBroken(r rune) bool {
	if ' ' <= r && r <= '~' {
		return false
	}
	return r == utf8.RuneError || (unicode.IsControl(r) && !unicode.IsSpace(r)) || unicode.Is(unicode.Co, r)
}

// isWord tells what carries meaning: letters and their marks, numbers, and pictures.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.So)
}

func isMark(r rune) bool {
	return unicode.IsPunct(r) || unicode.IsSymbol(r) && !unicode.Is(unicode.So, r)
}

// isRuler tells the marks that people draw lines and frames with, and leave gaps with.
func isRuler(r rune) bool {
	switch r {
	case '-', '=', '_', '*', '#', '~', '.', '+', '/', '\\', '|', '<', '>', '^', '…', '·', '—', '–', '‾', '•':
		return true
	}
	return false
}

// alphabet is a script whose words are not written into those of another one. There is none for scripts that stand beside Latin letters
// without a space in healthy text: Greek as symbols, Chinese, Japanese, Korean, Thai and their neighbours, Arabic and Hebrew.
type alphabet uint8

const (
	none alphabet = iota
	latin
	cyrillic
	devanagari
	bengali
	tamil
	georgian
	armenian
	ethiopic
)

func alphabetOf(r rune) alphabet {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		return latin
	case r < 0xC0:
		return none
	case r < 0x250:
		return latin
	case r >= 0x2E80: // most of what is left, and quickly told
		return none
	}
	for i := range alphabets {
		if unicode.Is(alphabets[i].table, r) {
			return alphabets[i].alphabet
		}
	}
	return none
}

var alphabets = []struct {
	table    *unicode.RangeTable
	alphabet alphabet
}{
	{unicode.Cyrillic, cyrillic},
	{unicode.Devanagari, devanagari},
	{unicode.Bengali, bengali},
	{unicode.Tamil, tamil},
	{unicode.Georgian, georgian},
	{unicode.Armenian, armenian},
	{unicode.Ethiopic, ethiopic},
}
