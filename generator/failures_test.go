package generator_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// goodStream is a whole answer of two tokens.
const goodStream = `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}

data: [DONE]

`

func sendStream(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write([]byte(body))
}

// limited makes a failure that waits for a limit quick. The other limits are long: a machine that stands still must not reach them.
func limited(c *generator.TargetConfig, limit metrics.ErrorClass) {
	limits := transport.Timeouts{Connect: time.Minute, FirstToken: time.Minute, Idle: time.Minute, Total: time.Minute}
	const short = 300 * time.Millisecond
	switch limit {
	case metrics.ErrTimeoutConnect:
		limits.Connect = short
	case metrics.ErrTimeoutFirstToken:
		limits.FirstToken = short
	case metrics.ErrTimeoutIdle:
		limits.Idle = short
	case metrics.ErrTimeoutTotal:
		limits.Total = short
	default: // no limit makes this failure
	}
	c.Client.Timeouts = limits
}

// hang keeps a request open until the client has gone, which net/http notices once the request has been read.
func hang(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	<-r.Context().Done()
}

func TestEachFailureIsCountedInItsOwnClass(t *testing.T) {
	t.Parallel()
	serve := func(handler http.HandlerFunc) func(*testing.T) string {
		return func(t *testing.T) string {
			t.Helper()
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			return server.URL
		}
	}
	tests := []struct {
		name string
		url  func(*testing.T) string
		want metrics.ErrorClass
	}{
		{"a port where nobody listens", func(*testing.T) string { return "http://127.0.0.1:1" }, metrics.ErrConnect},
		{"a name that does not exist", func(*testing.T) string { return "http://no-such-host.invalid" }, metrics.ErrDNS},
		{"a host that swallows connections", swallowingHost, metrics.ErrTimeoutConnect},
		{"a certificate that nobody vouches for", untrustedTLS, metrics.ErrTLS},
		{"TLS spoken to a server that does not", func(t *testing.T) string {
			t.Helper()
			return strings.Replace(serve(func(http.ResponseWriter, *http.Request) {})(t), "http:", "https:", 1)
		}, metrics.ErrTLS},
		{"a server that closes instead of answering", rawServer(""), metrics.ErrTruncated},
		{"a server that speaks something else", rawServer("220 smtp ready\r\n"), metrics.ErrParse},
		{"a key that is not accepted", serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"error":"no"}`, http.StatusUnauthorized) }), metrics.ErrHTTP4xx},
		{"a redirect", serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }), metrics.ErrHTTP3xx},
		{"a gateway that is overloaded", serve(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>busy</html>", http.StatusServiceUnavailable)
		}), metrics.ErrHTTP5xx},
		{"a page instead of a stream", serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html><body>Welcome</body></html>"))
		}), metrics.ErrParse},
		{"a page that says it is a stream", serve(func(w http.ResponseWriter, _ *http.Request) {
			sendStream(w, "data: <html>\n\n"+goodStream)
		}), metrics.ErrParse},
		{"an event beyond the limit", serve(func(w http.ResponseWriter, _ *http.Request) {
			sendStream(w, `data: {"choices":[{"delta":{"content":"`+strings.Repeat("a", 10<<20)+`"}}]}`+"\n\n"+goodStream)
		}), metrics.ErrResponseTooLarge},
		{"a server that never answers", serve(hang), metrics.ErrTimeoutFirstToken},
		{"a stream that goes silent", serve(func(w http.ResponseWriter, r *http.Request) {
			sendStream(w, goodStream[:strings.Index(goodStream, "\n\n")+2])
			hang(w, r)
		}), metrics.ErrTimeoutIdle},
		{"a stream that never ends", serve(drip), metrics.ErrTimeoutTotal},
		{"a stream that is cut", serve(func(w http.ResponseWriter, _ *http.Request) {
			sendStream(w, goodStream[:strings.Index(goodStream, "\n\n")+2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}), metrics.ErrTruncated},
		{"an error told in a stream", serve(func(w http.ResponseWriter, _ *http.Request) {
			sendStream(w, `data: {"error":{"message":"out of memory","code":500}}`+"\n\n")
		}), metrics.ErrStream},
		{"an answer without a token", serve(func(w http.ResponseWriter, _ *http.Request) { sendStream(w, "data: [DONE]\n\n") }), metrics.ErrEmpty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.url(t), func(c *generator.TargetConfig) {
				c.Client.MaxEventBytes = 1 << 20
				limited(c, tt.want)
			})
			got := r.once(t.Context(), t).record
			if got.Outcome != metrics.Failure || got.Class != tt.want {
				t.Errorf("outcome %q, class %q (%s), want class %q", got.Outcome, got.Class, got.Detail, tt.want)
			}
			if got.Detail == "" {
				t.Error("nothing says why")
			}
			if n := r.series(t, "aiperf_request_errors_total", "error_class", string(tt.want)); n != 1 {
				t.Errorf("errors of the class = %v, want 1", n)
			}
			if n := r.series(t, "aiperf_time_to_first_token_seconds"); n != 0 {
				t.Errorf("TTFT has %v samples of a failure, want 0", n)
			}
		})
	}
}

// drip sends a token every 100 ms for ever.
func drip(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := w.Write([]byte(`data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n")); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// swallowingHost takes connections and never shakes hands, so that TLS does not come about.
func swallowingHost(t *testing.T) string {
	t.Helper()
	return "https://" + listen(t).Addr().String()
}

func untrustedTLS(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = discard
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// rawServer reads a request, writes the text as it is, and closes.
func rawServer(text string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		l := listen(t)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				if request, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.Copy(io.Discard, request.Body)
				}
				_, _ = conn.Write([]byte(text))
				_ = conn.Close()
			}
		}()
		return "http://" + l.Addr().String()
	}
}

func TestATargetThatHangsDoesNotDisturbTheOthers(t *testing.T) {
	t.Parallel()
	hanging := httptest.NewServer(http.HandlerFunc(hang))
	t.Cleanup(hanging.Close)
	well := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { sendStream(w, goodStream) }))
	t.Cleanup(well.Close)
	r := newRig(t, well.URL, func(c *generator.TargetConfig) { c.Load.Rate = 100 })
	sick := r.config
	sick.Name, sick.URL = "sick", hanging.URL
	limited(&sick, metrics.ErrTimeoutFirstToken)
	g, err := generator.New(generator.Config{Targets: []generator.TargetConfig{r.config, sick}}, r.deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	g.Run(t.Context(), time.Minute, 20)
	if got := r.series(t, "aiperf_requests_total", "outcome", "success"); got != 20 {
		t.Errorf("successes = %v, want the 20 of the target that is well", got)
	}
	if got := r.series(t, "aiperf_request_errors_total", "error_class", "timeout_first_token"); got != 20 {
		t.Errorf("timeouts = %v, want the 20 of the target that hangs", got)
	}
}

func TestStoppingDuringLoadLosesNoRecord(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if n%2 == 0 {
			hang(w, r) // for the grace to end
			return
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		sendStream(w, goodStream)
	}))
	t.Cleanup(server.Close)
	r := newRig(t, server.URL, func(c *generator.TargetConfig) { c.Load.Rate, c.Load.MaxInFlight = 200, 50 })
	g, err := generator.New(generator.Config{Targets: []generator.TargetConfig{r.config}}, r.deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.Run(ctx, time.Second, 0)
	}()
	for asked.Load() < 40 {
		runtime.Gosched()
	}
	stop()
	close(release)
	<-ended
	success, cancelled := r.series(t, "aiperf_requests_total", "outcome", "success"), r.series(t, "aiperf_requests_total", "outcome", "cancelled")
	sent := r.series(t, "aiperf_arrivals_sent_total")
	if success+cancelled != sent || success == 0 || cancelled == 0 {
		t.Errorf("successes %v + cancelled %v, want the %v that were sent, some of each", success, cancelled, sent)
	}
	if arrivals, dropped := r.series(t, "aiperf_arrivals_total"), r.series(t, "aiperf_arrivals_dropped_total"); arrivals != sent+dropped {
		t.Errorf("arrivals %v, want sent %v + dropped %v", arrivals, sent, dropped)
	}
	if got := r.series(t, "aiperf_inflight_requests"); got != 0 {
		t.Errorf("in flight = %v, want 0", got)
	}
	if got := r.series(t, "aiperf_slo_requests_total"); got != success+r.series(t, "aiperf_arrivals_dropped_total", "reason", "in_flight") {
		t.Errorf("slo requests = %v, want those that were not cancelled", got)
	}
}

// TestAThousandFailuresLeaveNothingBehind counts what the whole process holds, so it does not run beside others.
func TestAThousandFailuresLeaveNothingBehind(t *testing.T) {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) % 5 {
		case 0:
			hang(w, r)
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			http.Error(w, "no", http.StatusInternalServerError)
		case 3:
			sendStream(w, `data: {"error":{"message":"x"}}`+"\n\n"+strings.Repeat(": more\n\n", 1000))
		default:
			sendStream(w, goodStream[:20])
		}
	}))
	defer server.Close()
	server.Config.ErrorLog = discard
	r := newRig(t, server.URL, func(c *generator.TargetConfig) {
		c.Client.Timeouts = transport.Timeouts{Connect: time.Second, FirstToken: 50 * time.Millisecond, Idle: 50 * time.Millisecond, Total: time.Second}
		c.Load.Rate, c.Load.MaxInFlight, c.Load.OnFull, c.Load.Queue.Size, c.Load.Queue.MaxWait = 500, 50, "queue", 1000, time.Minute
		c.Client.Reuse = transport.KeepAlive
	})
	runAndClose(t, r, 50) // what is made once has been made
	goroutines, descriptors := settled(server)
	r.seen = nil
	runAndClose(t, r, 1000)
	if got := len(r.records()); got != 1000 {
		t.Fatalf("%d records, want 1000", got)
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for range 1500 {
		g, d := settled(server)
		if g <= goroutines && d <= descriptors {
			return
		}
		<-again.C // the server's side ends on its own time
	}
	g, d := settled(server)
	t.Errorf("goroutines %d, descriptors %d; before %d and %d", g, d, goroutines, descriptors)
}

func runAndClose(t *testing.T, r *rig, requests int64) {
	t.Helper()
	g, err := generator.New(generator.Config{Targets: []generator.TargetConfig{r.config}}, r.deps)
	if err != nil {
		t.Fatal(err)
	}
	g.Run(t.Context(), time.Minute, requests)
	g.Close()
}

func settled(server *httptest.Server) (goroutines, descriptors int) {
	server.CloseClientConnections()
	http.DefaultClient.CloseIdleConnections()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return runtime.NumGoroutine(), 0 // no such list here; the goroutines that own descriptors are counted
	}
	return runtime.NumGoroutine(), len(entries)
}

func TestHTTP2IsSpokenWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version transport.HTTPVersion
		want    string
	}{{transport.HTTP1, "HTTP/1.1"}, {transport.HTTP2, "HTTP/2.0"}} {
		var proto atomic.Value
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			proto.Store(r.Proto)
			sendStream(w, goodStream)
		}))
		server.EnableHTTP2 = true
		server.StartTLS()
		t.Cleanup(server.Close)
		r := newRig(t, server.URL, func(c *generator.TargetConfig) {
			c.Client.Version = tt.version
			c.Client.HTTP.TLSConfig.InsecureSkipVerify = true
		})
		got := r.once(t.Context(), t)
		if got.record.Outcome != metrics.Success || proto.Load() != tt.want {
			t.Errorf("version %s: outcome %q (%s) over %v, want success over %s", tt.version, got.record.Outcome, got.record.Detail, proto.Load(), tt.want)
		}
		if !got.measures.Phases.TLS.Defined || !got.measures.Phases.Connect.Defined {
			t.Errorf("version %s: connect %v, tls %v, want both", tt.version, got.measures.Phases.Connect, got.measures.Phases.TLS)
		}
		if kernel := got.record.KernelStamps; kernel != (tt.version == transport.HTTP1 && runtime.GOOS == "linux") {
			t.Errorf("version %s: kernel stamps = %v", tt.version, kernel)
		}
	}
}

func TestACredentialIsSentAndAsksForNoRetry(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if got := r.Header.Get("Authorization"); got != "Bearer k" {
			http.Error(w, fmt.Sprintf("got %q", got), http.StatusUnauthorized)
			return
		}
		for _, name := range []string{"X-Request-Id", "X-Aiperf-Exporter", "User-Agent"} {
			if r.Header.Get(name) == "" {
				http.Error(w, "no "+name, http.StatusBadRequest)
				return
			}
		}
		sendStream(w, goodStream)
	}))
	t.Cleanup(server.Close)
	r := newRig(t, server.URL, func(c *generator.TargetConfig) {
		c.Client.Credential = func() (string, string, error) { return "Authorization", "Bearer k", nil }
	})
	if got := r.once(t.Context(), t).record; got.Outcome != metrics.Success {
		t.Errorf("outcome %q: %s", got.Outcome, got.Detail)
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("server was asked %d times, want once", got)
	}
}

func TestUsageIsNoLongerAskedForOnceTheServerHasRefusedTheField(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		if strings.Contains(string(body), "stream_options") {
			http.Error(w, `{"error":{"message":"unknown field stream_options","param":"stream_options"}}`, http.StatusBadRequest)
			return
		}
		sendStream(w, goodStream)
	}))
	t.Cleanup(server.Close)
	r := newRig(t, server.URL)
	target := r.target(t)
	target.Once(t.Context())
	target.Once(t.Context())
	if got := r.series(t, "aiperf_requests_total", "outcome", "success"); got != 1 {
		t.Errorf("successes = %v, want the second request's", got)
	}
	if got := r.series(t, "aiperf_target_usage_supported"); got != 0 {
		t.Errorf("usage supported = %v, want 0", got)
	}
}

// discard keeps the complaints of test servers out of the output.
var discard = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
