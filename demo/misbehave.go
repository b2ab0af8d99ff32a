package demo

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"time"
)

// gatewayPage is what a proxy in front of a server shows to people.
const gatewayPage = "<!DOCTYPE html>\n<html><head><title>Maintenance</title></head><body><h1>We will be back soon</h1></body></html>\n"

// streamFailure ends a stream the way in which vLLM and SGLang end it when their engine fails.
const streamFailure = `data: {"error":{"message":"the engine failed in the middle, as this fault wants it",` +
	`"type":"InternalServerError","param":null,"code":500}}` + "\n\ndata: [DONE]\n\n"

// misbehaveAtOnce answers a request whose fault needs no token; false if the fault comes later.
func misbehaveAtOnce(w http.ResponseWriter, r *http.Request, j *job) bool {
	switch j.fault.Kind {
	case RateLimit:
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(j.fault.RetryAfter.Seconds()))))
		writeError(w, http.StatusTooManyRequests, "rate_limit_error", "too many requests, as this fault wants it")
	case ServerError:
		writeError(w, http.StatusInternalServerError, "InternalServerError", "the engine failed, as this fault wants it")
	case HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, gatewayPage) // an error means that the client has gone
	case Empty:
		writeEmpty(w, j)
	case Stall, StreamError:
		if j.ask.stream {
			return false
		}
		if j.fault.Kind == Stall {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}
		writeError(w, http.StatusInternalServerError, "InternalServerError", "the engine failed, as this fault wants it")
	case CutStream, Slow:
		return false
	}
	return true
}

// writeEmpty sends a complete answer without any token.
func writeEmpty(w http.ResponseWriter, j *job) {
	if !j.ask.stream {
		writeWhole(w, newWire(j, time.Now()).appendWhole(nil, 0, finishStop), nil)
		return
	}
	out := newStream(w, j)
	if j.ask.chat {
		out.buf = out.appendRole(out.buf)
	}
	out.buf = out.appendTokens(out.buf, 0, finishStop)
	out.buf = out.appendEnd(out.buf)
	out.flush()
}

// misbehaveMidway ends a stream whose first tokens have been sent.
func misbehaveMidway(out *stream, r *http.Request, j *job) {
	switch j.fault.Kind {
	case StreamError:
		j.model.abandon(j, finishedError)
		out.buf = append(out.buf, streamFailure...)
		out.flush()
	case Stall:
		j.model.abandon(j, finishedAbort)
		out.flush() // the headers, if nothing else has gone out yet
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case CutStream:
		out.flush()
		panic(http.ErrAbortHandler)
	case Slow, RateLimit, ServerError, HTML, Empty:
	}
}
