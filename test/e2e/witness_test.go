//go:build e2e

package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"testing"
)

// witness stands before a server and keeps which requests for answers went through, without touching them.
type witness struct {
	url string

	mu       sync.Mutex
	passages []passage
}

// passage is a request that has got its answer.
type passage struct {
	target      string // that the exporter asks for
	trace, span string // of the header traceparent, in hexadecimal
	sampled     bool
	status      int
}

// traceparent is the header of the W3C's Trace Context.
var traceparent = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$`)

func startWitness(t *testing.T, before server) *witness {
	t.Helper()
	to, err := url.Parse(before.url)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPost {
				w.saw(r)
			}
			return nil
		},
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

func (w *witness) saw(r *http.Response) {
	p := passage{target: r.Request.Header.Get("X-Aiperf-Exporter"), status: r.StatusCode}
	if m := traceparent.FindStringSubmatch(r.Request.Header.Get("traceparent")); m != nil {
		p.trace, p.span, p.sampled = m[1], m[2], m[3] == "01"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passages = append(w.passages, p)
}

// sampled are those that were sampled, by their trace.
func (w *witness) sampled() map[string]passage {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]passage{}
	for _, p := range w.passages {
		if p.sampled {
			out[p.trace] = p
		}
	}
	return out
}

// all gives how many there were.
func (w *witness) all() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.passages)
}
