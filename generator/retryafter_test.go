package generator

import (
	"net/http"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestRetryAfterInAllItsForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name, header, value string
		want                metrics.Value
	}{
		{"seconds", "Retry-After", "120", metrics.Value{V: 120, Defined: true}},
		{"a date", "Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", metrics.Value{V: 60, Defined: true}},
		{"a date in the past", "Retry-After", "Fri, 02 Jan 2026 03:00:05 GMT", metrics.Value{V: 0, Defined: true}},
		{"milliseconds", "Retry-After-Ms", "1500", metrics.Value{V: 1.5, Defined: true}},
		{"nothing", "X", "1", metrics.Value{}},
		{"a word", "Retry-After", "soon", metrics.Value{}},
		{"a negative number", "Retry-After", "-1", metrics.Value{}},
		{"not a number", "Retry-After-Ms", "NaN", metrics.Value{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			header.Set(tt.header, tt.value)
			if got := retryAfter(header, now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
