package demo

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// discard is a connection that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
func (discard) Flush()                      {}

func BenchmarkChunk(b *testing.B) {
	p := DefaultProfile("m")
	m := newModel(&p, 1, time.Time{}, newFamilies(prometheus.NewRegistry()))
	j := m.newJob(&ask{chat: true, stream: true, continuousUsage: true, promptTokens: 100, limit: 1})
	out := &stream{wire: newWire(j, time.Time{}), buf: make([]byte, 0, 4096)}
	out.w = discard{}
	out.rc = http.NewResponseController(out.w)
	b.ReportAllocs()
	for b.Loop() {
		out.buf = out.appendTokens(out.buf, 1, "")
		out.flush()
	}
}

// BenchmarkStream is one client after the other over loopback, its reading included, with an engine that never waits.
func BenchmarkStream(b *testing.B) {
	p := DefaultProfile("m")
	p.Engine.StepTime, p.Engine.DecodeTime, p.Engine.PrefillTime = 1, 0, 0
	server := httptest.NewServer(newServer(b, p))
	defer server.Close()
	c := &client{url: server.URL, http: server.Client()}
	const tokens = 256
	b.ReportAllocs()
	for b.Loop() {
		resp := c.post(b.Context(), b, "chat/completions", `{`+hello+`,"max_tokens":256,"ignore_eos":true,"stream":true}`)
		if n, err := new(bytes.Buffer).ReadFrom(resp.Body); err != nil || n < tokens*100 {
			b.Fatalf("read %d bytes: %v", n, err)
		}
		resp.Body.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/token")
}
