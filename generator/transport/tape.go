package transport

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"syscall"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// recorder writes what goes over the wire on a tape. The zero value does not.
type recorder struct {
	tape   *metrics.Tape
	limit  int   // of each body, in bytes
	read   int64 // number of the last one
	whole  bool  // the answer
	broken error // what ended it before that
}

// newRecorder begins the tape of a request, if there is one.
func newRecorder(request *Request) recorder {
	if request.Tape == nil {
		return recorder{}
	}
	request.Tape.Method, request.Tape.URL = http.MethodPost, publicURL(request.URL)
	request.Tape.RequestHeader = request.Header
	return recorder{tape: request.Tape, limit: request.TapeBytes}
}

// publicURL is scheme, host and path; "" if the text is not a URL.
func publicURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// head takes the header of the answer.
func (r *recorder) head(status int, header http.Header) {
	if r.tape != nil {
		r.tape.Status, r.tape.Header = status, header
	}
}

// part takes a part of the body, which arrived with the read of that number. The parts of one read are one piece.
func (r *recorder) part(p []byte, at, read int64) {
	if r.tape == nil || r.tape.Truncated {
		return
	}
	t := r.tape
	room := r.limit - len(t.Body) - metrics.TapeReadBytes*len(t.Reads)
	if read != r.read {
		room -= metrics.TapeReadBytes
	}
	if len(p) > room {
		p, t.Truncated = p[:max(0, room)], true
	}
	if len(p) == 0 {
		return
	}
	t.Body = append(t.Body, p...)
	if read != r.read {
		r.read = read
		t.Reads = append(t.Reads, metrics.TapeRead{At: at})
	}
	t.Reads[len(t.Reads)-1].End = len(t.Body)
}

// finish notes how the exchange ended, with err as the client sees it, and what was asked: until now the caller had the bytes anyway.
func (r *recorder) finish(ctx context.Context, request *Request, err error) {
	if r.tape == nil {
		return
	}
	r.tape.End = r.end(ctx, err)
	r.tape.RequestBody = append(r.tape.RequestBody, request.Body[:min(len(request.Body), r.limit)]...)
}

func (r *recorder) end(ctx context.Context, err error) metrics.TapeEnd {
	if r.broken != nil { // also where the answer was a refusal, and so its end means nothing to the outcome
		err = r.broken
	}
	switch {
	case r.whole:
		return metrics.EndComplete
	case ctx.Err() != nil:
		return metrics.EndSilence
	case err == nil, errors.Is(err, errEncoded), errors.Is(err, ErrEventTooLarge), errors.Is(err, errBodyTooLarge), errors.Is(err, errHeadTooLarge):
		return metrics.EndStopped
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), says(err, "stream error"): // the last one of HTTP/2
		return metrics.EndReset
	case errors.Is(err, errMalformed), isMalformed(err):
		return metrics.EndMalformed
	}
	return metrics.EndCut
}
