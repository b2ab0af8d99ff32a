package metrics

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// exemplarLine finds the labels and the value of an exemplar in OpenMetrics text, behind the bucket of a series.
var exemplarLine = regexp.MustCompile(`(?m)^aiperf_time_to_first_token_seconds_bucket\{.*\} \d+ # (\{.*\} [0-9.]+) [0-9.e+]+$`)

func TestExemplarsNameTheTraceOfARequestWhoseSpanIsSent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 118)
	for name, test := range map[string]struct {
		requestID string
		trace     Trace
		want      string
	}{
		"no trace": {"1a6c", Trace{}, `{request_id="1a6c"} 0.25`},
		"a trace that is sent": {
			"1a6c",
			Trace{ID: [16]byte{0xab, 15: 1}, Span: [8]byte{2}, Sampled: true},
			`{request_id="1a6c",trace_id="ab000000000000000000000000000001"} 0.25`,
		},
		"a trace that is not sent":                {"1a6c", Trace{ID: [16]byte{0xab}, Span: [8]byte{2}}, `{request_id="1a6c"} 0.25`},
		"as long as may be":                       {long, Trace{}, `{request_id="` + long + `"} 0.25`},
		"no room for the trace":                   {long, Trace{ID: [16]byte{0xab}, Span: [8]byte{2}, Sampled: true}, `{request_id="` + long + `"} 0.25`},
		"too long a request leaves the trace all": {long + "é", Trace{ID: [16]byte{15: 1}, Sampled: true}, `{trace_id="00000000000000000000000000000001"} 0.25`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, target, registry := newTestStore(t)
			r := goldenTimelines()["plain"].record()
			r.RequestID, r.Trace = test.requestID, test.trace
			target.Sent().Finish(r)
			request := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
			request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
			answer := httptest.NewRecorder()
			promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(answer, request)
			var got []string
			for _, match := range exemplarLine.FindAllStringSubmatch(answer.Body.String(), -1) {
				got = append(got, match[1])
			}
			if diff := cmp.Diff([]string{test.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
