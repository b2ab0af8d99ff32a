package generator_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// numbered makes contexts of spans that tell which one they are; every second is sampled.
func numbered() func() metrics.Trace {
	var n atomic.Uint64
	return func() metrics.Trace {
		i := n.Add(1)
		trace := metrics.Trace{Sampled: i%2 == 0}
		binary.BigEndian.PutUint64(trace.ID[8:], i)
		binary.BigEndian.PutUint64(trace.Span[:], 1<<32+i)
		return trace
	}
}

// traceparentOf is the header that belongs to the context.
func traceparentOf(t metrics.Trace) string {
	flags := "00"
	if t.Sampled {
		flags = "01"
	}
	return fmt.Sprintf("00-%x-%x-%s", t.ID, t.Span, flags)
}

func TestEachRequestCarriesTheContextOfItsRecord(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]string{} // by request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got[r.Header.Get("X-Request-Id")] = r.Header.Get("traceparent")
		n := len(got)
		mu.Unlock()
		if n%3 == 0 {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		sendStream(w, goodStream)
	}))
	t.Cleanup(server.Close)
	r := newRig(t, server.URL, func(c *generator.TargetConfig) {
		c.Load.Rate, c.Load.WarmupRequests = 500, 2
	})
	r.deps.Trace = numbered()
	const requests = 12
	want, traces := map[string]string{}, map[[16]byte]bool{}
	for _, o := range r.run(t, requests) {
		want[o.record.RequestID] = traceparentOf(o.record.Trace)
		traces[o.record.Trace.ID] = true
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-records +headers):\n%s", diff)
	}
	if len(traces) != requests {
		t.Errorf("%d traces of %d requests", len(traces), requests)
	}
}

func TestARequestThatReachesNobodyKeepsItsContext(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	r := newRig(t, server.URL)
	r.deps.Trace = numbered()
	got := r.once(t.Context(), t).record
	if want := numbered()(); got.Class != metrics.ErrConnect || got.Trace != want {
		t.Errorf("class %q, context %v; want %q, %v", got.Class, got.Trace, metrics.ErrConnect, want)
	}
}

func TestAContextOfTheUserIsNotOurs(t *testing.T) {
	t.Parallel()
	const theirs = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for name, test := range map[string]struct {
		configure func(*generator.TargetConfig)
		want      string
	}{
		"as a header of every request": {func(c *generator.TargetConfig) { c.Endpoint.Headers = map[string]string{"traceparent": theirs} }, theirs},
		"as the header of the credential": {
			func(c *generator.TargetConfig) {
				c.Endpoint.KeyHeader = "TraceParent"
				c.Client.Credential = func() (string, string, error) { return "TraceParent", theirs, nil }
			}, theirs,
		},
		"as the header of the session": {func(c *generator.TargetConfig) { c.Endpoint.SessionHeader = "traceparent" }, "the session"},
		"as a header for routers":      {func(c *generator.TargetConfig) { c.Endpoint.AffinityHeaders = []string{"X-Other", "traceparent"} }, "the session"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got atomic.Pointer[string]
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got.Store(new(r.Header.Get("traceparent")))
				sendStream(w, goodStream)
			}))
			t.Cleanup(server.Close)
			r := newRig(t, server.URL, test.configure)
			r.deps.Trace = numbered()
			record := r.once(t.Context(), t).record
			want := strings.Replace(test.want, "the session", record.Session, 1)
			if record.Outcome != metrics.Success || record.Trace != (metrics.Trace{}) || *got.Load() != want {
				t.Errorf("outcome %q, context %v, header %q; want success without a context, header %q", record.Outcome, record.Trace, *got.Load(), want)
			}
		})
	}
}

func TestWithoutTracesThereIsNoContext(t *testing.T) {
	t.Parallel()
	header := make(chan []string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header <- r.Header.Values("traceparent")
		sendStream(w, goodStream)
	}))
	t.Cleanup(server.Close)
	record := newRig(t, server.URL).once(t.Context(), t).record
	if got := <-header; len(got) > 0 || record.Trace != (metrics.Trace{}) {
		t.Errorf("header %q, context %v, want none", got, record.Trace)
	}
}
