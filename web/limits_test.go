package web

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryAnswerHasTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	h := newHandler(t, options())
	want := map[string]string{
		"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff",
		"Referrer-Policy":         "no-referrer",
	}
	for _, path := range []string{"/", "/metrics", "/config", "/-/ready", "/style.css", "/nothing"} {
		resp, _ := ask(t, h, http.MethodGet, path)
		got := map[string]string{}
		for name := range want {
			got[name] = resp.Header.Get(name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestHeadersOfTheWebConfigurationWin(t *testing.T) {
	t.Parallel()
	h := newHandler(t, options())
	w := httptest.NewRecorder()
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("X-Content-Type-Options", "") // switched off
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	got := w.Result().Header
	if diff := cmp.Diff([]string{"default-src 'none'"}, got["Content-Security-Policy"]); diff != "" {
		t.Errorf("Content-Security-Policy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{""}, got["X-Content-Type-Options"]); diff != "" {
		t.Errorf("X-Content-Type-Options (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"no-referrer"}, got["Referrer-Policy"]); diff != "" {
		t.Errorf("Referrer-Policy (-want +got):\n%s", diff)
	}
}

// deadlined notes the deadline that a handler sets.
type deadlined struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (d *deadlined) SetWriteDeadline(at time.Time) error {
	d.deadline = at
	return nil
}

func TestAnswersMustBeReadInTimeExceptProfilesThatTakeAsLongAsAsked(t *testing.T) {
	t.Parallel()
	o := options()
	o.Pprof = true
	h := newHandler(t, o)
	for path, want := range map[string]bool{
		"/": true, "/metrics": true, "/config": true, "/-/healthy": true, "/style.css": true, "/debug/pprof/cmdline": true,
		"/debug/pprof/heap": false,
	} {
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if got := !w.deadline.IsZero(); got != want {
			t.Errorf("%s: deadline set is %v, want %v", path, got, want)
		}
		if want && w.deadline.Before(before.Add(writeTimeout)) {
			t.Errorf("%s: deadline is %v after the request, want %v", path, w.deadline.Sub(before), writeTimeout)
		}
	}
}

func TestServerHasLimitsAndALog(t *testing.T) {
	t.Parallel()
	type limits struct {
		ReadHeader, Idle, Write time.Duration
		HeaderBytes             int
	}
	var log bytes.Buffer
	s := Server(http.NotFoundHandler(), slog.New(slog.NewTextHandler(&log, nil)))
	want := limits{ReadHeader: 10 * time.Second, Idle: 2 * time.Minute, HeaderBytes: 64 << 10}
	if diff := cmp.Diff(want, limits{s.ReadHeaderTimeout, s.IdleTimeout, s.WriteTimeout, s.MaxHeaderBytes}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.ErrorLog.Print("a handshake failed")
	if !strings.Contains(log.String(), `level=WARN msg="a handshake failed"`) {
		t.Errorf("what goes wrong is not in the log: %q", log.String())
	}
}

// panicking is a page that does.
func panicking(cause any) http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(cause) })
}

func TestAPanicOfAPageIsCountedAndEndsItsConnectionOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cause any
		want  int64
	}{
		"a fault":           {"a page that is broken", 1},
		"an answer cut off": {http.ErrAbortHandler, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var panics atomic.Int64
			server := httptest.NewUnstartedServer(contained(panicking(test.cause), func(any) { panics.Add(1) }))
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelWarn)
			server.Start()
			t.Cleanup(server.Close)
			for range 2 {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if resp, err := server.Client().Do(r); err == nil {
					resp.Body.Close()
					t.Errorf("status %d, want a broken connection", resp.StatusCode)
				}
			}
			if got := panics.Load(); got != 2*test.want {
				t.Errorf("%d panics are counted, want %d", got, 2*test.want)
			}
		})
	}
}
