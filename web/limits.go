package web

import (
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// writeTimeout is how long a reader may take to read an answer. A scraper that has stopped reading holds one of the few scrapes that may
// run until then.
const writeTimeout = time.Minute

// Server puts the limits of an exposed server around a handler. logger hears of connections that go wrong and of panics.
func Server(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// bounded breaks the connection of a reader that is too slow. The server itself has no such limit, because a profile may take longer.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Every connection of net/http has a deadline; a writer that is no connection needs none.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
		next.ServeHTTP(w, r)
	})
}

// contained tells panicked of the panic of a handler, which then ends as net/http ends it: with a broken connection and a line in the log.
func contained(next http.Handler, panicked func(cause any)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if err, _ := cause.(error); !errors.Is(err, http.ErrAbortHandler) && panicked != nil { // that one is wanted
				panicked(cause)
			}
			panic(cause)
		}()
		next.ServeHTTP(w, r)
	})
}

// secured sets the headers that keep pages from being framed, sniffed or scripted. The toolkit's web configuration sets some of them
// before, and wins, even with an empty value.
func secured(next http.Handler) http.Handler {
	headers := map[string]string{
		"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff",
		"Referrer-Policy":         "no-referrer",
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			if _, set := w.Header()[name]; !set {
				w.Header().Set(name, value)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// noStore keeps an answer out of caches, for what may tell more than the reader of a cache should know.
func noStore(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
