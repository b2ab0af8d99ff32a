// Package api is the API v1: what the daemon knows, as JSON, for programs and for the page. It is described in docs/openapi.yml, which tests
// compare with the answers; within v1 things are only added. It shows what it is handed and computes nothing.
//
// To add a path: one line in the table of routes, and its description in docs/openapi.yml.
package api

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// Prefix is the path below which everything is.
const Prefix = "/api/v1"

// Options say what is served.
type Options struct {
	Daemon view.Daemon
	// Controls: without Pause nobody may pause and resume here.
	Controls view.Controls
	// Captures of streams; nil = none are kept, and there are no paths for them.
	Captures view.Captures
	// Rules are the files of the alerts that come with this program; nil = there are none to be had.
	Rules  fs.FS
	Logger *slog.Logger
	// Panicked, if not nil, is told each panic that was caught.
	Panicked func(cause any)
}

// Route is a path and what answers there, whatever the method: a wrong one is told.
type Route struct {
	Path    string // a pattern of http.ServeMux, without a method
	Methods []string
	http.Handler
	// Endless answers take as long as the reader stays. They give up a reader that is too slow themselves.
	Endless bool
}

// API answers. Run must be running for events to come.
type API struct {
	daemon   view.Daemon
	controls view.Controls
	captures view.Captures
	rules    fs.FS
	events   *events
	logger   *slog.Logger
}

// New makes the API; nothing runs yet.
func New(o *Options) *API {
	return &API{
		daemon: o.Daemon, controls: o.Controls, captures: o.Captures, rules: o.Rules, logger: o.Logger,
		events: newEvents(o.Daemon, o.Logger, o.Panicked),
	}
}

// read is a path that is read: the keys that its query may have, and what gives the data.
type read struct {
	path string
	keys []string
	data func(*http.Request) (any, error)
}

// Routes lists every path. What is not in it but below Prefix is answered by NotFound.
func (a *API) Routes() []Route {
	reads := []read{
		{path: "/status/buildinfo", data: a.buildInfo},
		{path: "/status/runtimeinfo", data: a.runtimeInfo},
		{path: "/status/config", data: a.config},
		{path: "/status/flags", data: a.flags},
		{path: "/targets", data: a.targets},
		{path: "/targets/{name}", data: a.target},
		{path: "/targets/{name}/records", keys: []string{limitKey, outcomeKey}, data: a.records},
		{path: "/discovery", data: a.discovery},
		{path: "/collectors", data: a.collectors},
	}
	if a.captures != nil {
		reads = append(reads, read{path: "/captures", data: a.captureList})
	}
	if a.rules != nil {
		reads = append(reads, read{path: "/alerts/preview", data: a.alerts})
	}
	out := make([]Route, 0, len(reads)+4)
	for _, r := range reads {
		out = append(out, a.route(r.path, http.MethodGet, a.answer(r.keys, r.data)))
	}
	stream := a.route("/events", http.MethodGet, a.answerWith(nil, a.events.serve))
	stream.Endless = true
	out = append(out, stream)
	if a.captures != nil {
		download := a.route("/captures/{id}", http.MethodGet, a.answerWith(nil, a.download))
		download.Endless = true
		out = append(out, download)
	}
	if a.controls.Pause != nil {
		out = append(out,
			a.route("/targets/{name}/pause", http.MethodPost, a.answer(nil, a.pause(true))),
			a.route("/targets/{name}/resume", http.MethodPost, a.answer(nil, a.pause(false))),
		)
	}
	return out
}

// route puts a handler behind the one method that it takes; GET stands for HEAD as well.
func (a *API) route(path, method string, next http.Handler) Route {
	methods := []string{method}
	if method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	allow := strings.Join(methods, ", ")
	return Route{Path: Prefix + path, Methods: methods, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if slices.Contains(methods, r.Method) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", allow)
		Refuse(w, http.StatusMethodNotAllowed, "method "+r.Method+" is not allowed here, only "+allow)
	})}
}

// answer gives data in the envelope.
func (a *API) answer(keys []string, data func(*http.Request) (any, error)) http.Handler {
	return a.answerWith(keys, func(w http.ResponseWriter, r *http.Request) error {
		found, err := data(r)
		if err != nil {
			return err
		}
		write(w, http.StatusOK, success{Status: "success", Data: found})
		return nil
	})
}

// answerWith looks at the query, and tells what went wrong.
func (a *API) answerWith(keys []string, next func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := checkQuery(r.URL.RawQuery, keys)
		if err == nil {
			err = next(w, r)
		}
		if err == nil {
			return
		}
		if told, ok := errors.AsType[*refusal](err); ok {
			Refuse(w, told.code, told.text)
			return
		}
		a.logger.Error("a question to the API could not be answered", slog.String("path", r.URL.Path), slog.Any("err", err))
		Refuse(w, http.StatusInternalServerError, err.Error())
	})
}

// NotFound answers below Prefix where nothing is.
func NotFound(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	Refuse(w, http.StatusNotFound, "there is nothing at "+r.URL.Path)
}
