package answer

import (
	"hash/fnv"
	"math"
	"slices"
	"unicode/utf8"
)

const (
	maxSketchRunes  = 4096 // of an answer that are compared
	maxSketchTokens = 64   // whose probabilities are compared
	maxSketchTops   = 20   // alternatives of a token

	// minLogprob is where probabilities end: servers say -9999 or nothing for what they ruled out.
	minLogprob = -20.0
	// maxDifference bounds what one token contributes to a distance, in nats.
	maxDifference = 1.0
)

// sketch is what is kept of an answer: enough to tell how far another one is the same, not enough to read it.
type sketch struct {
	text   []uint16 // a chain of hashes, one for each character: equal up to the first difference
	tokens []tokenSketch
	// grain is the step that all differences of log-probabilities are multiples of, in nats; 0 = none. Servers that compute the last layer
	// with 16 bits have one, and their noise is of its size as soon as requests share a batch, though there is none when the server idles.
	grain float64
}

// tokenSketch is a token and what else could have stood there.
type tokenSketch struct {
	token  uint32      // hash
	tops   []topSketch // the likeliest, and behind them the token itself if it was not among them
	ranked int         // how many of tops are the likeliest: what is missing is at most as likely as the last of these
}

type topSketch struct {
	token   uint32
	logprob float64
}

func sketchOf(t *Transcript) sketch {
	s := sketch{text: make([]uint16, 0, min(maxSketchRunes, len(t.Reasoning)+len(t.Text)))}
	c := chain{h: chainStart}
	s.write(&c, reasoningPart, t.Reasoning)
	s.write(&c, textPart, t.Text)
	for i := range t.Tools {
		s.write(&c, namePart, []byte(t.Tools[i].Name))
		s.write(&c, argumentsPart, t.Tools[i].Arguments)
	}
	for i := range t.Logprobs[:min(len(t.Logprobs), maxSketchTokens)] {
		s.tokens = append(s.tokens, tokenSketchOf(&t.Logprobs[i]))
	}
	s.grain = grainOf(s.tokens)
	return s
}

// part tells what the same characters are said as.
type part uint64

const (
	reasoningPart part = iota
	textPart
	namePart
	argumentsPart
	parts
)

func (s *sketch) write(c *chain, as part, text []byte) {
	for len(text) > 0 && len(s.text) < maxSketchRunes {
		r, size := utf8.DecodeRune(text)
		s.text = append(s.text, c.next(uint64(r)*uint64(parts)+uint64(as)))
		text = text[size:]
	}
}

// chain hashes what came so far, FNV-1a over whole values.
type chain struct{ h uint64 }

const (
	chainStart = 14695981039346656037
	chainPrime = 1099511628211
)

func (c *chain) next(v uint64) uint16 {
	c.h = (c.h ^ v) * chainPrime
	mixed := c.h ^ c.h>>32
	return uint16(mixed ^ mixed>>16)
}

func tokenSketchOf(l *Logprob) tokenSketch {
	out := tokenSketch{token: tokenHash(l.Token)}
	for _, alternative := range l.Top[:min(len(l.Top), maxSketchTops)] {
		out.add(tokenHash(alternative.Token), alternative.Value)
	}
	out.ranked = len(out.tops)
	out.add(out.token, l.Value)
	return out
}

func (t *tokenSketch) add(token uint32, logprob float64) {
	if math.IsNaN(logprob) || logprob > 0 || t.of(token) != nil {
		return
	}
	t.tops = append(t.tops, topSketch{token, max(logprob, minLogprob)})
}

// of finds an alternative.
func (t *tokenSketch) of(token uint32) *topSketch {
	i := slices.IndexFunc(t.tops, func(s topSketch) bool { return s.token == token })
	if i < 0 {
		return nil
	}
	return &t.tops[i]
}

func tokenHash(token string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(token)) // never fails
	return h.Sum32()
}

// comparison is how another answer differs from that of a baseline.
type comparison struct {
	share     float64 // of the longer of the two, equal from the start
	distance  float64 // mean over the alternatives of all positions, in nats; NaN = not known
	positions int     // that have the same context in both answers and are told by both
	// gap is how much less likely the other answer's first different token was in the baseline, in nats: 0 = none differs among those that
	// are compared, +Inf = it was none of the alternatives.
	gap float64
}

func (s *sketch) compare(o *sketch) comparison {
	equal := 0
	for equal < min(len(s.text), len(o.text)) && s.text[equal] == o.text[equal] {
		equal++
	}
	c := comparison{share: float64(equal) / float64(max(len(s.text), len(o.text), 1)), distance: math.NaN()}
	var sum float64
	var terms int
	for i := range min(len(s.tokens), len(o.tokens)) {
		a, b := &s.tokens[i], &o.tokens[i]
		c.positions++
		sum += a.difference(b) + b.difference(a)
		terms += len(a.tops) + len(b.tops)
		if a.token != b.token {
			c.gap = a.gap(b.token)
			break
		}
	}
	if terms == 0 {
		c.positions = 0
		return c
	}
	c.distance = sum / float64(terms)
	return c
}

// difference sums over the alternatives. One that the other does not list is at most as likely there as the last that it lists.
func (t *tokenSketch) difference(o *tokenSketch) float64 {
	last := 0.0
	for i := range o.tops[:o.ranked] {
		last = min(last, o.tops[i].logprob)
	}
	var sum float64
	for _, a := range t.tops {
		if b := o.of(a.token); b != nil {
			sum += min(maxDifference, math.Abs(a.logprob-b.logprob))
		} else {
			sum += min(maxDifference, max(0, a.logprob-last))
		}
	}
	return sum
}

// gap is how much less likely another token was than the one that was taken.
func (t *tokenSketch) gap(other uint32) float64 {
	taken, instead := t.of(t.token), t.of(other)
	if taken == nil || instead == nil {
		return math.Inf(1)
	}
	return max(0, taken.logprob-instead.logprob)
}

// grainOf finds the median over positions of the largest power of two that divides all differences between the alternatives of one.
func grainOf(tokens []tokenSketch) float64 {
	var grains []float64
	for i := range tokens {
		if len(tokens[i].tops) >= minGrainTops {
			grains = append(grains, tokens[i].grain())
		}
	}
	if len(grains) == 0 {
		return 0
	}
	slices.Sort(grains)
	return grains[len(grains)/2]
}

const (
	minGrainTops       = 4
	maxGrain, minGrain = 1.0 / 4, 1.0 / 256
	grainError         = 1e-4 // a sum over the vocabulary in 32 bits moves all of them by less
)

func (t *tokenSketch) grain() float64 {
	for grain := maxGrain; grain >= minGrain; grain /= 2 {
		if !slices.ContainsFunc(t.tops[1:], func(s topSketch) bool {
			steps := (t.tops[0].logprob - s.logprob) / grain
			return math.Abs(steps-math.Round(steps))*grain > grainError
		}) {
			return grain
		}
	}
	return 0
}
