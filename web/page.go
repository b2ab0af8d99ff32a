package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
)

//go:embed assets
var assets embed.FS

// newPage renders the entry page, which needs no script and no network.
func newPage(o *Options) (http.Handler, error) {
	tmpl, err := template.ParseFS(assets, "assets/index.html")
	if err != nil {
		return nil, fmt.Errorf("entry page: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var body bytes.Buffer
		err := tmpl.Execute(&body, map[string]any{
			"Version":    o.Version,
			"Telemetry":  o.TelemetryPath[1:],
			"Start":      o.Start.UTC().Format("2006-01-02 15:04:05 UTC"),
			"ConfigHash": o.ConfigHash,
			"Targets":    o.Targets(),
		})
		if err != nil {
			o.Logger.Error("entry page", "err", err)
			http.Error(w, "page could not be rendered", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		write(w, body.Bytes())
	}), nil
}

func asset(name, contentType string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body, err := assets.ReadFile("assets/" + name)
		if err != nil {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "max-age=3600")
		write(w, body)
	})
}
