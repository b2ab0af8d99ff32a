// Package web is the HTTP surface: /metrics, the effective configuration, health, the API, and a page that says where to look. It reads what
// others hold; only what /-/ and the API take with POST changes anything, and is off unless asked for.
//
// To add a page: one line in the table of routes.
package web

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"path"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aiperf-exporter/aiperf-exporter/web/api"
)

// Options say what is served.
type Options struct {
	Registry *prometheus.Registry
	// Gatherer is what is shown, the series of the Registry among it; nil = those alone.
	Gatherer prometheus.Gatherer
	Logger   *slog.Logger
	// Panicked, if not nil, is told each panic that was caught.
	Panicked func(cause any)
	Start    time.Time
	Version  string
	// TelemetryPath is the path of the metrics; RoutePrefix stands before every path and is "" if there is none. See ValidPath.
	TelemetryPath string
	RoutePrefix   string
	// MaxRequests bounds the scrapes that run at the same time, further ones get 503; 0 = no limit.
	MaxRequests int
	// InstrumentHandler adds promhttp_* series about the scrapes themselves.
	InstrumentHandler bool
	Pprof             bool
	// Probe answers at /probe, see NewProbe; nil: nothing is there.
	Probe http.Handler
	// Daemon is what pages and API show.
	Daemon   Daemon
	Controls Controls
	// Captures of streams; nil = none are kept.
	Captures Captures
	// Rules are the files of the alerts that come with this program; nil = there are none to be had.
	Rules fs.FS
	// Now is the wall clock; nil = that of the host.
	Now func() time.Time
}

// Handler serves the routes. It begins as starting, which is not ready.
type Handler struct {
	http.Handler
	state atomic.Int32
	api   *api.API
}

// Run sends events to the readers of the API until ctx ends, and ends their answers then, which a shutdown of the server waits for.
func (h *Handler) Run(ctx context.Context) { h.api.Run(ctx) }

// Notify tells the readers of events that something has happened: reload, failure. It does not wait.
func (h *Handler) Notify(kind string) { h.api.Notify(kind) }

// What the daemon is doing, in this order: it never becomes ready again once it stops.
const (
	starting int32 = iota
	ready
	stopping
)

// Ready makes /-/ready say yes, unless the daemon stops already.
func (h *Handler) Ready() { h.state.CompareAndSwap(starting, ready) }

// Stopping makes /-/ready say no for good, and tells whether it has said yes before; everything else goes on.
func (h *Handler) Stopping() bool { return h.state.Swap(stopping) == ready }

// State is what the daemon is doing: starting, ready or stopping.
func (h *Handler) State() string {
	return [...]string{"starting", "ready", "stopping"}[h.state.Load()]
}

// ValidPath tells whether something can be served at a path: one or more segments of plain characters, each after a slash.
func ValidPath(p string) bool { return pathPattern.MatchString(p) && path.Clean(p) == p }

var pathPattern = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// route is a path below the prefix and what answers there.
type route struct {
	path    string
	handler http.Handler
	// methods are POST and such for what changes something; nil is GET. any: the handler itself tells a method that is none of them.
	methods []string
	any     bool
	// endless answers take as long as the reader asks for; all others have to be taken within writeTimeout.
	endless bool
}

// patterns are those of http.ServeMux for a route.
func (r *route) patterns(prefix string) []string {
	if r.any {
		return []string{prefix + r.path}
	}
	if r.methods == nil {
		return []string{http.MethodGet + " " + prefix + r.path}
	}
	out := make([]string, len(r.methods))
	for i, method := range r.methods {
		out[i] = method + " " + prefix + r.path
	}
	return out
}

// New builds the routes. The error names a path that cannot be served.
func New(o *Options) (*Handler, error) {
	if !ValidPath(o.TelemetryPath) || (o.RoutePrefix != "" && !ValidPath(o.RoutePrefix)) {
		return nil, fmt.Errorf("telemetry path %q below %q: not a path", o.TelemetryPath, o.RoutePrefix)
	}
	h := &Handler{api: api.New(&api.Options{Daemon: o.Daemon, Controls: o.Controls, Captures: o.Captures, Rules: o.Rules, Logger: o.Logger, Panicked: o.Panicked})}
	routes, err := h.routes(o)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	taken := map[string]bool{}
	for _, r := range routes {
		if taken[r.path] || (r.path == o.TelemetryPath && strings.HasPrefix(r.path, api.Prefix+"/")) {
			return nil, fmt.Errorf("telemetry path %q: another page is there", r.path)
		}
		taken[r.path] = true
		handler := r.handler
		if !r.endless {
			handler = bounded(handler)
		}
		for _, pattern := range r.patterns(o.RoutePrefix) {
			mux.Handle(pattern, handler)
		}
	}
	if o.RoutePrefix != "" {
		mux.Handle("GET /{$}", http.RedirectHandler(o.RoutePrefix+"/", http.StatusFound))
	}
	h.Handler = contained(secured(changing(mux, o.RoutePrefix+api.Prefix+"/")), o.Panicked)
	return h, nil
}

// routes is the table of all pages. The telemetry path, which can be anything, comes last.
func (h *Handler) routes(o *Options) ([]route, error) {
	pages, err := newPages(o)
	if err != nil {
		return nil, err
	}
	out := []route{
		{path: "/{$}", handler: http.HandlerFunc(pages.serveFleet)},
		{path: "/targets/{name}", handler: http.HandlerFunc(pages.serveTarget)},
		{path: "/config", handler: configHandler(o)},
		{path: "/-/healthy", handler: plain(func() (int, string) { return http.StatusOK, "healthy\n" })},
		{path: "/-/ready", handler: plain(h.readiness)},
	}
	for _, a := range assetTypes {
		handler, err := asset(a.name, a.contentType)
		if err != nil {
			return nil, fmt.Errorf("file of the page: %w", err)
		}
		out = append(out, route{path: a.path, handler: handler})
	}
	if o.Probe != nil {
		out = append(out, route{path: "/probe", handler: o.Probe, endless: true}) // bounded by itself
	}
	out = append(out, controlRoutes(&o.Controls)...)
	out = append(out, route{path: api.Prefix + "/", handler: http.HandlerFunc(api.NotFound), any: true})
	for _, r := range h.api.Routes() {
		out = append(out, route{path: r.Path, handler: r, methods: r.Methods, any: true, endless: r.Endless})
	}
	if o.Pprof {
		index := http.StripPrefix(o.RoutePrefix, http.HandlerFunc(pprof.Index))
		out = append(out,
			route{path: "/debug/pprof/", handler: noStore(index), endless: true}, // ?seconds= makes a difference of two
			route{path: "/debug/pprof/cmdline", handler: noStore(http.HandlerFunc(pprof.Cmdline))},
			route{path: "/debug/pprof/profile", handler: noStore(http.HandlerFunc(pprof.Profile)), endless: true},
			route{path: "/debug/pprof/symbol", handler: noStore(http.HandlerFunc(pprof.Symbol))},
			route{path: "/debug/pprof/trace", handler: noStore(http.HandlerFunc(pprof.Trace)), endless: true},
		)
	}
	return append(out, route{path: o.TelemetryPath, handler: metricsHandler(o)}), nil
}

func (h *Handler) readiness() (int, string) {
	code := http.StatusServiceUnavailable
	if h.state.Load() == ready {
		code = http.StatusOK
	}
	return code, h.State() + "\n"
}

func configHandler(o *Options) http.Handler {
	return noStore(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text, hash := o.Daemon.Config()
		w.Header().Set("Content-Type", "text/yaml; charset=utf-8")
		w.Header().Set("X-Config-Hash", hash)
		write(w, text)
	}))
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
func write(w io.Writer, body []byte) { _, _ = w.Write(body) }
