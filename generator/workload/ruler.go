package workload

import (
	"math"
	"slices"
	"strings"
)

// Tokenizer counts tokens as the served model does, without its chat template. It must be safe for concurrent use.
type Tokenizer interface {
	Count(text string) int
}

// ruler tells how long texts are in tokens, as far as that is known now: by a tokenizer if there is one, else by what the server counted
// for earlier prompts. It is a copy that does not change.
type ruler struct {
	overhead  float64 // tokens that the server adds to a prompt: its chat template
	perByte   float64
	tokenizer Tokenizer // nil = there is none
}

// tokens is the length of a text.
func (r *ruler) tokens(text string) float64 {
	if r.tokenizer != nil && text != "" {
		return float64(r.tokenizer.Count(text))
	}
	return r.perByte * float64(len(text))
}

const (
	// maxRounds bounds the search for a text of a wished length.
	maxRounds = 24
	// maxNear is how many bytes around the nearest size are tried in the end: the last words of a text differ with its size, so that a few
	// bytes more may be a token less.
	maxNear = 24
)

// sized makes a text of so many tokens, and tells how many it has: exactly, or as nearly as can be, with a tokenizer; else by its size.
// write makes a text of at least floor and otherwise exactly size bytes, and a longer one begins like a shorter one.
func (r *ruler) sized(tokens float64, floor int, write func(size int) string) (text string, has float64) {
	size := max(floor, int(max(0, tokens/r.perByte)+0.5))
	if r.tokenizer == nil {
		text = write(size)
		return text, r.tokens(text)
	}
	s := search{wish: max(0, int(math.Round(tokens))), floor: floor, write: write, count: tally{tokenizer: r.tokenizer}}
	if !s.halve(size) {
		s.around()
		s.fillUp()
	}
	return s.best, float64(r.tokenizer.Count(s.best))
}

// search is for a text with a wished number of tokens.
type search struct {
	wish, floor int
	write       func(size int) string
	count       tally

	best      string // the nearest text so far
	size, off int    // of it: bytes, and tokens that it is off
	below     string // the nearest one that is too short
	lacks     int    // tokens that it is too short
}

// try makes and counts the text of a size, and keeps it if it is the nearest one.
func (s *search) try(size int) (has int) {
	text := s.write(size)
	has = s.count.of(text)
	if has == s.wish && !s.count.confirm(text) {
		has = s.count.of(text)
	}
	if off := max(has-s.wish, s.wish-has); s.best == "" || off < s.off {
		s.best, s.size, s.off = text, size, off
	}
	if lacks := s.wish - has; lacks > 0 && (s.below == "" || lacks < s.lacks) {
		s.below, s.lacks = text, lacks
	}
	return has
}

// halve goes nearer and nearer, and tells whether it has arrived.
func (s *search) halve(size int) bool {
	low, high := s.floor, math.MaxInt // the right size is in between
	for range maxRounds {
		has := s.try(size)
		switch {
		case has == s.wish:
			return true
		case has < s.wish:
			low = max(low, size+1)
		default:
			high = min(high, size-1)
		}
		if low > high {
			return false
		}
		size = between(low, high, size+int(math.Round(float64(s.wish-has)*float64(max(1, size))/float64(max(1, has)))))
	}
	return false
}

// around tries the sizes beside the nearest one.
func (s *search) around() {
	center := s.size
	for distance := 1; distance <= maxNear && s.off > 0; distance++ {
		s.try(center + distance)
		if s.off > 0 && center-distance >= s.floor {
			s.try(center - distance)
		}
	}
}

// fillUp puts short words behind a text that is too short, most of which are a token in every vocabulary.
func (s *search) fillUp() {
	if s.off == 0 || s.below == "" {
		return
	}
	for _, word := range []string{" a", " I", " in", ".", " x"} {
		if text := s.below + strings.Repeat(word, s.lacks); s.count.tokenizer.Count(text) == s.wish {
			s.best, s.off = text, 0
			return
		}
	}
}

// between is the size to try next: what was guessed, or the middle if that is outside of what is possible.
func between(low, high, guess int) int {
	switch {
	case guess >= low && guess <= high:
		return guess
	case high == math.MaxInt:
		return low
	}
	return low + (high-low)/2
}

// tally counts texts of which each begins like the one before, so that only the ends have to be counted.
type tally struct {
	tokenizer Tokenizer
	whole     bool   // count all of each text
	base      string // a text of which all was counted
	has       int    // tokens of base
}

// minTally is the size from which ends are counted alone, in bytes.
const minTally = 2048

func (t *tally) of(text string) int {
	if cut := t.cut(text); cut > 0 {
		return t.has - t.tokenizer.Count(t.base[cut:]) + t.tokenizer.Count(text[cut:])
	}
	t.base, t.has = text, t.tokenizer.Count(text)
	return t.has
}

// confirm tells whether the count of a text was right, and counts all of each text from then on if it was not.
func (t *tally) confirm(text string) bool {
	if text == t.base { // all of it was counted
		return true
	}
	short := t.of(text)
	t.whole = true
	if t.of(text) != short {
		return false
	}
	t.whole = false
	return true
}

// cut is where text and base may be cut so that the counts of the parts add up: before the last space between two words that both have. 0
// = nowhere. Tokenizers take a space to the word behind it.
func (t *tally) cut(text string) int {
	if t.whole || len(t.base) < minTally {
		return 0
	}
	common := 0
	for common < min(len(text), len(t.base)) && text[common] == t.base[common] {
		common++
	}
	for at := common - 2; at > 0; at-- {
		if text[at] == ' ' && isLetter(text[at-1]) && isLetter(text[at+1]) {
			return at
		}
	}
	return 0
}

func isLetter(c byte) bool { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') }

// template learns what a server adds to the tokens of the texts, where these are known exactly: the median of the last differences, so
// that a single odd answer moves nothing.
type template struct {
	seen []float64 // the last ones, oldest first
}

// lastTemplates is how many differences are remembered.
const lastTemplates = 9

func (t *template) observe(difference float64) {
	if len(t.seen) == lastTemplates {
		t.seen = slices.Delete(t.seen, 0, 1)
	}
	t.seen = append(t.seen, min(max(difference, -maxOverhead), maxOverhead))
}

// overhead is what is expected of the next prompt.
func (t *template) overhead() float64 {
	if len(t.seen) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.seen))
	return sorted[len(sorted)/2]
}

// pinned is a text that stays the same although what is known about its length gets better: it is made anew only when that tells that it
// is wrong by more than drift.
type pinned struct {
	text   string
	tokens float64 // counted by a tokenizer, if there is one
	made   bool
}

const (
	// drift is how wrong a length may be before a text that should stay the same is changed, as a share of it, and slack as tokens.
	drift = 0.02
	slack = 1.5
)

// at is the text of so many tokens, made by write if there is none or its length is not right any more.
func (p *pinned) at(r *ruler, tokens float64, write func(size int) string) string {
	now := p.tokens
	if r.tokenizer == nil {
		now = r.perByte * float64(len(p.text))
	}
	if p.made && math.Abs(now-tokens) <= max(slack, drift*tokens) {
		return p.text
	}
	p.text, p.tokens = r.sized(tokens, least(""), write)
	p.made = true
	return p.text
}
