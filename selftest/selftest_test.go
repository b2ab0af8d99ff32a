package selftest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// rig is a watch, and what it measured.
type rig struct {
	watch    *Watch
	store    *metrics.Store
	registry *prometheus.Registry
	log      bytes.Buffer // complete once the watch has ended
}

// newRig makes a watch with a null target on the host that root describes.
func newRig(t *testing.T, root map[string]string) *rig {
	t.Helper()
	r := &rig{registry: prometheus.NewPedanticRegistry()}
	clock := metrics.NewSystemClock()
	r.store = metrics.NewStore(metrics.Options{Config: metrics.DefaultConfig(), Clock: clock})
	r.registry.MustRegister(r.store)
	c := DefaultConfig()
	c.Enabled, c.Interval, c.Limit = true, time.Millisecond, time.Hour
	r.watch = New(c, Deps{Clock: clock, Store: r.store, Logger: slog.New(slog.NewTextHandler(&r.log, nil)), Root: system("0::/\n", mounts2, root)})
	return r
}

// family finds a series with all its children.
func (r *rig) family(t *testing.T, name string) *dto.MetricFamily {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f
		}
	}
	return nil
}

// value is that of a counter or gauge with the value of its label.
func (r *rig) value(t *testing.T, name, label string) float64 {
	t.Helper()
	for _, m := range r.family(t, name).GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetValue() == label {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no %s with %s", name, label)
	return 0
}

// serve runs a null server for the length of a test.
func serve(t *testing.T) *server {
	t.Helper()
	s, err := listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var served sync.WaitGroup
	served.Go(func() { s.serve(ctx) })
	t.Cleanup(func() {
		stop()
		served.Wait()
	})
	return s
}

func TestNullTargetIsMeasured(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	const requests = 2
	if err := r.watch.measure(t.Context(), serve(t).url(), requests); err != nil {
		t.Fatal(err)
	}
	if n := r.value(t, "aiperf_selftest_requests_total", "success"); n != requests {
		t.Errorf("%v successes, want %d:\n%s", n, requests, r.log.String())
	}
	found := r.family(t, "aiperf_selftest_error_seconds").GetMetric()[0].GetHistogram()
	if n := found.GetSampleCount(); n != requests*contentEvents {
		t.Errorf("%d errors, want one for each content event, %d", n, requests*contentEvents)
	}
	bar := r.family(t, "aiperf_selftest_error_bar_seconds").GetMetric()[0].GetGauge().GetValue()
	if sum := found.GetSampleSum(); !(sum > 0 && bar > 0 && bar <= sum) || math.IsInf(sum, 0) {
		t.Errorf("errors of %v s together and an error bar of %v s are impossible", sum, bar)
	}
	for _, f := range []string{"aiperf_arrivals_total", "aiperf_target_info"} {
		if r.family(t, f) != nil {
			t.Errorf("the null target is among the targets: there is %s", f)
		}
	}
	if n := r.family(t, "aiperf_scheduler_wakeup_delay_seconds").GetMetric()[0].GetHistogram().GetSampleCount(); n != 0 {
		t.Errorf("the null target woke up %d schedulers of the targets", n)
	}
}

// The error is the distance from the plan, on either side.
func TestErrorsAreDistancesFromThePlan(t *testing.T) {
	t.Parallel()
	start := int64(time.Hour)
	r := &metrics.Record{Time: metrics.Timeline{Start: start}}
	for i, off := range []time.Duration{0, time.Millisecond, -2 * time.Millisecond} {
		r.Content = append(r.Content, start+int64(planned(i)+off))
	}
	got := errorsOf(r)
	for i, want := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond} {
		if got[i] != int64(want) {
			t.Errorf("error %d is %v, want %v", i, time.Duration(got[i]), want)
		}
	}
}

func TestNullTargetThatFailsIsCountedAndSuspect(t *testing.T) {
	t.Parallel()
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	tests := []struct {
		name   string
		url    func(t *testing.T) string
		logged string
	}{
		{"refused", func(*testing.T) string { return "http://" + closed.Addr().String() }, "error_class=connect"},
		{"connection that is closed in mid-stream", func(t *testing.T) string { t.Helper(); return cutting(t, serve(t)) }, "error_class=truncated"},
		{"another stream", func(t *testing.T) string { t.Helper(); return shorter(t) }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			if err := r.watch.measure(t.Context(), test.url(t), 2); err != nil {
				t.Fatal(err)
			}
			if n := r.value(t, "aiperf_selftest_requests_total", "error"); n != 2 {
				t.Errorf("%v failures, want 2", n)
			}
			if r.value(t, "aiperf_exporter_suspect", "selftest") != 1 {
				t.Error("is not suspect")
			}
			if r.family(t, "aiperf_selftest_error_bar_seconds") != nil {
				t.Error("there is an error bar although nothing was measured")
			}
			if !strings.Contains(r.log.String(), test.logged) {
				t.Errorf("the log does not say %s:\n%s", test.logged, r.log.String())
			}
		})
	}
}

// cutting passes on the beginning of what a server answers.
func cutting(t *testing.T, s *server) string {
	t.Helper()
	return listening(t, func(conn net.Conn) {
		inner, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer inner.Close()
		if readRequest(conn) != nil {
			return
		}
		_, _ = io.WriteString(inner, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
		_, _ = io.CopyN(conn, inner, int64(len(s.preamble)+2*len(s.content)))
	})
}

// shorter answers with a whole stream that is not the planned one.
func shorter(t *testing.T) string {
	t.Helper()
	return listening(t, func(conn net.Conn) {
		if readRequest(conn) != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"+
			`data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
}

// listening answers connections, one after the other, for the length of a test.
func listening(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			answer(conn)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
	})
	return "http://" + listener.Addr().String()
}

// A scanner of ports must not hold the server up, nor what never becomes a request.
func TestServerSurvivesWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, text := range []string{"", "\x16\x03\x01", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nshort"} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.TCPConn).CloseWrite()
		if rest, err := io.ReadAll(conn); len(rest) > 0 || (err != nil && !errors.Is(err, io.EOF) && !isReset(err)) {
			t.Errorf("%q is answered with %q, %v", text, rest, err)
		}
		_ = conn.Close()
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url(), strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || strings.Count(string(body), `{"content":"x"}`) != contentEvents || !strings.HasSuffix(string(body), "data: [DONE]\n\n") {
		t.Errorf("got %v and\n%s", err, body)
	}
}

func isReset(err error) bool { return strings.Contains(err.Error(), "reset by peer") }

// The watch begins its series at once, and leaves nothing behind when it ends.
func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"sys/fs/cgroup/cpu.stat": stat2("250")})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r.watch.Run(ctx)
	if n := r.value(t, "aiperf_selftest_requests_total", "error"); n != 0 {
		t.Errorf("%v failures, want none:\n%s", n, r.log.String())
	}
	throttled := r.family(t, "aiperf_exporter_cpu_throttled_seconds_total")
	if throttled == nil || throttled.GetMetric()[0].GetCounter().GetValue() != 0 {
		t.Errorf("throttling is %v, want 0: what was before this process does not count", throttled)
	}
}

func TestWatchWithoutANullTargetOnlyLooksAtTheHost(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	w := New(DefaultConfig(), r.watch.deps)
	if w.series != nil {
		t.Error("there is a null target")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	w.Run(ctx)
	if r.family(t, "aiperf_exporter_cpu_throttled_seconds_total") != nil {
		t.Error("there is a series of throttling on a host without")
	}
}
