package genai_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
)

const ms = int64(time.Millisecond)

// chat is the target of most tests, and its attributes are written as "…" in what they want.
var chat = genai.Target{Name: "open", Workload: "short", Model: "llama", URL: "https://llm.example/v1", EndpointType: "chat"}

const chatAttributes = "aiperf.target=open aiperf.workload=short gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=llama " +
	"server.address=llm.example server.port=443"

// answered is a streamed success: content after 250, 300 and 300 ms, its end after 403, tokens told by the server.
func answered() *metrics.Record {
	start := 1000 * ms
	return &metrics.Record{
		RequestID: "a", Streaming: true, Outcome: metrics.Success, Status: 200, Finish: metrics.FinishStop,
		Time:        metrics.Timeline{Sched: start, Issue: start, Start: start, Sent: start + ms, Header: start + 5*ms, End: start + 403*ms},
		Content:     []int64{start + 250*ms, start + 300*ms, start + 300*ms},
		Usage:       metrics.Usage{Input: metrics.Tokens(100), Output: metrics.Tokens(4)},
		InputSource: metrics.SourceUsage, OutputSource: metrics.SourceUsageChunk,
	}
}

// but changes a record.
func but(change func(*metrics.Record)) *metrics.Record {
	r := answered()
	change(r)
	return r
}

// failed is a request that failed at once: nothing of an answer came.
func failed(class metrics.ErrorClass) *metrics.Record {
	return but(func(r *metrics.Record) {
		r.Outcome, r.Class, r.Content, r.Usage, r.Time.Header, r.Time.End = metrics.Failure, class, nil, metrics.Usage{}, 0, r.Time.Start+300*ms
	})
}

// script is one request of each kind.
func script() []*metrics.Record {
	return []*metrics.Record{
		answered(),
		but(func(r *metrics.Record) { // estimates
			r.InputSource, r.OutputSource, r.Usage = metrics.SourceDataset, metrics.SourceEvents, metrics.Usage{Input: metrics.Tokens(9), Output: metrics.Tokens(3)}
		}),
		but(func(r *metrics.Record) { // counted by a tokenizer of ours
			r.InputSource, r.OutputSource = metrics.SourceTokenizer, metrics.SourceTokenizer
		}),
		but(func(r *metrics.Record) { // whole
			r.Streaming, r.Content = false, r.Content[:1]
			r.Usage.Input = metrics.Tokens(0)
		}),
		failed(metrics.ErrHTTP5xx),
		failed(metrics.ErrHTTP5xx),
		failed("none of the list"),
		but(func(r *metrics.Record) { r.Outcome, r.Class = metrics.Failure, metrics.ErrTruncated }),
		but(func(r *metrics.Record) { r.Outcome = metrics.Cancelled }),
		but(func(r *metrics.Record) { r.Warmup = true }),
		but(func(r *metrics.Record) { // impossible, as the store finds it
			r.Outcome, r.Class, r.Content[0] = metrics.Failure, metrics.ErrClientInternal, r.Content[0]+ms*100
		}),
		but(func(r *metrics.Record) { // could not be built
			r.Outcome, r.Class, r.Content, r.Usage = metrics.Failure, metrics.ErrClientInternal, nil, metrics.Usage{}
			r.Time = metrics.Timeline{Sched: r.Time.Sched, Issue: r.Time.Issue, Start: r.Time.Start, End: r.Time.Start}
		}),
	}
}

func TestInstrumentsTakeWhatTheConventionsSay(t *testing.T) {
	t.Parallel()
	const (
		durations = `
{… error.type=_OTHER} 1 values, sum 0.3, ≤ 0.32: 1
{… error.type=client_internal} 1 values, sum 0, ≤ 0.01: 1
{… error.type=http_5xx} 2 values, sum 0.6, ≤ 0.32: 2
{… error.type=truncated} 1 values, sum 0.403, ≤ 0.64: 1
{…} 4 values, sum 1.612, ≤ 0.64: 4`
		first = `
{…} 3 values, sum 0.75, ≤ 0.25: 3`
		gaps = `
{…} 6 values, sum 0.15, ≤ 0.0005: 3, ≤ 0.05: 3`
	)
	for semconv, want := range map[string]map[string]string{
		"1.41": {
			"gen_ai.client.operation.duration, s":              durations,
			"gen_ai.client.operation.time_to_first_chunk, s":   first,
			"gen_ai.client.operation.time_per_output_chunk, s": gaps,
			"gen_ai.client.token.usage, {token}": `
{… gen_ai.token.type=input} 2 values, sum 100, ≤ 1: 1, ≤ 256: 1
{… gen_ai.token.type=output} 2 values, sum 8, ≤ 4: 2`,
		},
		"genai-0.1": {
			"gen_ai.client.inference.duration, s":              durations,
			"gen_ai.client.inference.time_to_first_chunk, s":   first,
			"gen_ai.client.inference.time_per_output_chunk, s": gaps,
			"gen_ai.client.inference.operation.input_tokens, {token}": `
{…} 2 values, sum 100, ≤ 1: 1, ≤ 256: 1`,
			"gen_ai.client.inference.operation.output_tokens, {token}": `
{…} 2 values, sum 8, ≤ 4: 2`,
			"gen_ai.client.inference.usage.input_tokens, {token}": `
{… gen_ai.token.modality=unknown} 300`,
			"gen_ai.client.inference.usage.output_tokens, {token}": `
{… gen_ai.token.modality=unknown} 16`,
		},
		"none": {},
	} {
		t.Run(semconv, func(t *testing.T) {
			t.Parallel()
			o := observe(t, genai.Options{Settings: genai.Settings{Semconv: semconv, Targets: []genai.Target{chat}}})
			for _, r := range script() {
				finish(o, "open", r)
			}
			finish(o, "a target that is not there", answered())
			o.Dropped("open", metrics.DropInFlight, 1)
			if diff := cmp.Diff(want, collected(t, o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatGeneratesNothingIsNoInference(t *testing.T) {
	t.Parallel()
	vectors := but(func(r *metrics.Record) {
		r.Product, r.Streaming, r.Content, r.Usage.Output = metrics.ProductVectors, false, r.Content[:1], metrics.Count{}
	})
	target := chat
	target.EndpointType = "embeddings"
	o := observe(t, genai.Options{Settings: genai.Settings{Semconv: "genai-0.1", Targets: []genai.Target{target}}})
	finish(o, "open", vectors)
	attributes := strings.Replace(chatAttributes, "=chat", "=embeddings", 1)
	counted := strings.Replace(attributes, "server.address", "gen_ai.token.modality=unknown server.address", 1)
	want := map[string]string{
		"gen_ai.client.operation.duration, s":                     "\n{" + attributes + "} 1 values, sum 0.403, ≤ 0.64: 1",
		"gen_ai.client.inference.operation.input_tokens, {token}": "\n{" + attributes + "} 1 values, sum 100, ≤ 256: 1",
		"gen_ai.client.inference.usage.input_tokens, {token}":     "\n{" + counted + "} 100",
	}
	if diff := cmp.Diff(want, collected(t, o)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBoundariesAreThoseOfMetrics has the same values make the same buckets in both outputs.
func TestBoundariesAreThoseOfMetrics(t *testing.T) {
	t.Parallel()
	slos := []metrics.SLO{{Name: "s", Thresholds: []metrics.Threshold{{Metric: metrics.SLOTimeToFirstToken, Limit: float64(260 * ms)}}}}
	o := observe(t, genai.Options{Settings: genai.Settings{Semconv: "1.41", Targets: []genai.Target{chat}, SLOs: slos}})
	finish(o, "open", answered())
	shown := map[string][]float64{}
	for _, s := range metrics.Table() {
		shown[s.Name] = s.Boundaries(slos)
	}
	got := map[string][]float64{}
	for _, m := range gathered(t, o) {
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
			got[m.Name] = h.DataPoints[0].Bounds
		}
	}
	want := map[string][]float64{
		"gen_ai.client.operation.duration":              {.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92},
		"gen_ai.client.operation.time_to_first_chunk":   shown["aiperf_time_to_first_token_seconds"],
		"gen_ai.client.operation.time_per_output_chunk": shown["aiperf_inter_chunk_latency_seconds"],
		"gen_ai.client.token.usage":                     {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if first := got["gen_ai.client.operation.time_to_first_chunk"]; !slices.Contains(first, .26) {
		t.Errorf("the limit of the SLO is no boundary of %v", first)
	}
}

func TestExemplarsAreOfSpansThatAreSent(t *testing.T) {
	t.Parallel()
	sent := metrics.Trace{ID: [16]byte{1, 15: 2}, Span: [8]byte{3, 7: 4}, Sampled: true}
	o := observe(t, genai.Options{Settings: genai.Settings{Semconv: "genai-0.1", Targets: []genai.Target{chat}}})
	finish(o, "open", but(func(r *metrics.Record) { r.Trace = sent }))
	finish(o, "open", but(func(r *metrics.Record) {
		r.Trace = metrics.Trace{ID: [16]byte{9}, Span: [8]byte{9}}
		r.Time.End += 700 * ms
	}))
	want := map[string][]string{}
	got := map[string][]string{}
	for _, m := range gathered(t, o) {
		want[m.Name] = []string{"01000000000000000000000000000002 0300000000000004"}
		got[m.Name] = slices.Compact(slices.Sorted(slices.Values(exemplars(m.Data))))
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 7 {
		t.Errorf("exemplars of %d instruments (-want +got):\n%s", len(want), diff)
	}
}

func exemplars(data metricdata.Aggregation) (out []string) {
	switch d := data.(type) {
	case metricdata.Histogram[float64]:
		for _, e := range d.DataPoints[0].Exemplars {
			out = append(out, fmt.Sprintf("%x %x", e.TraceID, e.SpanID))
		}
	case metricdata.Sum[float64]:
		for _, e := range d.DataPoints[0].Exemplars {
			out = append(out, fmt.Sprintf("%x %x", e.TraceID, e.SpanID))
		}
	}
	return out
}

func TestAnUnknownGenerationIsRefused(t *testing.T) {
	t.Parallel()
	const want = `semconv must be one of 1.41, genai-0.1, none, got "1.42"`
	if _, err := genai.New(genai.Options{Settings: genai.Settings{Semconv: "1.42"}}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// observe makes an observer.
func observe(tb testing.TB, o genai.Options) *genai.Observer {
	tb.Helper()
	if o.Clock == nil {
		o.Clock = metrics.NewSystemClock()
	}
	observer, err := genai.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return observer
}

// finish hands a record over as the generator does.
func finish(o *genai.Observer, target string, r *metrics.Record) {
	m := metrics.Measure(r)
	o.Finished(target, r, &m, nil)
}

func gathered(t *testing.T, o *genai.Observer) []metricdata.Metrics {
	t.Helper()
	now, _, err := o.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// collected says what was measured: a line for each point of an instrument, by its name and unit.
func collected(t *testing.T, o *genai.Observer) map[string]string {
	t.Helper()
	return valuesOf(t, gathered(t, o))
}

// valuesOf is the same of metrics.
func valuesOf(t *testing.T, all []metricdata.Metrics) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range all {
		var lines []string
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			lines = points(data)
		case metricdata.Sum[float64]:
			if !data.IsMonotonic {
				t.Errorf("%s is no counter", m.Name)
			}
			for _, p := range data.DataPoints {
				lines = append(lines, fmt.Sprintf("\n{%s} %g", words(p.Attributes), p.Value))
			}
		default:
			t.Errorf("%s is a %T", m.Name, data)
		}
		slices.Sort(lines)
		out[m.Name+", "+m.Unit] = strings.Join(lines, "")
	}
	return out
}

func points(h metricdata.Histogram[float64]) (out []string) {
	for _, p := range h.DataPoints {
		line := fmt.Sprintf("\n{%s} %d values, sum %.6g", words(p.Attributes), p.Count, p.Sum)
		for i, n := range p.BucketCounts {
			switch {
			case n == 0:
			case i == len(p.Bounds):
				line += fmt.Sprintf(", more: %d", n)
			default:
				line += fmt.Sprintf(", ≤ %g: %d", p.Bounds[i], n)
			}
		}
		out = append(out, line)
	}
	return out
}

// words are the attributes in their order, those of the target chat shortened and first.
func words(set attribute.Set) string {
	var own []string
	for _, kv := range set.ToSlice() {
		own = append(own, string(kv.Key)+"="+kv.Value.String())
	}
	rest := slices.DeleteFunc(slices.Clone(own), func(w string) bool { return slices.Contains(strings.Fields(chatAttributes), w) })
	if len(own)-len(rest) < len(strings.Fields(chatAttributes)) {
		return strings.Join(own, " ")
	}
	return strings.Join(append([]string{"…"}, rest...), " ")
}
