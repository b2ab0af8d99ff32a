package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// pages are what people look at. They are whole without a script and without a network but that to the daemon; the script fetches them anew and
// puts what has changed in place, so that there is one way in which they come about.
type pages struct {
	options                *Options
	now                    func() time.Time
	build                  string // changes with the program and with its assets
	fleet, target, missing *template.Template
}

// frame is what every page has around its content.
type frame struct {
	Root      string // leads from the page to the entry page: "" or "../"
	Title     string
	Build     string
	Now       string // by the daemon's clock, which the reader's need not agree with
	Verdict   string // what is told to whoever does not see the page, when it changes
	Telemetry string
	Pprof     bool
	Process   view.Process
	Started   *moment
}

func newPages(o *Options) (*pages, error) {
	p := &pages{options: o, now: o.Now, build: o.Version + "-" + assetsHash()}
	if p.now == nil {
		p.now = time.Now
	}
	for name, into := range map[string]**template.Template{"fleet": &p.fleet, "target": &p.target, "missing": &p.missing} {
		tmpl, err := template.ParseFS(assets, "assets/layout.html", "assets/parts.html", "assets/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", name, err)
		}
		*into = tmpl
	}
	return p, nil
}

func (p *pages) frame(root string, now time.Time) frame {
	process := p.options.Daemon.Process()
	return frame{
		Root: root, Build: p.build, Now: now.UTC().Format("2006-01-02T15:04:05.000Z"), Telemetry: p.options.TelemetryPath[1:], Pprof: p.options.Pprof,
		Process: process, Started: newMoment(now, &process.Start),
	}
}

// serveFleet answers the entry page: which target is unhealthy, since when, and why.
func (p *pages) serveFleet(w http.ResponseWriter, r *http.Request) {
	now := p.now()
	w.Header().Set("Cache-Control", "no-cache")
	p.render(w, r, http.StatusOK, p.fleet, newFleetPage(p.frame("", now), p.options.Daemon, now))
}

// serveTarget answers the page of the target that the path names. No cache may keep it: it shows what servers said, and prompts where they are
// kept.
func (p *pages) serveTarget(w http.ResponseWriter, r *http.Request) {
	name, now := r.PathValue("name"), p.now()
	f := p.frame("../", now)
	w.Header().Set("Cache-Control", "no-store")
	t, found := p.options.Daemon.Target(name)
	if !found {
		f.Title, f.Verdict = "no such target", "There is no target "+name
		p.render(w, r, http.StatusNotFound, p.missing, struct {
			frame
			Name string
		}{f, name})
		return
	}
	p.render(w, r, http.StatusOK, p.target, newTargetPage(&f, &t, p.options.Daemon, now))
}

// render sends a page whole or not at all. One of a large fleet is looked at every few seconds, and packs to a tenth.
func (p *pages) render(w http.ResponseWriter, r *http.Request, code int, tmpl *template.Template, data any) {
	var body bytes.Buffer
	if err := tmpl.ExecuteTemplate(&body, "layout", data); err != nil {
		p.options.Logger.Error("page could not be rendered", slog.Any("err", err))
		http.Error(w, "page could not be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding")
	if !takesGzip(r.Header.Get("Accept-Encoding")) {
		w.WriteHeader(code)
		write(w, body.Bytes())
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(code)
	packer, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is one that there is
	write(packer, body.Bytes())
	_ = packer.Close() // a reader that has gone away is nobody's fault
}

// takesGzip reads the header Accept-Encoding.
func takesGzip(accepted string) bool {
	for coding := range strings.SplitSeq(accepted, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.TrimSpace(name) != "gzip" {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimPrefix(strings.ReplaceAll(weight, " ", ""), "q="), 64)
		return err != nil || q > 0
	}
	return false
}

// targetHref is where the page of a target is, as seen from the entry page.
func targetHref(name string) string { return "targets/" + url.PathEscape(name) }
