// Package web is the HTTP surface: /metrics, the effective configuration, health, and a page that says where to look. It only reads what
// others hold, and nothing on it changes the daemon.
package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/promhttp/zstd" // without it a scraper that asks for zstd silently gets identity
)

// Options say what is served.
type Options struct {
	Registry *prometheus.Registry
	Logger   *slog.Logger
	Start    time.Time
	Version  string
	// TelemetryPath is the path of the metrics; RoutePrefix stands before every path, "" or "/x".
	TelemetryPath string
	RoutePrefix   string
	// MaxRequests bounds the scrapes that run at the same time; further ones get 503.
	MaxRequests int
	// InstrumentHandler adds promhttp_* series about the scrapes themselves.
	InstrumentHandler bool
	Pprof             bool
	// Config is the effective configuration with secrets removed, and its hash.
	Config     []byte
	ConfigHash string
	// Targets lists what the page shows.
	Targets func() []Target
}

// Target is one row of the page.
type Target struct {
	Name, Model, URL, Endpoint, Workload, Load, SLOs string
}

// Handler serves the routes. It is not ready until SetReady says so.
type Handler struct {
	http.Handler
	ready atomic.Bool
}

// SetReady turns /-/ready on, and off again when the shutdown begins.
func (h *Handler) SetReady(ready bool) { h.ready.Store(ready) }

// New builds the routes.
func New(o *Options) (*Handler, error) {
	h := &Handler{}
	page, err := newPage(o)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimRight(o.RoutePrefix, "/")
	mux := http.NewServeMux()
	handle := func(pattern string, handler http.Handler) {
		method, route, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" "+prefix+route, handler)
	}
	handle("GET "+path.Join("/", o.TelemetryPath), metricsHandler(o))
	handle("GET /{$}", page)
	handle("GET /style.css", asset("style.css", "text/css; charset=utf-8"))
	handle("GET /config", configHandler(o))
	handle("GET /-/healthy", plain(func() (int, string) { return http.StatusOK, "healthy\n" }))
	handle("GET /-/ready", plain(func() (int, string) {
		if h.ready.Load() {
			return http.StatusOK, "ready\n"
		}
		return http.StatusServiceUnavailable, "not ready\n"
	}))
	if o.Pprof {
		handle("GET /debug/pprof/", http.StripPrefix(prefix, http.HandlerFunc(pprof.Index)))
		handle("GET /debug/pprof/cmdline", http.HandlerFunc(pprof.Cmdline))
		handle("GET /debug/pprof/profile", http.HandlerFunc(pprof.Profile))
		handle("GET /debug/pprof/symbol", http.HandlerFunc(pprof.Symbol))
		handle("GET /debug/pprof/trace", http.HandlerFunc(pprof.Trace))
	}
	if prefix != "" {
		mux.Handle("GET /{$}", http.RedirectHandler(prefix+"/", http.StatusFound))
	}
	h.Handler = secured(mux)
	return h, nil
}

// Server puts the limits of an exposed server around a handler.
func Server(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
}

func metricsHandler(o *Options) http.Handler {
	opts := promhttp.HandlerOpts{
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: o.MaxRequests,
		ErrorHandling:       promhttp.ContinueOnError,
		ErrorLog:            errorLog{o.Logger},
		ProcessStartTime:    o.Start,
		OfferedCompressions: []promhttp.Compression{promhttp.Identity, promhttp.Gzip, promhttp.Zstd},
	}
	if !o.InstrumentHandler {
		return promhttp.HandlerFor(o.Registry, opts)
	}
	opts.Registry = o.Registry
	return promhttp.InstrumentMetricHandler(o.Registry, promhttp.HandlerFor(o.Registry, opts))
}

// errorLog is what promhttp tells gathering errors to.
type errorLog struct{ logger *slog.Logger }

func (l errorLog) Println(v ...any) {
	l.logger.Error("metrics could not be gathered whole", "err", strings.TrimSpace(fmt.Sprintln(v...)))
}

func configHandler(o *Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/yaml; charset=utf-8")
		w.Header().Set("X-Config-Hash", o.ConfigHash)
		w.Header().Set("Cache-Control", "no-store")
		write(w, o.Config)
	})
}

func plain(answer func() (int, string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		code, text := answer()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		write(w, []byte(text))
	})
}

// write sends the body; a reader that has gone away is nobody's fault.
func write(w http.ResponseWriter, body []byte) { _, _ = w.Write(body) }

// secured sets the headers that keep pages from being framed, sniffed or scripted. The toolkit's web configuration sets some of them
// before, and wins.
func secured(next http.Handler) http.Handler {
	headers := map[string]string{
		"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff",
		"Referrer-Policy":         "no-referrer",
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			if w.Header().Get(name) == "" {
				w.Header().Set(name, value)
			}
		}
		next.ServeHTTP(w, r)
	})
}
