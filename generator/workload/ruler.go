package workload

import (
	"math"
	"slices"
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

// maxRounds bounds the search for a text of a wished length.
const maxRounds = 24

// sized makes a text of so many tokens: exactly, or as nearly as can be, with a tokenizer; else by its size. write makes a text of at
// least floor and otherwise exactly size bytes, and a longer one begins like a shorter one.
func (r *ruler) sized(tokens float64, floor int, write func(size int) string) string {
	size := max(floor, int(max(0, tokens/r.perByte)+0.5))
	text := write(size)
	if r.tokenizer == nil {
		return text
	}
	wish := max(0, int(math.Round(tokens)))
	best, off := text, math.MaxInt
	low, high := floor, math.MaxInt // sizes known to be too small or right, and too large
	for range maxRounds {
		got := r.tokenizer.Count(text)
		if d := max(got-wish, wish-got); d < off {
			best, off = text, d
		}
		switch {
		case got == wish:
			return text
		case got < wish:
			low = max(low, size+1)
		default:
			high = min(high, size-1)
		}
		if low > high {
			break
		}
		// A secant through the origin, then halves where it leaves the bounds.
		next := size + int(math.Round(float64(wish-got)*float64(max(1, size))/float64(max(1, got))))
		if next < low || next > high || next == size {
			next = low
			if high < math.MaxInt {
				next = low + (high-low)/2
			}
		}
		size = next
		text = write(size)
	}
	return best
}

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
	p.text, p.made = r.sized(tokens, 0, write), true
	if r.tokenizer != nil {
		p.tokens = r.tokens(p.text)
	}
	return p.text
}
