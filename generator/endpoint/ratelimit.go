package endpoint

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Resource is what a server limits.
type Resource string

// The resources.
const (
	Requests     Resource = "requests"
	Tokens       Resource = "tokens"
	InputTokens  Resource = "input_tokens"
	OutputTokens Resource = "output_tokens"
)

// Resources is the closed list.
var Resources = []Resource{Requests, Tokens, InputTokens, OutputTokens}

// RateLimit is what a server says about one of its limits. Zero is a value, hence the flags.
type RateLimit struct {
	Resource Resource
	// Limit is how much a window allows, Remaining how much of it is left.
	Limit, Remaining           float64
	LimitKnown, RemainingKnown bool
	// Reset is how long it takes until the window is whole again, not negative.
	Reset      time.Duration
	ResetKnown bool
}

// rateLimitHeaders are the headers of each resource, in canonical form. If a gateway adds its own to those of the server behind it, the
// first row counts.
var rateLimitHeaders = []struct {
	resource                Resource
	limit, remaining, reset string
}{
	{Requests, "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{Tokens, "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{Requests, "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{Tokens, "Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{
		InputTokens, "Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining",
		"Anthropic-Ratelimit-Input-Tokens-Reset",
	},
	{
		OutputTokens, "Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining",
		"Anthropic-Ratelimit-Output-Tokens-Reset",
	},
}

// RateLimits reads what the header of an answer says about the server's limits, each resource at most once; nil if it says nothing. now is
// the wall-clock time at which the header came.
func RateLimits(header http.Header, now time.Time) []RateLimit {
	var limits []RateLimit
	for _, names := range &rateLimitHeaders {
		l := RateLimit{Resource: names.resource}
		l.Limit, l.LimitKnown = amount(header.Get(names.limit))
		l.Remaining, l.RemainingKnown = amount(header.Get(names.remaining))
		l.Reset, l.ResetKnown = untilReset(header.Get(names.reset), now)
		known := l.LimitKnown || l.RemainingKnown || l.ResetKnown
		if known && !slices.ContainsFunc(limits, func(other RateLimit) bool { return other.Resource == l.Resource }) {
			limits = append(limits, l)
		}
	}
	return limits
}

// amount reads a number that is finite and not negative.
func amount(text string) (n float64, known bool) {
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return 0, false
	}
	return n, true
}

// untilReset reads when a window is whole again: a duration (6m0s, OpenAI), a number of seconds (gateways), or an instant (Anthropic).
func untilReset(text string, now time.Time) (d time.Duration, known bool) {
	if text == "" {
		return 0, false
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d, d >= 0
	}
	if seconds, known := amount(text); known {
		return time.Duration(min(seconds*float64(time.Second), math.MaxInt64/2)), true
	}
	at, err := time.Parse(time.RFC3339, text)
	return max(at.Sub(now), 0), err == nil
}
