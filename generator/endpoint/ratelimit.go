package endpoint

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// rateLimitHeaders are the headers of each resource, in canonical form. If a gateway adds its own to those of the server behind it, the
// first row of a resource counts.
var rateLimitHeaders = []struct{ resource, limit, remaining, reset string }{
	{"requests", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"tokens", "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{
		"requests", "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining",
		"Anthropic-Ratelimit-Requests-Reset",
	},
	{"tokens", "Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{
		"input_tokens", "Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining",
		"Anthropic-Ratelimit-Input-Tokens-Reset",
	},
	{
		"output_tokens", "Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining",
		"Anthropic-Ratelimit-Output-Tokens-Reset",
	},
}

// RateLimits reads what the header of an answer says about the server's limits, each resource at most once; nil if it says nothing. now is
// the wall-clock time at which the header came.
func RateLimits(header http.Header, now time.Time) []metrics.RateLimit {
	var limits []metrics.RateLimit
	for i := range rateLimitHeaders {
		names := &rateLimitHeaders[i]
		l := metrics.RateLimit{
			Resource: names.resource, Limit: amount(header.Get(names.limit)), Remaining: amount(header.Get(names.remaining)),
			Reset: untilReset(header.Get(names.reset), now),
		}
		told := l.Limit.Defined || l.Remaining.Defined || l.Reset.Defined
		if told && !slices.ContainsFunc(limits, func(other metrics.RateLimit) bool { return other.Resource == l.Resource }) {
			limits = append(limits, l)
		}
	}
	return limits
}

// amount reads a number of 0 or more; anything else is undefined.
func amount(text string) metrics.Value {
	if text == "" {
		return metrics.Value{}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 1) {
		return metrics.Value{}
	}
	return metrics.Value{V: n, Defined: true}
}

// untilReset reads in how many seconds a window is whole again: a duration (6m0s, OpenAI), a number of seconds (gateways), or an instant
// (Anthropic), where the past is now.
func untilReset(text string, now time.Time) metrics.Value {
	if text == "" {
		return metrics.Value{}
	}
	if n := amount(text); n.Defined {
		return n
	}
	if d, err := time.ParseDuration(text); err == nil {
		return metrics.Value{V: d.Seconds(), Defined: d >= 0}
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return metrics.Value{V: max(at.Sub(now).Seconds(), 0), Defined: true}
	}
	return metrics.Value{}
}
