package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// server answers every connection by one script.
type server struct {
	script   script
	truth    truth
	sequence atomic.Uint64 // of generation requests
}

func newServer(s script) *server { return &server{script: s, truth: truth{start: time.Now()}} }

// serve accepts connections until the listener is closed, and says why it ended.
func (s *server) serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			s.connection(c)
		}()
	}
}

// connection answers the requests of one connection until either side closes it.
func (s *server) connection(c net.Conn) {
	in := newArrivals(c)
	br := bufio.NewReaderSize(in, 16<<10)
	posted, looked := false, false
	for {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		posted, looked = posted || r.Method == http.MethodPost, looked || r.URL.Path == "/metrics"
		if posted && looked {
			s.truth.shared.Store(true)
		}
		if err := s.answer(c, r, body, in.last); err != nil || r.Close {
			return
		}
	}
}

// answer writes the whole answer to one request, which was there at the instant arrived.
func (s *server) answer(w io.Writer, r *http.Request, body []byte, arrived time.Time) error {
	switch path := r.URL.Path; {
	case r.Method == http.MethodHead: // AIPerf looks so whether there is a page; an answer to it has no body
		return writeBody(w, http.StatusOK, textFormat, nil)
	case path == "/truth":
		return writeJSON(w, http.StatusOK, s.truth.report())
	case path == "/truth/requests":
		return writeBody(w, http.StatusOK, "application/jsonl", s.truth.lines())
	case path == "/health":
		return writeBody(w, http.StatusOK, "text/plain", nil)
	case path == "/v1/models":
		return writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []map[string]string{{"id": "truth", "object": "model"}}})
	case path == "/metrics":
		time.Sleep(s.script.page)
		return writeBody(w, http.StatusOK, textFormat, s.page())
	case path == "/gpu/metrics":
		time.Sleep(s.script.page)
		return writeBody(w, http.StatusOK, textFormat, s.script.gpuPage(time.Since(s.truth.start)))
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/completions"):
		g := generation{id: r.Header.Get("X-Request-ID"), chat: strings.HasSuffix(path, "/chat/completions"), arrived: arrived}
		return s.generate(w, &g, body)
	default:
		return writeError(w, http.StatusNotFound, "no such path "+path)
	}
}

func writeError(w io.Writer, status int, message string) error {
	return writeJSON(w, status, map[string]any{"error": map[string]string{"message": message, "type": "invalid_request_error"}})
}

func writeJSON(w io.Writer, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeBody(w, status, "application/json", body)
}

func writeBody(w io.Writer, status int, contentType string, body []byte) error {
	_, err := fmt.Fprintf(w, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		status, http.StatusText(status), contentType, len(body), body)
	return err
}
