package genai_test

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
)

// BenchmarkFinished is what a streamed success with 200 gaps between its events costs.
func BenchmarkFinished(b *testing.B) {
	for _, test := range []struct {
		name  string
		trace metrics.Trace
	}{
		{"not sampled", metrics.Trace{}},
		{"sampled", sampled},
	} {
		b.Run(test.name, func(b *testing.B) {
			const gaps = 200
			tracers := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(genai.IDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()))
			o, err := genai.New(genai.Options{Settings: genai.Settings{Semconv: "1.41", Targets: []genai.Target{chat}}, Clock: metrics.NewSystemClock(), Tracer: always(tracers.Tracer("test"))})
			if err != nil {
				b.Fatal(err)
			}
			r := but(func(r *metrics.Record) {
				r.Trace = test.trace
				for len(r.Content) <= gaps {
					r.Content = append(r.Content, r.Content[len(r.Content)-1]+int64(len(r.Content)*7919%30_000)*1000)
				}
				r.Time.End = r.Content[gaps]
			})
			m := metrics.Measure(r)
			b.ReportAllocs()
			for b.Loop() {
				o.Finished("open", r, &m, nil)
			}
		})
	}
}
