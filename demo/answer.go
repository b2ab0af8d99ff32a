package demo

import (
	"net/http"
	"strconv"
	"time"
)

// streamAnswer writes the chunks as the engine gives the tokens: one chunk for each, and one write for all that wait when the client was
// slow.
func streamAnswer(w http.ResponseWriter, r *http.Request, j *job) {
	out := newStream(w, j)
	if j.ask.chat {
		out.buf = out.appendRole(out.buf)
		out.flush()
	}
	limit := j.ask.limit
	if j.fault != nil {
		limit = min(limit, j.fault.AfterTokens)
	}
	for out.written < limit {
		select {
		case <-j.outputs:
			out.add(j)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
		for waiting := len(j.outputs); waiting > 0 && out.written < limit; waiting-- {
			<-j.outputs
			out.add(j)
		}
		if out.written == limit && j.fault == nil {
			out.buf = out.appendEnd(out.buf)
		}
		out.flush()
	}
	if j.fault != nil {
		misbehaveMidway(out, r, j)
	}
}

// stream is a wire with the connection that it goes to.
type stream struct {
	*wire
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf []byte // not yet written
}

// newStream sets the headers; the first flush sends them.
func newStream(w http.ResponseWriter, j *job) *stream {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache")
	return &stream{wire: newWire(j, time.Now()), w: w, rc: http.NewResponseController(w)}
}

// add appends the chunk of one token. The chunk with the last token tells why the answer ends, unless it is going to go wrong.
func (s *stream) add(j *job) {
	finish := ""
	if s.written+1 == j.ask.limit && j.fault == nil {
		finish = j.ask.finish
	}
	s.buf = s.appendTokens(s.buf, 1, finish)
}

// flush sends what has been appended. A client that has gone ends the request.
func (s *stream) flush() {
	if _, err := s.w.Write(s.buf); err != nil {
		panic(http.ErrAbortHandler)
	}
	if err := s.rc.Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
	s.buf = s.buf[:0]
}

// wholeAnswer waits for all tokens and writes them at once.
func wholeAnswer(w http.ResponseWriter, r *http.Request, j *job) {
	for range j.ask.limit {
		select {
		case <-j.outputs:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	out := newWire(j, time.Now())
	writeWhole(w, out.appendWhole(nil, j.ask.limit, j.ask.finish), j.fault)
}

// writeWhole writes a body; a CutStream fault closes the connection in its middle.
func writeWhole(w http.ResponseWriter, body []byte, fault *Fault) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if fault != nil {
		body = body[:len(body)/2]
	}
	_, err := w.Write(body)
	if err == nil && fault != nil {
		// What has been written must reach the client before the connection is closed.
		err = http.NewResponseController(w).Flush()
	}
	if err != nil || fault != nil {
		panic(http.ErrAbortHandler)
	}
}
