// Package demo is an inference server without a model: it answers as an OpenAI-compatible server does, in the time in which a
// continuous-batching engine under the same load would, with words drawn at random, and shows its metrics under vLLM's names. The demo,
// the examples and the tests send their traffic to it. It measures nothing for the exporter: what the exporter says about it comes over
// the wire, as with any other server.
//
// Each served model is a Profile: how its engine performs (package engine) and how it misbehaves (Fault). To add a fault: one constant
// in fault.go, what it does on the wire in misbehave.go.
package demo

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server serves the models of a Config. It is an http.Handler; Listen and Run give it a port of its own.
type Server struct {
	models   []*model
	mux      *http.ServeMux
	start    time.Time
	logger   *slog.Logger
	listener net.Listener
}

// New makes a server whose episodes and background loads begin now. It starts nothing, so there is nothing to close.
func New(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{mux: http.NewServeMux(), start: time.Now(), logger: cfg.Logger}
	registry := prometheus.NewRegistry()
	series := newFamilies(registry)
	for i := range cfg.Profiles {
		m := newModel(&cfg.Profiles[i], cfg.Seed, s.start, series)
		registerState(registry, m)
		s.models = append(s.models, m)
	}
	s.mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, true) })
	s.mux.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, false) })
	s.mux.HandleFunc("GET /v1/models", s.listModels)
	s.mux.HandleFunc("POST /faults", s.inject)
	s.mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	s.mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return s
}

// ServeHTTP implements http.Handler. An answer that a fault, the client or the end of the server cuts short ends in a panic with
// http.ErrAbortHandler, which makes net/http close the connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// generate answers a request for tokens.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, chat bool) {
	b, refused := readBody(http.MaxBytesReader(w, r.Body, maxBodyBytes), chat)
	if refused != nil {
		writeError(w, refused.status, refused.kind, refused.message)
		return
	}
	m := s.model(b.Model)
	if m == nil {
		writeError(w, http.StatusNotFound, "NotFoundError", "the model "+b.Model+" does not exist")
		return
	}
	a, refused := b.resolve(m.profile, chat)
	if refused != nil {
		writeError(w, refused.status, refused.kind, refused.message)
		return
	}
	j := m.newJob(a)
	if j.fault != nil && misbehaveAtOnce(w, r, j) {
		return
	}
	m.submit(j)
	defer m.abandon(j, finishedAbort)
	if a.stream {
		streamAnswer(w, r, j)
	} else {
		wholeAnswer(w, r, j)
	}
}

// model finds a served model; a request that names none gets the first.
func (s *Server) model(name string) *model {
	if name == "" {
		return s.models[0]
	}
	for _, m := range s.models {
		if m.profile.Name == name {
			return m
		}
	}
	return nil
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	type entry struct {
		ID          string `json:"id"`
		Object      string `json:"object"`
		Created     int64  `json:"created"`
		OwnedBy     string `json:"owned_by"`
		MaxModelLen int    `json:"max_model_len"`
	}
	entries := make([]entry, 0, len(s.models))
	for _, m := range s.models {
		entries = append(entries, entry{m.profile.Name, "model", s.start.Unix(), "aiperf-exporter", m.profile.Engine.MaxContext})
	}
	writeJSON(w, http.StatusOK, struct {
		Object string  `json:"object"`
		Data   []entry `json:"data"`
	}{"list", entries})
}

// errorObject is a failure in the form that OpenAI and vLLM share.
type errorObject struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

func writeError(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, errorObject{errorDetail{Message: message, Type: kind, Code: status}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here means that the client has gone, which nobody needs to hear.
	_ = json.NewEncoder(w).Encode(v)
}
