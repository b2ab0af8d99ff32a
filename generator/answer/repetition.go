package answer

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"unicode"
	"unicode/utf8"
)

// What a healthy answer does not reach: of half a million pieces of source code, data and documents, cut to 300, 2000 and 12000 bytes, one in
// five thousand does, tables in which a constant stands in line after line.
const (
	// loopWindow is how much of the end of an answer is searched for a loop, in bytes: four rounds of a page.
	loopWindow = 16 << 10
	// loopRounds is how often the same must have been said. Three equal records at the end of a list are still healthy.
	loopRounds = 4
	// loopBytes is how long a loop of a short piece must be, beside two rounds of it: "ha ha ha ha" is still healthy.
	loopBytes = 60
	// loopPlainBytes is how long a loop without words must be: rulers, borders of tables, and rows of zeros or 0x00 are healthy.
	loopPlainBytes = 2000

	// phraseWords is how many words make a phrase.
	phraseWords = 4
	// minPhrases is how many phrases there must be before their variety is judged.
	minPhrases = 200
	// phraseWindow is how many phrases at the end are judged.
	phraseWindow = 4000
	// minVariety is the least share of phrases that are said for the first time. Lists of records in JSON have more than 0.2.
	minVariety = 0.1
)

func newNoRepetition(*Expect) (func(*Answer) string, error) {
	seed := maphash.MakeSeed()
	return func(a *Answer) string {
		for _, text := range [][]byte{a.Text, a.Reasoning} {
			if period, size := loop(text); period > 0 {
				return fmt.Sprintf("ends in a loop: the last %d bytes are the same %d bytes over and over", size, period)
			}
			if share, phrases := variety(seed, text); phrases >= minPhrases && share < minVariety {
				return fmt.Sprintf("repeats itself: only %.0f %% of the last %d phrases are new", 100*share, phrases)
			}
		}
		return ""
	}, nil
}

// loop finds a piece that is repeated up to the very end, as a model that has lost its way does until its limit of tokens. It gives the
// piece's size and that of the whole loop in bytes, 0 = there is none. The work is linear: a prefix of the reversed end with a border of
// size b has the period size-b.
func loop(text []byte) (period, size int) {
	end := text[max(0, len(text)-loopWindow):]
	if len(end) < loopBytes {
		return 0, 0
	}
	at := func(i int) byte { return end[len(end)-1-i] }
	border := make([]int16, len(end)) // loopWindow fits
	for i := 1; i < len(end); i++ {
		b := int(border[i-1])
		for b > 0 && at(i) != at(b) {
			b = int(border[b-1])
		}
		if at(i) == at(b) {
			b++
		}
		border[i] = int16(b)
		if p := i + 1 - b; i+1 >= max(loopRounds*p, loopBytes+2*p) {
			period, size = p, i+1
		}
	}
	// Two rounds have each word of the piece whole, wherever it was cut.
	if period == 0 || (size < loopPlainBytes && !hasWord(end[len(end)-2*period:])) {
		return 0, 0
	}
	return period, size
}

// hasWord tells whether two letters stand side by side.
func hasWord(text []byte) bool {
	letter := false
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		before := letter
		letter = unicode.IsLetter(r)
		if before && letter {
			return true
		}
		text = text[size:]
	}
	return false
}

// variety gives the share of phrases at the end that are said for the first time, and how many phrases there are. Only phrases with a
// letter count: a matrix of zeros is healthy.
func variety(seed maphash.Seed, text []byte) (share float64, phrases int) {
	if len(text) < 2*minPhrases {
		return 1, 0
	}
	seen := make(map[uint64]struct{}, minPhrases)
	var phrase [phraseWords][]byte
	for words := 0; phrases < phraseWindow; words++ {
		text = bytes.TrimRightFunc(text, unicode.IsSpace)
		if len(text) == 0 {
			break
		}
		start := bytes.LastIndexFunc(text, unicode.IsSpace) + 1
		copy(phrase[1:], phrase[:phraseWords-1])
		phrase[0], text = text[start:], text[:start]
		if words < phraseWords-1 || !lettered(phrase) {
			continue
		}
		seen[phraseHash(seed, phrase)] = struct{}{}
		phrases++
	}
	if phrases == 0 {
		return 1, 0
	}
	return float64(len(seen)) / float64(phrases), phrases
}

func lettered(phrase [phraseWords][]byte) bool {
	for _, word := range phrase {
		if bytes.ContainsFunc(word, unicode.IsLetter) {
			return true
		}
	}
	return false
}

func phraseHash(seed maphash.Seed, phrase [phraseWords][]byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, word := range phrase {
		_, _ = h.Write(word) // never fails
		_ = h.WriteByte(0)   // likewise
	}
	return h.Sum64()
}
