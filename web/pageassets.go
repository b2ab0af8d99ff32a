package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"time"
)

// uPlot draws the charts of the page of a target; it is what npm serves as uplot 1.6.32, unchanged, its licence beside it.
//
//go:embed assets
var assets embed.FS

// assetTypes are the files that a page asks for, and the one that a browser asks for by itself where the page is plain text: /config and /metrics.
var assetTypes = []struct{ path, name, contentType string }{
	{"/style.css", "style.css", "text/css; charset=utf-8"},
	{"/page.js", "page.js", "text/javascript; charset=utf-8"},
	{"/uplot.css", "uplot.css", "text/css; charset=utf-8"},
	{"/uplot.min.js", "uplot.min.js", "text/javascript; charset=utf-8"},
	{"/icon.svg", "icon.svg", "image/svg+xml"},
	{"/favicon.ico", "icon.svg", "image/svg+xml"},
}

// asset serves a file of the page. It is asked for anew each time, so that it always fits the page, and sent only if it has changed.
func asset(name, contentType string) (http.Handler, error) {
	body, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}), nil
}

// assetsHash is another one for other assets.
func assetsHash() string {
	sum := sha256.New()
	_ = fs.WalkDir(assets, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			body, _ := assets.ReadFile(name) // embedded: it is there
			sum.Write(body)
		}
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:4])
}
