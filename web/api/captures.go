package api

import (
	"log/slog"
	"mime"
	"net/http"
	"time"
)

func (a *API) captureList(*http.Request) (any, error) { return a.captures.List(), nil }

// download gives a capture as a file for `aiperf-exporter replay`.
func (a *API) download(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	file := &attachment{w: w, name: id + ".jsonl", slow: newDeadline(w)}
	found, err := a.captures.Write(file, id)
	switch {
	case err == nil && !found:
		return notFound("there is no capture %q", id)
	case err == nil || !file.begun:
		return err
	}
	a.logger.Warn("a capture could not be sent whole", slog.String("request_id", id), slog.Any("err", err))
	panic(http.ErrAbortHandler) // half a file must not look like a whole one
}

// attachment is an answer that browsers keep as a file. Nothing is sent before there is something in it.
type attachment struct {
	w     http.ResponseWriter
	name  string
	begun bool
	slow  deadline
}

// Write implements io.Writer.
func (a *attachment) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", "application/x-ndjson")
		a.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.name}))
	}
	a.slow.extend()
	return a.w.Write(p)
}

// writeTimeout is how long a reader may take to read one piece of an answer that has no end of its own.
const writeTimeout = 10 * time.Second

// deadline breaks the connection of a reader that is too slow.
type deadline struct{ *http.ResponseController }

func newDeadline(w http.ResponseWriter) deadline { return deadline{http.NewResponseController(w)} }

// extend gives the reader time for the next piece. Every connection of net/http has a deadline; a writer that is no connection needs none.
func (d deadline) extend() { _ = d.SetWriteDeadline(time.Now().Add(writeTimeout)) }
