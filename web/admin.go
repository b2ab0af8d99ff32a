package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/web/api"
)

const (
	// maxBody bounds what may come with a request that changes something; none of them needs anything.
	maxBody = 1 << 20
	// bodyTimeout is how long that may take to come.
	bodyTimeout = 10 * time.Second
)

// changing guards every request that could change something: a page of another site in the browser of an operator must not stop the canary,
// and what comes with it is bounded. Below apiPath refusals have the form of the API.
func changing(next http.Handler, apiPath string) http.Handler {
	refuse := func(w http.ResponseWriter, r *http.Request, code int, text string) {
		if strings.HasPrefix(r.URL.Path, apiPath) {
			api.Refuse(w, code, text)
			return
		}
		tell(w, code, text)
	}
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, http.StatusForbidden, "pages of other sites may not change anything here")
	}))
	return guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			if code, err := takeBody(w, r); err != nil {
				refuse(w, r, code, err.Error())
				return
			}
		}
		next.ServeHTTP(w, r)
	}))
}

// takeBody reads what comes with a request, before anything is done. Nobody looks at it, but what is left of it would be read after the answer,
// for as long as the sender likes.
func takeBody(w http.ResponseWriter, r *http.Request) (code int, err error) {
	connection := http.NewResponseController(w)
	// Every connection of net/http has a deadline; a writer that is no connection needs none.
	_ = connection.SetReadDeadline(time.Now().Add(bodyTimeout))
	_, err = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody))
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return http.StatusRequestEntityTooLarge, fmt.Errorf("no more than %d bytes may come with a request", maxBody)
	case err != nil:
		return http.StatusBadRequest, fmt.Errorf("read request: %w", err)
	}
	r.Body = http.NoBody
	_ = connection.SetReadDeadline(time.Time{})
	return 0, nil
}

// Hints at the flags for what is switched off.
const (
	lifecycleHint = "not allowed here: start the exporter with --web.enable-lifecycle"
	adminHint     = "not allowed here: start the exporter with --web.enable-admin-api"
)

// controlRoutes are those that change what the daemon does. What is switched off says so, and how to switch it on.
func controlRoutes(c *Controls) []route {
	reload, quit := forbidden(lifecycleHint), forbidden(lifecycleHint)
	pause, resume := forbidden(adminHint), forbidden(adminHint)
	if c.Reload != nil {
		reload = reloadHandler(c.Reload)
	}
	if c.Quit != nil {
		quit = quitHandler(c.Quit)
	}
	if c.Pause != nil {
		pause, resume = pauseHandler(c.Pause, true), pauseHandler(c.Pause, false)
	}
	change := []string{http.MethodPost, http.MethodPut}
	return []route{
		{path: "/-/reload", methods: change, handler: noStore(reload), endless: true}, // until the new configuration is in effect
		{path: "/-/quit", methods: change, handler: noStore(quit)},
		{path: "/-/pause", methods: change[:1], handler: noStore(pause)},
		{path: "/-/resume", methods: change[:1], handler: noStore(resume)},
	}
}

func forbidden(hint string) http.Handler {
	return plain(func() (int, string) { return http.StatusForbidden, hint + "\n" })
}

// reloadHandler answers when the new configuration is in effect or refused. It goes on when whoever asked for it has gone away.
func reloadHandler(reload func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := reload(context.WithoutCancel(r.Context()))
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // see bounded
		switch {
		case errors.Is(err, ErrReloading):
			tell(w, http.StatusConflict, err.Error())
		case err != nil:
			tell(w, http.StatusInternalServerError, err.Error())
		default:
			tell(w, http.StatusOK, "reloaded")
		}
	})
}

func quitHandler(quit func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		quit()
		tell(w, http.StatusOK, "stopping")
	})
}

// pauseHandler stops or resumes arrivals: of the target that the query names, of all without one. pause's error says that there is no such
// target.
func pauseHandler(pause func(target string, paused bool) error, paused bool) http.Handler {
	word := "resumed"
	if paused {
		word = "paused"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil || len(query) > len(query["target"]) || len(query["target"]) > 1 {
			tell(w, http.StatusBadRequest, "only one target can be named: ?target=NAME; without it, it is all of them")
			return
		}
		target := query.Get("target")
		if err := pause(target, paused); err != nil {
			tell(w, http.StatusNotFound, err.Error())
			return
		}
		if target == "" {
			target = "all targets"
		}
		tell(w, http.StatusOK, word+" "+target)
	})
}

// tell answers with a line.
func tell(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	write(w, []byte(text+"\n"))
}
