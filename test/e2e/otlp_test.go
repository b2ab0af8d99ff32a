//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/aiperf-exporter/aiperf-exporter/test/received"
)

// exported is a target that is sampled, and whose server and GPUs are read: form of histograms, address of the collector, URL of the server, pages
// of GPUs. A look at them may take as long as the time between two, which on a busy machine must not be short.
const exported = `
collectors:
  server: {interval: 5s, passthrough: {allow: ["vllm:.*"]}}
  gpu: {source: dcgm, dcgm: {interval: 5s, urls: ["%[4]s/dcgm.prom"]}}
otlp:
  enabled: true
  endpoint: http://%[2]s
  interval: 1s
  histogram: %[1]s
  resource_attributes: {deployment.environment.name: test}
  traces: {enabled: true, ratio: 0.5}
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  steady: {mode: constant, rate: 40, max_in_flight: 50}
slos:
  quick: {objective: 0.9, time_to_first_token: 150ms}
targets:
  - name: steady
    url: %[3]s
    model: truth
    endpoint: {type: chat}
    workload: short
    load: steady
    slo: [quick]
`

// restless are the series that go on when the traffic rests, by the beginnings of their names: they cannot be the same in a scrape and an export.
var restless = map[string]string{
	"aiperf_phase_":     "concurrency and throughput are weighted with time, which goes on",
	"aiperf_sweep_":     "likewise",
	"aiperf_scrape_":    "servers and GPUs are still read",
	"aiperf_exporter_":  "they are about the exporter, which exports and watches itself",
	"aiperf_scheduler_": "likewise",
	"aiperf_selftest_":  "likewise",
	"aiperf_clock_":     "the clocks of the machine drift",
	"go_":               "they are about the process",
	"process_":          "likewise",
	"promhttp_":         "each scrape is counted",
}

func isRestless(family string) bool {
	for prefix := range restless {
		if strings.HasPrefix(family, prefix) {
			return true
		}
	}
	return false
}

func next(decoder expfmt.Decoder) (*dto.MetricFamily, error) {
	family := &dto.MetricFamily{}
	return family, decoder.Decode(family)
}

// isConvention tells whether a family is one of the GenAI conventions, which are beside what is shown.
func isConvention(family string) bool { return strings.HasPrefix(family, "gen_ai_") }

// everything is compared but the conventions.
var everything = received.Rules{LeftOut: isConvention, Restless: isRestless}

func TestACollectorGetsWhatAScrapeShows(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"explicit", "exponential"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			w := startWitness(t, startServer(t, "-ttft=40ms", "-ttft-spread=200ms", "-itl=2ms", "-fail-every=7"))
			s := startSink(t)
			e := serve(t, fmt.Sprintf(exported, form, s.address, w.url, pages(t)), "--web.enable-admin-api")
			e.sends(t, 200)
			e.rest(t)
			e.arrivals(t, 1)
			textBefore := e.openMetrics(t)
			held := e.hold(t, s)
			textAfter := e.openMetrics(t)

			c := held.State.Compare(held.Before, held.After, everything)
			for _, err := range slices.Concat(c.Wrong, c.WrongExemplars) {
				t.Error(err)
			}
			t.Logf("series that were compared: %v", c.Compared)
			for family := range c.Moved {
				if !isRestless(family) {
					t.Errorf("%s goes on while the traffic rests", family)
				}
			}
			starts(t, c.Starts)
			if form == "explicit" { // OpenMetrics has no other one
				for _, err := range held.State.Compare(textBefore, textAfter, everything).Wrong {
					t.Errorf("in OpenMetrics: %v", err)
				}
			}
			units(t, held.State)
			leadsToSpans(t, c.Exemplars, w, s)
		})
	}
}

// isForeign tells whether a server or a GPU counts a family, since when nobody knows. Restarts of servers are counted by the exporter.
func isForeign(family string) bool {
	if family == "aiperf_server_restarts_total" {
		return false
	}
	return strings.HasPrefix(family, "aiperf_server_") || strings.HasPrefix(family, "aiperf_gpu_") || strings.HasPrefix(family, "vllm:")
}

// starts holds the starts of what does not show when it was created: no time for what others count, and for the rest one time, that of the process.
func starts(t *testing.T, families map[int64][]string) {
	t.Helper()
	times := 0
	for at, names := range families {
		for _, family := range names {
			if isForeign(family) != (at == 0) {
				t.Errorf("%s starts at %d", family, at)
			}
		}
		if at != 0 {
			times++
		}
	}
	if times != 1 {
		t.Errorf("what the process counts starts at %d times", times)
	}
}

// unitOf are the units of names, whose codes are those of UCUM.
var unitOf = map[string]string{
	"_seconds": "s", "_bytes": "By", "_joules": "J", "_watts": "W", "_celsius": "Cel", "_hertz": "Hz", "_ratio": "1",
}

// units holds units, and names that have none, against what the names on /metrics end with.
func units(t *testing.T, s *received.State) {
	t.Helper()
	for _, family := range slices.Sorted(maps.Keys(s.Metrics)) {
		if !strings.HasPrefix(family, "aiperf_") {
			continue
		}
		m := s.Metrics[family]
		want := ""
		for suffix, unit := range unitOf {
			if strings.HasSuffix(strings.TrimSuffix(family, "_total"), suffix) && family != "aiperf_tokens_in_flight_token_seconds_total" {
				want = unit
			}
		}
		if remark := strings.HasPrefix(m.Unit, "{") && strings.HasSuffix(m.Unit, "}"); m.Unit != want && (want != "" || !remark) {
			t.Errorf("%s is sent as %s in %q, want %q", family, m.Name, m.Unit, want)
		}
		if !strings.HasPrefix(m.Name, "aiperf.") || m.Help == "" {
			t.Errorf("%s is sent as %q with the description %q", family, m.Name, m.Help)
		}
	}
}

// leadsToSpans holds exemplars against spans that the collector got, and headers that the server got.
func leadsToSpans(t *testing.T, exemplars []received.Exemplar, w *witness, s *sink) {
	t.Helper()
	sampled, spans := w.sampled(), map[string]string{}
	eventually(t, patience, func() error { // a span waits for others
		all, err := received.Spans(s.folder)
		for _, span := range all {
			trace, _ := received.ID(span.GetTraceId())
			id, _ := received.ID(span.GetSpanId())
			spans[fmt.Sprintf("%x", trace)] = fmt.Sprintf("%x", id)
		}
		if err == nil && len(spans) < len(sampled) {
			err = fmt.Errorf("%d spans of %d sampled requests", len(spans), len(sampled))
		}
		return err
	})
	traced := 0
	for _, x := range exemplars {
		if x.Trace == "" {
			continue
		}
		traced++
		if len(x.Trace) != 32 || spans[x.Trace] == "" || sampled[x.Trace].span != spans[x.Trace] || x.Span != "" && x.Span != spans[x.Trace] {
			t.Errorf("exemplar %+v: the server got the span %q, the collector %q", x, sampled[x.Trace].span, spans[x.Trace])
		}
	}
	if traced == 0 {
		t.Errorf("none of %d exemplars belongs to a trace", len(exemplars))
	}
}
