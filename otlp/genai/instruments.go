package genai

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The boundaries that the conventions want.
var (
	boundsDuration = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	boundsTokens   = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// The series whose values are sent as chunks, too. Theirs are the boundaries: those that the conventions advise begin at 10 ms, where many gaps end.
const (
	firstSeries = "aiperf_time_to_first_token_seconds"
	gapSeries   = "aiperf_inter_chunk_latency_seconds"
)

// instruments are those of a generation. All are of float64, as everything that is sent; whole numbers below 2^53 stay exact.
type instruments struct {
	inference, other, firstChunk, perChunk metric.Float64Histogram
	input, output                          tokenInstruments
}

// tokenInstruments count tokens of a kind.
type tokenInstruments struct {
	names      *tokenNames
	perRequest metric.Float64Histogram
	total      metric.Float64Counter // nil = the generation has none
}

func newInstruments(meter metric.Meter, g *generation, slos []metrics.SLO) (*instruments, error) {
	var errs []error
	histogram := func(name, description, unit string, bounds []float64) metric.Float64Histogram {
		made, err := meter.Float64Histogram(name, metric.WithDescription(description), metric.WithUnit(unit), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return made
	}
	tokens := func(names *tokenNames) tokenInstruments {
		made := tokenInstruments{names: names, perRequest: histogram(names.perRequest, names.description, "{token}", boundsTokens)}
		if names.total != "" {
			var err error
			made.total, err = meter.Float64Counter(names.total, metric.WithDescription(names.description), metric.WithUnit("{token}"))
			errs = append(errs, err)
		}
		return made
	}
	whole := genaiconv.ClientOperationDuration{}.Description()
	all := &instruments{
		inference:  histogram(g.inference, whole, "s", boundsDuration),
		other:      histogram(g.other, whole, "s", boundsDuration),
		firstChunk: histogram(g.firstChunk, genaiconv.ClientOperationTimeToFirstChunk{}.Description(), "s", boundsOf(firstSeries, slos)),
		perChunk:   histogram(g.perChunk, genaiconv.ClientOperationTimePerOutputChunk{}.Description(), "s", boundsOf(gapSeries, slos)),
		input:      tokens(&g.input),
		output:     tokens(&g.output),
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("instruments: %w", err)
	}
	return all, nil
}

// boundsOf are the boundaries of a series that /metrics shows.
func boundsOf(name string, slos []metrics.SLO) []float64 {
	table := metrics.Table()
	at := slices.IndexFunc(table, func(s metrics.Series) bool { return s.Name == name })
	return table[at].Boundaries(slos)
}

// measured are the instruments of a target, each with its attributes: as a list, because that is what they take, and made once. They are its own, with
// a reader of their own: instruments never forget attributes that they were once given, so a target is forgotten together with them.
type measured struct {
	reader *sdkmetric.ManualReader

	duration, firstChunk, perChunk metric.Float64Histogram
	input, output                  measuredTokens

	plain  []metric.RecordOption
	failed map[metrics.ErrorClass][]metric.RecordOption
	other  []metric.RecordOption // failed with a class that is none
}

type measuredTokens struct {
	*tokenInstruments

	request []metric.RecordOption
	sum     []metric.AddOption
}

// newMeasured makes those of a target with these attributes, all at zero.
func newMeasured(g *generation, slos []metrics.SLO, exemplars exemplar.Filter, d dialect, attributes []attribute.KeyValue) (*measured, error) {
	reader := sdkmetric.NewManualReader()
	// The limit that the SDK has by itself would fold what is beyond it into one set. There are no more sets than classes of errors.
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(0), sdkmetric.WithExemplarFilter(exemplars))
	all, err := newInstruments(provider.Meter(""), g, slos)
	if err != nil {
		return nil, err
	}
	out := all.of(d, attributes)
	out.reader = reader
	return out, nil
}

// of gives those that a target needs.
func (i *instruments) of(d dialect, attributes []attribute.KeyValue) *measured {
	with := func(more attribute.KeyValue) metric.MeasurementOption {
		if !more.Valid() {
			return metric.WithAttributeSet(attribute.NewSet(attributes...))
		}
		return metric.WithAttributeSet(attribute.NewSet(append(slices.Clone(attributes), more)...))
	}
	tokens := func(t *tokenInstruments) measuredTokens {
		return measuredTokens{t, []metric.RecordOption{with(t.names.perRequestKind)}, []metric.AddOption{with(t.names.totalKind)}}
	}
	m := &measured{
		duration: i.inference, firstChunk: i.firstChunk, perChunk: i.perChunk,
		input: tokens(&i.input), output: tokens(&i.output),
		plain:  []metric.RecordOption{with(attribute.KeyValue{})},
		failed: make(map[metrics.ErrorClass][]metric.RecordOption, len(metrics.ErrorClasses)),
		other:  []metric.RecordOption{with(semconv.ErrorTypeOther)},
	}
	if d.ranks {
		m.duration = i.other
	}
	for _, class := range metrics.ErrorClasses {
		m.failed[class] = []metric.RecordOption{with(semconv.ErrorTypeKey.String(string(class)))}
	}
	return m
}

// record takes the values of a request that is no warm-up.
func (t *measured) record(r *metrics.Record, m *metrics.Measures) {
	if r.Class == metrics.ErrClientInternal && metrics.Invalid(r) != "" {
		return // a fault of ours, of which nothing can be believed
	}
	ctx := exemplarContext(&r.Trace)
	t.input.count(ctx, r.Usage.Input, r.InputSource, r.Outcome)
	t.output.count(ctx, r.Usage.Output, r.OutputSource, r.Outcome)
	switch r.Outcome {
	case metrics.Failure:
		if m.Total.Defined {
			t.duration.Record(ctx, m.Total.V, t.failure(r.Class)...)
		}
		return
	case metrics.Cancelled:
		return
	case metrics.Success:
	}
	if m.Total.Defined {
		t.duration.Record(ctx, m.Total.V, t.plain...)
	}
	if !m.TTFT.Defined { // nothing was generated, or it came whole
		return
	}
	t.firstChunk.Record(ctx, m.TTFT.V, t.plain...)
	for i := 1; i < len(r.Content); i++ {
		t.perChunk.Record(ctx, metrics.Seconds(r.Content[i]-r.Content[i-1]), t.plain...)
	}
}

func (t *measured) failure(class metrics.ErrorClass) []metric.RecordOption {
	if options, ok := t.failed[class]; ok {
		return options
	}
	return t.other
}

// count takes what the server has told, and nothing that was estimated in its place. The total is that of all requests, the length of one
// that failed says nothing.
func (t *measuredTokens) count(ctx context.Context, n metrics.Count, source metrics.TokenSource, outcome metrics.Outcome) {
	if !n.Known || !source.Told() {
		return
	}
	if t.total != nil {
		t.total.Add(ctx, float64(n.N), t.sum...)
	}
	if outcome == metrics.Success {
		t.perRequest.Record(ctx, float64(n.N), t.request...)
	}
}

// exemplarContext lets exemplars point to the span of a request, if it is sent.
func exemplarContext(t *metrics.Trace) context.Context {
	if !t.Sampled {
		return context.Background()
	}
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: t.ID, SpanID: t.Span, TraceFlags: trace.FlagsSampled,
	}))
}
