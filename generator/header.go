package generator

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// newRequestID makes the value of X-Request-ID: a random UUID, so that a server's log lines can be found from an exemplar.
func newRequestID() string { return uuid.NewString() }

// sessionHeader names the conversation that a request belongs to, unless the configuration has another name for it.
const sessionHeader = "X-Correlation-Id"

// Dynamo's router wants to know the sub-agents of a session, too.
const (
	dynamoSession = "X-Dynamo-Session-Id"
	dynamoParent  = "X-Dynamo-Parent-Session-Id"
)

// baseHeader makes what all requests of a target share, later ones over earlier ones: what we are, what the protocol wants, what the user
// wants. The marker lets operators keep this traffic out of product metrics and bills; identity, because a decompressing reader would
// buffer events and lose their instants.
func baseHeader(c *TargetConfig, traits *endpoint.Traits, userAgent string) http.Header {
	header := http.Header{
		"User-Agent":        {userAgent},
		"X-Aiperf-Exporter": {c.Name},
		"Accept-Encoding":   {"identity"},
	}
	for name, values := range traits.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	for name, value := range c.Endpoint.Headers {
		header.Set(name, value)
	}
	return header
}

// traceHeader names the header that carries the context of a request's span, as the W3C's Trace Context has it.
const traceHeader = "Traceparent"

// newTrace makes the context of a request's span; the zero value where there is to be none.
func (g *generation) newTrace() metrics.Trace {
	if g.trace == nil {
		return metrics.Trace{}
	}
	return g.trace()
}

// traceIsUsers tells whether the configuration has a header of that name, whatever for: its requests are part of traces that this program
// does not know.
func traceIsUsers(header http.Header, c *endpoint.Config) bool {
	names := append([]string{c.KeyHeader, c.SessionHeader}, c.AffinityHeaders...)
	return header.Get(traceHeader) != "" ||
		slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, traceHeader) })
}

// traceparent is the value of the header: version, trace, span, and whether it is sampled.
func traceparent(t *metrics.Trace) string {
	value := make([]byte, 0, len("00-")+2*len(t.ID)+len("-")+2*len(t.Span)+len("-00"))
	value = hex.AppendEncode(append(value, "00-"...), t.ID[:])
	value = hex.AppendEncode(append(value, '-'), t.Span[:])
	if t.Sampled {
		return string(append(value, "-01"...))
	}
	return string(append(value, "-00"...))
}

// header makes the headers of the request of a record.
func (g *generation) header(r *metrics.Record, turn *workload.Turn, contentType string, stream bool) http.Header {
	header := g.headers.Clone()
	if header.Get("X-Request-Id") == "" { // unless the user has one of their own
		header.Set("X-Request-Id", r.RequestID)
	}
	if r.Trace != (metrics.Trace{}) {
		header.Set(traceHeader, traceparent(&r.Trace))
	}
	accept := "application/json"
	if stream {
		accept = "text/event-stream"
	}
	header.Set("Accept", accept)
	header.Set("Content-Type", contentType)
	if turn.Session == "" {
		return header
	}
	name := g.config.Endpoint.SessionHeader
	if name == "" {
		name = sessionHeader
	}
	header.Set(name, turn.Session)
	for _, name := range g.config.Endpoint.AffinityHeaders { // last: nothing may send the turns of a session to different replicas
		header.Set(name, turn.Session)
		if turn.Parent != "" && strings.EqualFold(name, dynamoSession) {
			header.Set(dynamoParent, turn.Parent)
		}
	}
	return header
}
