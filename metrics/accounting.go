package metrics

import (
	"math/bits"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Accounting is how the output tokens of an answer are spread over the gaps between its content events. Where the events themselves tell
// how many tokens there are so far, their differences are taken, whatever is configured.
type Accounting string

// The accountings.
const (
	Estimated  Accounting = "estimated"   // each event stands for as many tokens as those of the last 64 successes did on average
	EvenSpread Accounting = "even_spread" // the same number for each gap, as in AIPerf; an answer counts when it has ended, not before
)

// attributions are the ways in which the tokens of a gap can be known.
var attributions = []string{"usage_chunk", string(Estimated), string(EvenSpread)}

// Places in attributions.
const (
	byUsage = iota
	byEstimate
	bySpread
)

// Validate finds what is wrong with a choice that is written at path.
func (a Accounting) Validate(path string) []error {
	switch a {
	case Estimated, EvenSpread:
		return nil
	}
	return []error{invalid.Key(path, "must be one of %s, %s, got %q", Estimated, EvenSpread, string(a))}
}

// micro is the number of parts of a token, of a token per second and of a request in which the sweep counts. Whole numbers add up to
// exactly nothing when the last request has ended, however long the process runs.
const micro = 1_000_000

// maxMicroTokens bounds a count that a server tells: 2^24 tokens.
const maxMicroTokens = micro << 24

// microTokens converts a count of tokens.
func microTokens(n int64) int64 { return min(max(n, 0), maxMicroTokens/micro) * micro }

// maxRate is the highest rate of one request, 10^10 tokens per second in millionths: two instants that nearly coincide must not
// overflow a sum. What is above it counts as late.
const maxRate = 10_000_000_000 * micro

// rateOf is the rate at which so many millionths of a token come in ns nanoseconds, which must be more than 0.
func rateOf(tokens, ns int64) int64 {
	hi, lo := bits.Mul64(uint64(tokens), 1e9)
	lo, carry := bits.Add64(lo, uint64(ns)/2, 0) // rounds to the nearest
	if hi += carry; hi >= uint64(ns) {
		return maxRate
	}
	rate, _ := bits.Div64(hi, lo, uint64(ns))
	return int64(min(rate, maxRate))
}

// tokensAt is how many millionths of a token come in ns nanoseconds at a rate. It must have been made by rateOf, for no less time.
func tokensAt(rate, ns int64) int64 {
	hi, lo := bits.Mul64(uint64(rate), uint64(ns))
	tokens, _ := bits.Div64(hi, lo, 1e9)
	return int64(tokens)
}

// eventRatio is how many tokens a content event after the first stands for, by the last successes whose server told its counts.
type eventRatio struct {
	last           [64]struct{ tokens, events int64 }
	next           int
	tokens, events int64 // sums of last
}

// learn takes an answer with so many millionths of a token after those of its first event, and so many events after that.
func (e *eventRatio) learn(tokens, events int64) {
	oldest := &e.last[e.next]
	e.tokens += tokens - oldest.tokens
	e.events += events - oldest.events
	oldest.tokens, oldest.events = tokens, events
	e.next = (e.next + 1) % len(e.last)
}

// perEvent is the ratio, in millionths of a token; one token while nothing is known.
func (e *eventRatio) perEvent() int64 {
	if e.events == 0 {
		return micro
	}
	return (e.tokens + e.events/2) / e.events
}
