package generator

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func defined(v float64) metrics.Value { return metrics.Value{V: v, Defined: true} }

func TestRetryAfterInAllItsForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name, header, value string
		want                metrics.Value
	}{
		{"seconds", "Retry-After", "120", defined(120)},
		{"a fraction of a second", "Retry-After", "0.25", defined(0.25)},
		{"a date", "Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", defined(60)},
		{"a date in the past", "Retry-After", "Fri, 02 Jan 2026 03:00:05 GMT", defined(0)},
		{"milliseconds", "Retry-After-Ms", "1500", defined(1.5)},
		{"nothing", "X", "1", metrics.Value{}},
		{"a word", "Retry-After", "soon", metrics.Value{}},
		{"a negative number", "Retry-After", "-1", metrics.Value{}},
		{"not a number", "Retry-After-Ms", "NaN", metrics.Value{}},
		{"for ever", "Retry-After", "Inf", metrics.Value{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			header.Set(tt.header, tt.value)
			if got := retryAfter(header, http.StatusTooManyRequests, nil, now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRetryAfterReadsTheFinestHeaderFirst(t *testing.T) {
	t.Parallel()
	limits := []metrics.RateLimit{{Resource: "requests", Remaining: defined(0), Reset: defined(9)}}
	header := http.Header{"Retry-After-Ms": {"1"}, "Retry-After": {"2"}}
	if got := retryAfter(header, http.StatusTooManyRequests, limits, time.Time{}); got != defined(0.001) {
		t.Errorf("with all headers: %v", got)
	}
	header.Set("Retry-After-Ms", "x")
	if got := retryAfter(header, http.StatusTooManyRequests, limits, time.Time{}); got != defined(2) {
		t.Errorf("with an unreadable retry-after-ms: %v", got)
	}
	header.Set("Retry-After", "x")
	if got := retryAfter(header, http.StatusTooManyRequests, limits, time.Time{}); got != defined(9) {
		t.Errorf("with both unreadable: %v", got)
	}
}

func TestRetryAfterOfTheLimitThatIsUsedUp(t *testing.T) {
	t.Parallel()
	limit := func(remaining, reset metrics.Value) metrics.RateLimit {
		return metrics.RateLimit{Resource: "tokens", Remaining: remaining, Reset: reset}
	}
	for _, tt := range []struct {
		name   string
		status int
		limits []metrics.RateLimit
		want   metrics.Value
	}{
		{"the one that is used up counts", 429, []metrics.RateLimit{limit(defined(5), defined(1)), limit(defined(0), defined(60))}, defined(60)},
		{"of two that are, the later one", 429, []metrics.RateLimit{limit(defined(0), defined(70)), limit(defined(0), defined(60))}, defined(70)},
		{"a 429 where none is: the first reset", 429, []metrics.RateLimit{limit(defined(5), defined(7)), limit(metrics.Value{}, defined(3))}, defined(3)},
		{"any other answer where none is", 503, []metrics.RateLimit{limit(defined(5), defined(7))}, metrics.Value{}},
		{"any other answer where one is", 200, []metrics.RateLimit{limit(defined(0), defined(7))}, defined(7)},
		{"used up, but it does not say until when", 429, []metrics.RateLimit{limit(defined(0), metrics.Value{})}, metrics.Value{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := retryAfter(http.Header{}, tt.status, tt.limits, time.Time{}); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// FuzzRetryAfter: whatever a server says, it is nothing or a finite time that is not negative.
func FuzzRetryAfter(f *testing.F) {
	f.Add("1500", "2")
	f.Add("", "Fri, 02 Jan 2026 03:05:05 GMT")
	f.Add("-0", "1e309")
	f.Fuzz(func(t *testing.T, ms, text string) {
		header := http.Header{"Retry-After-Ms": {ms}, "Retry-After": {text}}
		got := retryAfter(header, http.StatusTooManyRequests, nil, time.Unix(0, 0))
		if !(got.V >= 0) || math.IsInf(got.V, 0) || !got.Defined && got.V != 0 {
			t.Errorf("%v", got)
		}
	})
}
