package generator

import (
	"net/http"
	"strconv"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// retryAfter reads how long a server asks to be left alone: retry-after-ms, else Retry-After in seconds or as a date. A time in the past
// is 0; what is none of these is undefined.
func retryAfter(header http.Header, now time.Time) metrics.Value {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return metrics.Value{V: ms / 1e3, Defined: true}
	}
	text := header.Get("Retry-After")
	if text == "" {
		return metrics.Value{}
	}
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return metrics.Value{V: float64(seconds), Defined: true}
	}
	if at, err := http.ParseTime(text); err == nil {
		return metrics.Value{V: max(0, at.Sub(now).Seconds()), Defined: true}
	}
	return metrics.Value{}
}
