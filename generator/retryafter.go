package generator

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// retryAfter reads how long a server asks to be left alone: retry-after-ms, else Retry-After in seconds or as a date, else what it says
// of the limit that is used up. A time in the past is 0; what is none of these is undefined.
func retryAfter(header http.Header, status int, now time.Time) metrics.Value {
	if ms, ok := seconds(header.Get("Retry-After-Ms")); ok {
		return metrics.Value{V: ms / 1e3, Defined: true}
	}
	text := header.Get("Retry-After")
	if s, ok := seconds(text); ok {
		return metrics.Value{V: s, Defined: true}
	}
	if at, err := http.ParseTime(text); err == nil {
		return metrics.Value{V: max(0, at.Sub(now).Seconds()), Defined: true}
	}
	return limitReset(header, status, now)
}

// seconds reads a number of 0 or more, fractions included.
func seconds(text string) (float64, bool) {
	s, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return s, err == nil && s >= 0 && !math.IsInf(s, 1)
}

// rateLimits are the headers that tell of a limit what remains of it and when it is whole again.
var rateLimits = []struct{ remaining, reset string }{
	// OpenAI and those who follow it; the reset is a duration: "6m0s", "20ms".
	{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	// Anthropic; the reset is an instant by RFC 3339.
	{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
}

// limitReset is when the limits that are used up are whole again. A 429 may come without any, if a little remains, but less than
// the request needs; then it is the first reset of all, since which limit it was is not told.
func limitReset(header http.Header, status int, now time.Time) metrics.Value {
	var exhausted, first metrics.Value
	for _, limit := range rateLimits {
		wait, ok := resetIn(header.Get(limit.reset), now)
		if !ok {
			continue
		}
		if remaining, ok := seconds(header.Get(limit.remaining)); ok && remaining == 0 {
			exhausted = metrics.Value{V: max(exhausted.V, wait), Defined: true}
		}
		if !first.Defined || wait < first.V {
			first = metrics.Value{V: wait, Defined: true}
		}
	}
	if !exhausted.Defined && status == http.StatusTooManyRequests {
		return first
	}
	return exhausted
}

// resetIn reads the seconds until a reset, which is given as a duration, a number of seconds or an instant.
func resetIn(text string, now time.Time) (float64, bool) {
	if s, ok := seconds(text); ok {
		return s, true
	}
	if d, err := time.ParseDuration(text); err == nil {
		return max(0, d.Seconds()), true
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return max(0, at.Sub(now).Seconds()), true
	}
	return 0, false
}
