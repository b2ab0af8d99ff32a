package generator_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// instantly is a server that answers at once.
type instantly struct{ clock *metrics.SystemClock }

// Do implements the generator's client.
func (i instantly) Do(_ context.Context, _ *transport.Request, timeline *metrics.Timeline, handler transport.Handler) transport.Answer {
	timeline.Start = i.clock.Now()
	timeline.Sent = timeline.Start
	handler.Start(timeline.Start)
	timeline.End = i.clock.Now()
	handler.Event(&transport.Event{
		Data: []byte(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`),
		At:   timeline.End, Read: 1,
	})
	return transport.Answer{Status: http.StatusOK, Stream: true, ConnObtained: true}
}

// Close implements the generator's client.
func (instantly) Close() {}

// BenchmarkRequest is what a request costs this process beside the network.
func BenchmarkRequest(b *testing.B) {
	r := newRig(b, "http://instant", func(c *generator.TargetConfig) { c.Client.Timestamps = transport.ReadTimestamps })
	r.deps.Observer = nil
	target := r.target(b)
	target.Carry(instantly{r.clock})
	b.ReportAllocs()
	for b.Loop() {
		target.Once(b.Context())
	}
}
