package endpoint

import "bytes"

// Cumulative says how a streamed text grows.
type Cumulative string

// The choices of cumulative.
const (
	CumulativeAuto   Cumulative = "auto"   // as the events show
	CumulativeAlways Cumulative = "always" // each event repeats the text so far
	CumulativeNever  Cumulative = "never"  // each event has only what is new
)

// settledAfter is how many times a text must have grown out of the one before until it is certain that events repeat the text so far.
// Pieces that happen to begin with the piece before, such as " " and " the", do not go on like that.
const settledAfter = 3

// growth tells what is new in each event of a text that comes in pieces, or as a whole that grows. Until it is certain which of the two it
// is, a text that is longer than the one before and begins with it is taken for a whole, and one that is the same for a piece, unless the
// text has grown before.
type growth struct {
	mode   Cumulative // auto until it is certain
	grown  int        // how many times a text has grown out of the one before
	last   []byte     // the text before, while it is not certain
	joined []byte     // all texts, for keep, while it is not certain
	size   int        // of the longest text, where each is a whole
}

func newGrowth(mode Cumulative) growth {
	if mode == "" {
		mode = CumulativeAuto
	}
	return growth{mode: mode}
}

// next takes the text of an event and tells whether something in it is new.
func (g *growth) next(text []byte) bool {
	switch g.mode {
	case CumulativeAlways:
		grows := len(text) > g.size
		g.size = max(g.size, len(text))
		return grows
	case CumulativeNever:
		return len(text) > 0
	case CumulativeAuto:
	}
	switch {
	case len(text) == 0:
		return false
	case len(g.last) > 0 && !bytes.HasPrefix(text, g.last):
		g.mode = CumulativeNever
	case len(text) == len(g.last):
		return g.grown == 0
	case len(g.last) > 0:
		g.grown++
	}
	if g.grown == settledAfter {
		g.mode, g.size = CumulativeAlways, len(text)
	}
	g.last = append(g.last[:0], text...)
	return true
}

// keep puts the text of the event that next has just taken to the text of the answer.
func (g *growth) keep(answer, text []byte) []byte {
	switch g.mode {
	case CumulativeAlways:
		if len(text) < len(answer) {
			return answer
		}
		return append(answer[:0], text...)
	case CumulativeNever:
		if g.joined != nil { // what looked like wholes was not
			answer = append(answer[:0], g.joined...)
			g.joined = nil
		}
		return append(answer, text...)
	case CumulativeAuto:
	}
	g.joined = append(g.joined, text...)
	switch {
	case g.grown == 0:
		return append(answer[:0], g.joined...)
	case len(text) == 0:
		return answer
	}
	return append(answer[:0], text...)
}
