//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracespb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/aiperf-exporter/aiperf-exporter/test/received"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// named is a target whose requests have names of the conventions: generation, address of the collector, URL of the server.
const named = `
otlp:
  enabled: true
  endpoint: http://%[2]s
  interval: 1s
  semconv: %[1]q
  traces: {enabled: true, ratio: 0.3}
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  steady: {mode: constant, rate: 40, max_in_flight: 50}
targets:
  - {name: named, url: %[3]s, model: truth, endpoint: {type: chat}, workload: short, load: steady}
`

// instruments by generation, as they come out in Prometheus' names, and what else is in their attributes beside those of every target.
var instruments = map[string]map[string]string{
	"1.41": {
		"gen_ai_client_operation_duration_seconds":              "",
		"gen_ai_client_operation_time_to_first_chunk_seconds":   "",
		"gen_ai_client_operation_time_per_output_chunk_seconds": "",
		"gen_ai_client_token_usage":                             "gen_ai.token.type",
	},
	"genai-0.1": {
		"gen_ai_client_inference_duration_seconds":              "",
		"gen_ai_client_inference_time_to_first_chunk_seconds":   "",
		"gen_ai_client_inference_time_per_output_chunk_seconds": "",
		"gen_ai_client_inference_operation_input_tokens":        "",
		"gen_ai_client_inference_operation_output_tokens":       "",
		"gen_ai_client_inference_usage_input_tokens_total":      "gen_ai.token.modality",
		"gen_ai_client_inference_usage_output_tokens_total":     "gen_ai.token.modality",
	},
	"none": {},
}

func TestConventionsOfBothGenerationsArrive(t *testing.T) {
	t.Parallel()
	for generation, want := range instruments {
		t.Run(generation, func(t *testing.T) {
			t.Parallel()
			w := startWitness(t, startServer(t, "-ttft=40ms", "-itl=2ms", "-fail-every=7"))
			s := startSink(t)
			e := serve(t, fmt.Sprintf(named, generation, s.address, w.url), "--web.enable-admin-api")
			e.sends(t, 150)
			e.rest(t)
			held := e.hold(t, s)
			got := map[string]string{}
			for of, v := range held.State.Values {
				if isConvention(of.Family) {
					got[of.Family] = want[of.Family]
					required(t, of, want[of.Family], w)
					pointed(t, of, v, w)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("families (-want +got):\n%s", diff)
			}
			counts(t, held, generation)
			spansOf(t, w, s)
		})
	}
}

// doubled are a server and GPUs that are told twice: address of the collector, URL of the server, pages of GPUs.
const doubled = `
collectors:
  server: {interval: 5s}
  gpu: {source: dcgm, dcgm: {interval: 5s, urls: ["%[3]s/dcgm.prom"]}}
otlp:
  enabled: true
  endpoint: http://%[1]s
  interval: 1s
  semconv: none
  server_semconv: true
  hw_semconv: true
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  steady: {mode: constant, rate: 20, max_in_flight: 50}
targets:
  - {name: named, url: %[2]s, model: truth, endpoint: {type: chat}, workload: short, load: steady}
`

func TestServersAndGPUsHaveNamesOfConventionsIfTheyAreWanted(t *testing.T) {
	t.Parallel()
	s := startSink(t)
	e := serve(t, fmt.Sprintf(doubled, s.address, startServer(t, "-ttft=40ms", "-itl=2ms").url, pages(t)), "--web.enable-admin-api")
	e.sends(t, 40)
	e.rest(t)
	e.arrivals(t, 2)
	held := e.hold(t, s)
	for family, ours := range map[string]string{
		"gen_ai_server_time_to_first_token_seconds": "aiperf_server_time_to_first_token_seconds",
		"hw_gpu_memory_usage_bytes":                 "aiperf_gpu_memory_used_bytes",
		"hw_gpu_memory_limit_bytes":                 "aiperf_gpu_memory_total_bytes",
		"hw_gpu_utilization_ratio":                  "aiperf_gpu_utilization_ratio",
	} {
		got, before, after := held.State.Count(family, ""), held.Before.Sum(ours, nil), held.After.Sum(ours, nil)
		// The server may be read in between.
		if rounding := 1e-9 * after; got < min(before, after)-rounding || got > max(before, after)+rounding || got == 0 {
			t.Errorf("%s is %v, want that of %s, from %v to %v", family, got, ours, before, after)
		}
	}
	for of := range held.State.Values {
		for _, attribute := range []string{`hw.type="gpu"`, `hw.id="GPU-`} {
			if strings.HasPrefix(of.Family, "hw_") && !strings.Contains(of.Labels, attribute) {
				t.Errorf("%v lacks %s", of, attribute)
			}
		}
		if strings.HasPrefix(of.Family, "gen_ai_client_") {
			t.Errorf("%v is that of clients, which nobody wants", of)
		}
	}
}

// required holds the attributes of a series against what the conventions want to be there.
func required(t *testing.T, of received.Series, own string, w *witness) {
	t.Helper()
	host, port, _ := strings.Cut(strings.TrimPrefix(w.url, "http://"), ":")
	for name, value := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "truth", "server.address": host, "server.port": port,
		"aiperf.target": "named", "aiperf.workload": "short",
	} {
		if !strings.Contains(of.Labels, fmt.Sprintf("%s=%q", name, value)) {
			t.Errorf("%v lacks %s=%q", of, name, value)
		}
	}
	if own != "" && !strings.Contains(of.Labels, own+"=") {
		t.Errorf("%v lacks %s", of, own)
	}
}

// pointed holds the exemplars of a series, which are of sampled requests only, against the headers that the server got.
func pointed(t *testing.T, of received.Series, v *received.Value, w *witness) {
	t.Helper()
	if v.Kind == received.Explicit && v.Count >= 100 && len(v.Exemplars) == 0 {
		t.Errorf("%v has no exemplars", of)
	}
	sampled := w.sampled()
	for _, x := range v.Exemplars {
		if p, ok := sampled[x.Trace]; !ok || p.span != x.Span {
			t.Errorf("%v has the exemplar %+v, and the server got the span %q of that trace", of, x, p.span)
		}
	}
}

// counts holds the instruments against the series of the same requests.
func counts(t *testing.T, held received.Held, generation string) {
	t.Helper()
	shown := func(family string, labels scrape.Labels) float64 { return held.After.Sum(family, labels) }
	ended := shown("aiperf_requests_total", nil)
	failed := shown("aiperf_requests_total", scrape.Labels{"outcome": "error"})
	succeeded := ended - failed
	for _, test := range map[string][]struct {
		family, label string
		want          float64
	}{
		"1.41": {
			{"gen_ai_client_operation_duration_seconds", "", ended},
			{"gen_ai_client_operation_duration_seconds", `error.type="http_5xx"`, failed},
			{"gen_ai_client_operation_time_to_first_chunk_seconds", "", shown("aiperf_time_to_first_token_seconds", nil)},
			{"gen_ai_client_operation_time_per_output_chunk_seconds", "", shown("aiperf_inter_chunk_latency_seconds", nil)},
			{"gen_ai_client_token_usage", `gen_ai.token.type="output"`, succeeded},
		},
		"genai-0.1": {
			{"gen_ai_client_inference_duration_seconds", "", ended},
			{"gen_ai_client_inference_duration_seconds", `error.type="http_5xx"`, failed},
			{"gen_ai_client_inference_time_to_first_chunk_seconds", "", shown("aiperf_time_to_first_token_seconds", nil)},
			{"gen_ai_client_inference_operation_output_tokens", "", succeeded},
			{"gen_ai_client_inference_usage_output_tokens_total", "", shown("aiperf_tokens_total", scrape.Labels{"token_type": "output"})},
		},
	}[generation] {
		if got := held.State.Count(test.family, test.label); got != test.want || got == 0 {
			t.Errorf("%s{%s} counts %v, want %v", test.family, test.label, got, test.want)
		}
	}
}

// spansOf holds the spans against the requests that went through.
func spansOf(t *testing.T, w *witness, s *sink) {
	t.Helper()
	sampled := w.sampled()
	if share := float64(len(sampled)) / float64(w.all()); share < .1 || share > .5 { // 0.3, at 150 requests five times its deviation
		t.Errorf("%d of %d requests are sampled, want three in ten", len(sampled), w.all())
	}
	var spans []*tracespb.Span
	eventually(t, patience, func() (err error) { // a span waits for others
		spans, err = received.Spans(s.folder)
		if err == nil && len(spans) < len(sampled) {
			err = fmt.Errorf("%d spans of %d sampled requests", len(spans), len(sampled))
		}
		return err
	})
	if len(spans) != len(sampled) {
		t.Errorf("%d spans of %d sampled requests", len(spans), len(sampled))
	}
	failed := 0
	for _, span := range spans {
		trace, _ := received.ID(span.GetTraceId())
		p, ok := sampled[fmt.Sprintf("%x", trace)]
		if !ok {
			t.Errorf("nobody has sent the trace %x", trace)
			continue
		}
		if p.status != 200 {
			failed++
		}
		if err := fits(span, &p); err != nil {
			t.Errorf("span of the trace %x: %v", trace, err)
		}
	}
	if failed == 0 {
		t.Errorf("none of %d spans is of a failure", len(spans))
	}
}

// fits holds a span against its request.
func fits(span *tracespb.Span, p *passage) error {
	var errs []error
	attributes := received.Attributes(span.GetAttributes())
	id, _ := received.ID(span.GetSpanId())
	want := map[string]string{
		"name": "chat truth", "kind": "SPAN_KIND_CLIENT", "parent": "", "span": p.span, "status": "STATUS_CODE_UNSET", "error.type": "",
		"http.response.status_code": fmt.Sprint(p.status),
	}
	if p.status != 200 {
		want["status"], want["error.type"] = "STATUS_CODE_ERROR", "http_5xx"
	}
	got := map[string]string{
		"name": span.GetName(), "kind": span.GetKind().String(), "parent": string(span.GetParentSpanId()), "span": fmt.Sprintf("%x", id),
		"status": span.GetStatus().GetCode().String(), "error.type": attributes["error.type"],
		"http.response.status_code": attributes["http.response.status_code"],
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			errs = append(errs, fmt.Errorf("%s is %q, want %q", key, got[key], want[key]))
		}
	}
	if span.GetStartTimeUnixNano() >= span.GetEndTimeUnixNano() {
		errs = append(errs, errors.New("ends before it starts"))
	}
	return errors.Join(errs...)
}
