package endpoint

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestRateLimitsOfServersAndGateways(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	value := func(v float64) metrics.Value { return metrics.Value{V: v, Defined: true} }
	for _, c := range []struct {
		name   string
		header map[string]string
		want   []metrics.RateLimit
	}{
		{"none", map[string]string{"Content-Type": "text/event-stream"}, nil},
		{
			"OpenAI",
			map[string]string{
				"x-ratelimit-limit-requests": "60", "x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-requests": "59",
				"x-ratelimit-remaining-tokens": "149984", "x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0.5s",
			},
			[]metrics.RateLimit{
				{Resource: "requests", Limit: value(60), Remaining: value(59), Reset: value(1)},
				{Resource: "tokens", Limit: value(150000), Remaining: value(149984), Reset: value(360.5)},
			},
		},
		{
			"Azure, which tells no limit",
			map[string]string{"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Remaining-Tokens": "7"},
			[]metrics.RateLimit{{Resource: "requests", Remaining: value(0)}, {Resource: "tokens", Remaining: value(7)}},
		},
		{
			"Anthropic",
			map[string]string{
				"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "49",
				"anthropic-ratelimit-requests-reset": "2026-03-01T12:00:30Z", "anthropic-ratelimit-tokens-limit": "100",
				"anthropic-ratelimit-input-tokens-limit": "40000", "anthropic-ratelimit-input-tokens-remaining": "39000",
				"anthropic-ratelimit-input-tokens-reset":    "2026-03-01T13:01:00+01:00",
				"anthropic-ratelimit-output-tokens-limit":   "8000",
				"anthropic-ratelimit-output-tokens-reset":   "2026-03-01T11:59:59Z",
				"anthropic-ratelimit-output-tokens-unknown": "1",
			},
			[]metrics.RateLimit{
				{Resource: "requests", Limit: value(50), Remaining: value(49), Reset: value(30)},
				{Resource: "tokens", Limit: value(100)},
				{Resource: "input_tokens", Limit: value(40000), Remaining: value(39000), Reset: value(60)},
				{Resource: "output_tokens", Limit: value(8000), Reset: value(0)},
			},
		},
		{
			"a gateway before another one",
			map[string]string{
				"x-ratelimit-limit-requests": "10", "anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "1",
			},
			[]metrics.RateLimit{{Resource: "requests", Limit: value(10)}},
		},
		{
			"milliseconds, seconds, a fraction",
			map[string]string{
				"x-ratelimit-reset-requests": "120ms", "x-ratelimit-reset-tokens": "7.66", "x-ratelimit-limit-tokens": "1e3",
			},
			[]metrics.RateLimit{{Resource: "requests", Reset: value(.12)}, {Resource: "tokens", Limit: value(1000), Reset: value(7.66)}},
		},
		{
			"what is no number",
			map[string]string{
				"x-ratelimit-limit-requests": "many", "x-ratelimit-remaining-requests": "-1", "x-ratelimit-reset-requests": "-1s",
				"x-ratelimit-limit-tokens": "NaN", "x-ratelimit-remaining-tokens": "+Inf", "x-ratelimit-reset-tokens": "soon",
			},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			for name, value := range c.header {
				header.Set(name, value)
			}
			if diff := cmp.Diff(c.want, RateLimits(header, now)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAnswersWithoutRateLimitsCostNothing(t *testing.T) { // not parallel: AllocsPerRun counts those of other goroutines
	header := http.Header{"Content-Type": {"text/event-stream"}, "X-Request-Id": {"1"}}
	now := time.Now()
	if got := testing.AllocsPerRun(100, func() { RateLimits(header, now) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func FuzzRateLimits(f *testing.F) {
	for _, seed := range []string{"60", "6m0s", "1e309", "2026-03-01T12:00:30Z", "-1", "0x1p-2", "1_0", "9999999999h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		header := http.Header{
			"X-Ratelimit-Limit-Requests": {value}, "X-Ratelimit-Reset-Tokens": {value}, "Anthropic-Ratelimit-Input-Tokens-Reset": {value},
		}
		for _, l := range RateLimits(header, time.Unix(0, 0)) {
			for _, v := range []metrics.Value{l.Limit, l.Remaining, l.Reset} {
				if v.Defined && (v.V < 0 || math.IsNaN(v.V) || math.IsInf(v.V, 0)) || !v.Defined && v.V != 0 {
					t.Fatalf("%q is %v", value, l)
				}
			}
		}
	})
}
