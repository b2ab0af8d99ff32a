// Package web is the HTTP surface: /metrics, the effective configuration, health, and a page that says where to look. It reads what
// others hold; only the administration of targets, which is off unless asked for, changes anything.
//
// To add a page: one line in the table of routes.
package web

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"path"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options say what is served.
type Options struct {
	Registry *prometheus.Registry
	// Gatherer is what is shown, the series of the Registry among it; nil = those alone.
	Gatherer prometheus.Gatherer
	Logger   *slog.Logger
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
	// Pause stops or resumes the arrivals of a target, "" = of all; nil: nobody may do that here.
	Pause func(target string, paused bool) error
	// Config is the effective configuration with secrets removed, and its hash.
	Config     []byte
	ConfigHash string
	// Targets lists what the page shows.
	Targets func() []Target
	// Daemon is what pages and API show.
	Daemon Daemon
	// Now is the wall clock; nil = that of the host.
	Now func() time.Time
}

// Target is one row of the page.
type Target struct {
	Name, Model, URL, Endpoint, Workload, Load, SLOs string
}

// Handler serves the routes. It begins as starting, which is not ready.
type Handler struct {
	http.Handler
	state atomic.Int32
}

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

func (h *Handler) stateName() string {
	return [...]string{"starting", "ready", "stopping"}[h.state.Load()]
}

// ValidPath tells whether something can be served at a path: one or more segments of plain characters, each after a slash.
func ValidPath(p string) bool { return pathPattern.MatchString(p) && path.Clean(p) == p }

var pathPattern = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// route is a path below the prefix and what answers there.
type route struct {
	path    string
	handler http.Handler
	// method is GET, or POST for what changes something; "" is GET.
	method string
	// endless answers take as long as the reader asks for; all others have to be taken within writeTimeout.
	endless bool
}

// New builds the routes. The error names a path that cannot be served.
func New(o *Options) (*Handler, error) {
	if !ValidPath(o.TelemetryPath) || (o.RoutePrefix != "" && !ValidPath(o.RoutePrefix)) {
		return nil, fmt.Errorf("telemetry path %q below %q: not a path", o.TelemetryPath, o.RoutePrefix)
	}
	h := &Handler{}
	routes, err := h.routes(o)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	taken := map[string]bool{}
	for _, r := range routes {
		if taken[r.path] {
			return nil, fmt.Errorf("telemetry path %q: another page is there", r.path)
		}
		taken[r.path] = true
		handler := r.handler
		if !r.endless {
			handler = bounded(handler)
		}
		mux.Handle(cmp.Or(r.method, http.MethodGet)+" "+o.RoutePrefix+r.path, handler)
	}
	if o.RoutePrefix != "" {
		mux.Handle("GET /{$}", http.RedirectHandler(o.RoutePrefix+"/", http.StatusFound))
	}
	h.Handler = secured(mux)
	return h, nil
}

// routes is the table of all pages. The telemetry path, which can be anything, comes last.
func (h *Handler) routes(o *Options) ([]route, error) {
	page, err := newPage(o, h.stateName)
	if err != nil {
		return nil, err
	}
	out := []route{
		{path: "/{$}", handler: page},
		{path: "/style.css", handler: asset("style.css", "text/css; charset=utf-8")},
		{path: "/icon.svg", handler: asset("icon.svg", "image/svg+xml")},
		{path: "/config", handler: configHandler(o)},
		{path: "/-/healthy", handler: plain(func() (int, string) { return http.StatusOK, "healthy\n" })},
		{path: "/-/ready", handler: plain(h.readiness)},
	}
	if o.Pause != nil {
		out = append(out,
			route{path: "/-/pause", method: http.MethodPost, handler: pauseHandler(o.Pause, true)},
			route{path: "/-/resume", method: http.MethodPost, handler: pauseHandler(o.Pause, false)},
		)
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
	return code, h.stateName() + "\n"
}

func configHandler(o *Options) http.Handler {
	return noStore(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/yaml; charset=utf-8")
		w.Header().Set("X-Config-Hash", o.ConfigHash)
		write(w, o.Config)
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
func write(w http.ResponseWriter, body []byte) { _, _ = w.Write(body) }
