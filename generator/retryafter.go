package generator

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// retryAfter reads how long a server asks to be left alone: retry-after-ms, else Retry-After in seconds or as a date, else the reset of the
// limit that is used up. A time in the past is 0; what is none of these is undefined.
func retryAfter(header http.Header, status int, limits []metrics.RateLimit, now time.Time) metrics.Value {
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
	return limitReset(limits, status)
}

// seconds reads a number of 0 or more, fractions included.
func seconds(text string) (float64, bool) {
	s, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return s, err == nil && s >= 0 && !math.IsInf(s, 1)
}

// limitReset is when the limits that are used up are whole again. A 429 may come without any, if a little remains, but less than the
// request needs; then it is the first reset of all, since which limit it was is not told.
func limitReset(limits []metrics.RateLimit, status int) metrics.Value {
	var exhausted, first metrics.Value
	for i := range limits {
		l := &limits[i]
		if !l.Reset.Defined {
			continue
		}
		if l.Remaining.Defined && l.Remaining.V == 0 {
			exhausted = metrics.Value{V: max(exhausted.V, l.Reset.V), Defined: true}
		}
		if !first.Defined || l.Reset.V < first.V {
			first = l.Reset
		}
	}
	if !exhausted.Defined && status == http.StatusTooManyRequests {
		return first
	}
	return exhausted
}
