package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
)

//go:embed assets
var assets embed.FS

// page is what the template shows.
type page struct {
	State      string
	Version    string
	Start      string
	ConfigHash string
	Telemetry  string // relative to the page
	Pprof      bool
	Targets    []Target
}

// newPage renders the entry page, which needs no script and no network. Its links are relative, so that they work behind a proxy.
func newPage(o *Options, state func() string) (http.Handler, error) {
	tmpl, err := template.ParseFS(assets, "assets/index.html")
	if err != nil {
		return nil, fmt.Errorf("entry page: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var body bytes.Buffer
		err := tmpl.Execute(&body, page{
			State:      state(),
			Version:    o.Version,
			Start:      o.Start.UTC().Format("2006-01-02 15:04:05 UTC"),
			ConfigHash: o.ConfigHash,
			Telemetry:  o.TelemetryPath[1:],
			Pprof:      o.Pprof,
			Targets:    o.Targets(),
		})
		if err != nil {
			o.Logger.Error("entry page could not be rendered", slog.Any("err", err))
			http.Error(w, "page could not be rendered", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		write(w, body.Bytes())
	}), nil
}

// asset serves a file of the page. It is small, and asked for anew each time, so that it always fits the page.
func asset(name, contentType string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body, err := assets.ReadFile("assets/" + name)
		if err != nil {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "no-cache")
		write(w, body)
	})
}
