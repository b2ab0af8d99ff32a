package budget

import (
	"math"
	"math/bits"
)

// Kind is what is counted.
type Kind string

// The kinds.
const (
	Requests     Kind = "requests"
	InputTokens  Kind = "input_tokens"
	OutputTokens Kind = "output_tokens"
	Tokens       Kind = "tokens" // input and output together
	USD          Kind = "usd"
)

// Kinds is the closed list.
var Kinds = [kinds]Kind{requests: Requests, inputTokens: InputTokens, outputTokens: OutputTokens, tokens: Tokens, money: USD}

// kind is the place of a Kind in amounts.
type kind int

const (
	requests kind = iota
	inputTokens
	outputTokens
	tokens
	money
	kinds
)

// amounts is how much of each kind. Money is in nanodollars: sums of integers do not drift.
type amounts [kinds]int64

const nano = 1e9

// nanoUSD rounds down, but never to 0, which would mean that there is no limit.
func nanoUSD(usd float64) int64 {
	if usd == 0 {
		return 0
	}
	return max(1, int64(math.Floor(usd*nano)))
}

// units is an amount as users read it.
func (k kind) units(n int64) float64 {
	if k == money {
		return float64(n) / nano
	}
	return float64(n)
}

// Need is what a request uses, or may use at most.
type Need struct {
	InputTokens, OutputTokens int64
}

// maxNeed bounds what a server can make us believe that one request has used.
const maxNeed = int64(1e12)

// price is in nanodollars for a million tokens.
type price struct{ input, output uint64 }

func (c *Config) price() price {
	return price{uint64(math.Round(c.USDPerMillionInput * nano)), uint64(math.Round(c.USDPerMillionOutput * nano))}
}

// amounts is what one request with this need costs.
func (p price) amounts(n Need) amounts {
	in, out := min(max(n.InputTokens, 0), maxNeed), min(max(n.OutputTokens, 0), maxNeed)
	return amounts{requests: 1, inputTokens: in, outputTokens: out, tokens: in + out, money: p.cost(uint64(in), uint64(out))}
}

// cost rounds up to a whole nanodollar, once for the request.
func (p price) cost(in, out uint64) int64 {
	inHigh, inLow := bits.Mul64(in, p.input)
	outHigh, outLow := bits.Mul64(out, p.output)
	low, carry := bits.Add64(inLow, outLow, 0)
	low, carry2 := bits.Add64(low, 1e6-1, 0)
	high := inHigh + outHigh + carry + carry2
	if high >= 1e6 {
		return enough
	}
	quotient, _ := bits.Div64(high, low, 1e6)
	return int64(min(quotient, uint64(enough)))
}

// enough is more than any limit, and small enough that two of it can be added.
const enough = math.MaxInt64 / 4

// add does not overflow and does not fall below 0.
func add(used, n int64) int64 { return max(0, min(used+n, enough)) }

// clamped makes of amounts that somebody has written some that can be added.
func (a amounts) clamped() amounts {
	for k, n := range a {
		a[k] = add(n, 0)
	}
	return a
}
