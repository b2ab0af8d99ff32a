package transport_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// answering is a script that reads a request, sends the text and waits for the client to go, or closes at once.
func answering(text string, closes bool) func(*peer) {
	return func(p *peer) {
		p.request()
		p.send(text)
		if !closes {
			p.request()
		}
	}
}

// ignoreWhen leaves the instants of events out of a comparison.
var ignoreWhen = cmpopts.IgnoreUnexported(seen{})

func TestAnAnswerIsReadToItsEndHoweverItTellsTheEnd(t *testing.T) {
	t.Parallel()
	body := sse("a") + ": alive\n\n" + sse("b")
	three := []seen{{Data: "a"}, {Comment: true}, {Data: "b"}}
	length := fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	for _, tt := range []struct {
		name   string
		answer string
		closes bool // the server closes after the answer
		want   []seen
		bytes  int
	}{
		{"by its length", streamHead + length + body, false, three, len(body)},
		{"by chunks", chunkedHead + chunk(body) + lastChunk, false, three, len(body)},
		{"by chunks of a byte", chunkedHead + bytewise(body) + lastChunk, false, three, len(body)},
		{"by chunks with extensions", chunkedHead + fmt.Sprintf("%x;a=b\r\n%s\r\n", len(body), body) + lastChunk, false, three, len(body)},
		{"by chunks and trailers", streamHead + "Trailer: X-Usage\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(body) + "0\r\nX-Usage: 3\r\n\r\n", false, three, len(body)},
		{"by closing", streamHead + "Connection: close\r\n\r\n" + body, true, three, len(body)},
		{"by closing, as HTTP/1.0 does", strings.Replace(streamHead, "1.1", "1.0", 1) + "\r\n" + body, true, three, len(body)},
		{"after 100 Continue", "HTTP/1.1 100 Continue\r\n\r\n" + chunkedHead + chunk(body) + lastChunk, false, three, len(body)},
		{"after early hints", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + chunkedHead + chunk(body) + lastChunk, false, three, len(body)},
		{"without a last blank line", streamHead + "Content-Length: 7\r\n\r\ndata: a", false, []seen{{Data: "a"}}, 7},
		{"without a byte", streamHead + "Content-Length: 0\r\n\r\n", false, nil, 0},
		{"a body that is no stream, by its length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", false, []seen{{Data: "{}", Body: true}}, 2},
		{"a body that is no stream, by chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("{") + chunk("}") + lastChunk, false, []seen{{Data: "{}", Body: true}}, 2},
		{"a body that is no stream, by closing", "HTTP/1.0 200 OK\r\n\r\n{}", true, []seen{{Data: "{}", Body: true}}, 2},
		{"no body", "HTTP/1.1 204 No Content\r\n\r\n", false, []seen{{Body: true}}, 0},
	} {
		eachWay(t, tt.name, func(t *testing.T, way option) {
			t.Helper()
			r := do(t, newClient(t, way), serve(t, answering(tt.answer, tt.closes)))
			if err := r.failed(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.events, ignoreWhen); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if r.BodyBytes != int64(tt.bytes) {
				t.Errorf("%d bytes of body, want %d", r.BodyBytes, tt.bytes)
			}
			r.checkOrder(t)
		})
	}
}

func bytewise(text string) string {
	var out strings.Builder
	for i := range len(text) {
		out.WriteString(chunk(text[i : i+1]))
	}
	return out.String()
}

// checkOrder holds the order in which the instants of any answered exchange must be.
func (r *result) checkOrder(t *testing.T) {
	t.Helper()
	type instant struct {
		name string
		at   int64
	}
	tl := r.time
	if tl.ConnStart == 0 || tl.ConnDone < tl.ConnStart {
		t.Errorf("asked for a connection at %d, got it at %d", tl.ConnStart, tl.ConnDone)
	}
	order := []instant{{"start", tl.Start}, {"sent", tl.Sent}, {"first byte", tl.FirstByte}, {"header", tl.Header}}
	switch {
	case r.KernelStamps && r.ConnReused && tl.Start < tl.ConnDone:
		t.Errorf("started at %d, before the kept connection was had at %d", tl.Start, tl.ConnDone)
	case !r.ConnReused && tl.Start > tl.ConnStart:
		t.Errorf("started at %d, after the connection was asked for at %d", tl.Start, tl.ConnStart)
	}
	for _, ev := range r.events {
		order = append(order, instant{fmt.Sprintf("event %q", ev.Data), ev.at})
	}
	order = append(order, instant{"end", tl.End})
	for i, this := range order {
		if this.at == 0 {
			t.Errorf("%s: no instant", this.name)
		}
		if i > 0 && this.at < order[i-1].at {
			t.Errorf("%s at %d, before %s at %d", this.name, this.at, order[i-1].name, order[i-1].at)
		}
	}
	for _, ev := range r.events {
		if ev.at > ev.handled {
			t.Errorf("event %q is stamped %d, after it was handled at %d", ev.Data, ev.at, ev.handled)
		}
	}
}

func TestOnlyTheMediaTypeSaysWhatAStreamIs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		contentType string
		stream      bool
	}{
		{"text/event-stream", true},
		{"Text/Event-Stream; charset=UTF-8", true},
		{"text/event-stream;", true},
		{"text/event-stream ; charset", true}, // malformed parameter
		{"text/event-streams", false},
		{"application/json", false},
		{"text/html; x=text/event-stream", false},
		{"", false},
	} {
		t.Run(tt.contentType, func(t *testing.T) {
			t.Parallel()
			r := do(t, newClient(t), serve(t, answering("HTTP/1.1 200 OK\r\nContent-Type: "+tt.contentType+"\r\nContent-Length: 9\r\n\r\n"+sse("a"), false)))
			if err := r.failed(); err != nil || r.Stream != tt.stream || len(r.events) != 1 || r.events[0].Body == tt.stream {
				t.Errorf("stream %v, events %+v, %v, want stream %v", r.Stream, r.events, err, tt.stream)
			}
		})
	}
}

func TestAnAnswerThatIsNotWholeHasAClass(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write([]byte(sse("a")))
	_ = w.Close()
	for _, tt := range []struct {
		name   string
		answer string
		want   metrics.ErrorClass
		data   string // events before
	}{
		{"nothing", "", metrics.ErrTruncated, ""},
		{"half a header", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", metrics.ErrTruncated, ""},
		{"fewer bytes than promised", streamHead + "Content-Length: 100\r\n\r\n" + sse("a"), metrics.ErrTruncated, "[a]"},
		{"chunks without the last", chunkedHead + chunk(sse("a")), metrics.ErrTruncated, "[a]"},
		{"half a chunk", chunkedHead + chunk(sse("a")) + "10\r\ndata:", metrics.ErrTruncated, "[a]"},
		{"a last chunk without its end", chunkedHead + chunk(sse("a")) + "0\r\n", metrics.ErrTruncated, "[a]"},
		{"chunks that are none", chunkedHead + chunk(sse("a")) + "xyz\r\n", metrics.ErrParse, "[a]"},
		{"a chunk longer than it says", chunkedHead + "9\r\n" + sse("a") + "more\r\n", metrics.ErrParse, "[a]"},
		{"a body that is no stream and breaks off", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", metrics.ErrTruncated, ""},
		{"no HTTP", "220 smtp ready\r\n", metrics.ErrParse, ""},
		{"a status that is none", "HTTP/1.1 abc OK\r\n\r\n", metrics.ErrParse, ""},
		{"a header line that is none", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", metrics.ErrParse, ""},
		{"a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n", metrics.ErrParse, ""},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", metrics.ErrParse, ""},
		{"an encoding that nobody knows", streamHead + "Transfer-Encoding: zip\r\n\r\n", metrics.ErrParse, ""},
		{"interim answers and no other", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 10), metrics.ErrTruncated, ""},
		{"HTTP/2 where it was not asked for", "\x00\x00\x12\x04\x00\x00\x00\x00\x00" + strings.Repeat("\x00", 18) + "\r\n", metrics.ErrParse, ""},
		{"a compressed stream that nobody asked for", streamHead + fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", zipped.Len()) + zipped.String(), metrics.ErrParse, ""},
		{"a compressed body that nobody asked for", "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n{}", metrics.ErrParse, ""},
	} {
		eachWay(t, tt.name, func(t *testing.T, way option) {
			t.Helper()
			r := do(t, newClient(t, way), serve(t, answering(tt.answer, true)))
			if r.Class != tt.want || r.Err == nil || r.Cancelled || r.data() != tt.data {
				t.Errorf("class %q (%v), cancelled %v, events %s, want %q, events %s", r.Class, r.Err, r.Cancelled, r.data(), tt.want, tt.data)
			}
			if r.time.End < r.time.Start || r.time.End == 0 {
				t.Errorf("end at %d, start at %d", r.time.End, r.time.Start)
			}
		})
	}
}

func TestIdentityIsNoEncoding(t *testing.T) {
	t.Parallel()
	r := do(t, newClient(t), serve(t, answering(streamHead+"Content-Encoding: Identity\r\nContent-Length: 9\r\n\r\n"+sse("a"), false)))
	if err := r.failed(); err != nil || r.data() != "[a]" {
		t.Errorf("events %s: %v", r.data(), err)
	}
}

func TestABodyMayBeAsLongAsTheLimitAndNoLonger(t *testing.T) {
	t.Parallel()
	const limit = 40 << 10 // more than one read
	for _, tt := range []struct {
		name string
		head string
		over int
		want metrics.ErrorClass
	}{
		{"a stream of the limit", streamHead, 0, ""},
		{"a stream of a byte more", streamHead, 1, metrics.ErrResponseTooLarge},
		{"a body of the limit", "HTTP/1.1 200 OK\r\n", 0, ""},
		{"a body of a byte more", "HTTP/1.1 200 OK\r\n", 1, metrics.ErrResponseTooLarge},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %v", tt.name, chunked), func(t *testing.T) {
				t.Parallel()
				body := strings.Repeat(sse("a"), limit/len(sse("a")))
				body += strings.Repeat("\n", limit+tt.over-len(body))
				answer := tt.head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body
				if chunked {
					answer = tt.head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(body) + lastChunk
				}
				client := newClient(t, func(c *transport.Config) { c.MaxBodyBytes = limit })
				r := do(t, client, serve(t, answering(answer, false)))
				if r.Class != tt.want {
					t.Errorf("class %q (%v), want %q", r.Class, r.Err, tt.want)
				}
				if r.Class == "" && r.BodyBytes != limit {
					t.Errorf("%d bytes, want %d", r.BodyBytes, limit)
				}
			})
		}
	}
}

func TestAnEventBeyondItsLimitEndsTheAnswer(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(c *transport.Config) { c.MaxEventBytes = 100 })
	r := do(t, client, serve(t, answering(chunkedHead+chunk(sse("a"))+chunk(sse(strings.Repeat("b", 100)))+chunk(sse("c"))+lastChunk, false)))
	if r.Class != metrics.ErrResponseTooLarge || r.data() != "[a]" {
		t.Errorf("class %q (%v), events %s, want %q after [a]", r.Class, r.Err, r.data(), metrics.ErrResponseTooLarge)
	}
}

func TestARefusalKeepsTheBeginningOfItsBody(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	for _, tt := range []struct {
		name   string
		answer string
		status int
		want   string
	}{
		{"a short one", "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno", 400, "no"},
		{"none", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", 503, ""},
		{"a long one", "HTTP/1.1 500 Oops\r\nContent-Length: 102400\r\n\r\n" + long, 500, long[:64<<10]},
		{"one that breaks off", "HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\nhalf", 500, "half"},
		{"one that looks like a stream", "HTTP/1.1 429 Slow Down\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\n" + sse("a"), 429, sse("a")},
		{"one that is compressed", "HTTP/1.1 500 Oops\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\nzz", 500, "zz"},
		{"a redirect", "HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 2\r\n\r\ngo", 307, "go"},
	} {
		eachWay(t, tt.name, func(t *testing.T, way option) {
			t.Helper()
			r := do(t, newClient(t, way), serve(t, answering(tt.answer, true)))
			if err := r.failed(); err != nil || r.Status != tt.status || string(r.ErrorBody) != tt.want || len(r.events) != 0 || r.Stream {
				t.Errorf("status %d, body of %d bytes, events %s, %v, want status %d, %d bytes", r.Status, len(r.ErrorBody), r.data(), err, tt.status, len(tt.want))
			}
		})
	}
}

func TestARefusalWhoseBodyHangsEndsAfterTheIdleLimit(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(c *transport.Config) { c.Timeouts.Idle = 50 * time.Millisecond })
	r := do(t, client, serve(t, answering("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100\r\n\r\n", false)))
	if r.Status != 503 || r.Class != "" || r.Cancelled {
		t.Errorf("status %d, class %q, cancelled %v, want 503 alone", r.Status, r.Class, r.Cancelled)
	}
	// The other limits are two minutes: the end tells which one it was.
	if took := time.Duration(r.time.End - r.time.Start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestTheHandlerMayStopAnAnswer(t *testing.T) {
	t.Parallel()
	client := newClient(t, keepAlive)
	url := serve(t, answering(chunkedHead+chunk(sse("a")+sse("b")), false)) // goes on for ever
	r := doWith(t.Context(), client, stream(url), func(seen) transport.Verdict { return transport.Stop })
	if err := r.failed(); err != nil || r.data() != "[a]" {
		t.Errorf("events %s, %v, want [a] alone", r.data(), err)
	}
}

func TestTheCallerMayEndAnExchangeAtAnyTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer string
	}{
		{"before the answer", ""},
		{"before the first event", chunkedHead},
		{"in a stream", chunkedHead + chunk(sse("a"))},
		{"in a body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"},
	} {
		eachWay(t, tt.name, func(t *testing.T, way option) {
			t.Helper()
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := errors.New("stopped")
			url := serve(t, func(p *peer) {
				p.request()
				p.send(tt.answer)
				cancel(stopped)
				p.request()
			})
			r := doWith(ctx, newClient(t, way), stream(url), nil)
			if !r.Cancelled || r.Class != "" || !errors.Is(r.Err, stopped) {
				t.Errorf("cancelled %v, class %q, %v, want cancelled: %v", r.Cancelled, r.Class, r.Err, stopped)
			}
		})
	}
}

func TestARequestThatCannotBeBuiltIsOurFault(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(c *transport.Config) {
		c.Credential = func() (string, string, error) { return "", "", errors.New("no such file") }
	})
	for name, url := range map[string]string{"an address that is none": "http://[::1", "a credential that cannot be read": "http://127.0.0.1"} {
		r := do(t, client, url)
		if r.Class != metrics.ErrClientInternal || r.Err == nil || r.time.Start == 0 || r.time.End != r.time.Start {
			t.Errorf("%s: class %q (%v), from %d to %d", name, r.Class, r.Err, r.time.Start, r.time.End)
		}
	}
}

func TestTheCallersHeaderIsNotTouched(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 2)
	url := serve(t, func(p *peer) {
		if request := p.request(); request != nil {
			got <- request.Header
		}
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	})
	client := newClient(t, func(c *transport.Config) {
		c.Credential = func() (string, string, error) { return "Authorization", "Bearer k", nil }
	})
	header := http.Header{"X-Request-Id": {"1"}}
	for _, h := range []http.Header{header, nil} {
		r := doWith(t.Context(), client, &transport.Request{URL: url, Header: h, Body: []byte("{}")}, nil)
		if err := r.failed(); err != nil {
			t.Fatal(err)
		}
		if sent := (<-got).Get("Authorization"); sent != "Bearer k" {
			t.Errorf("credential %q was sent", sent)
		}
	}
	if diff := cmp.Diff(http.Header{"X-Request-Id": {"1"}}, header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}

// Whatever the chunks, segments and reads are, all bytes come through, once and in order.
func TestNoByteIsLostBetweenChunksAndReads(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			var want []seen
			var body strings.Builder
			for range 50 {
				data := strings.Repeat(string([]byte{'a' + byte(random.IntN(26)), 0, ' '}[:1+random.IntN(3)]), 1+random.IntN(1<<random.IntN(15)))
				want = append(want, seen{Data: data})
				body.WriteString(sse(data))
			}
			answer := chunkedHead
			for rest := body.String(); rest != ""; {
				n := min(len(rest), 1+random.IntN(1<<random.IntN(16)))
				answer += chunk(rest[:n])
				rest = rest[n:]
			}
			answer += lastChunk
			url := serve(t, func(p *peer) {
				p.request()
				for rest := answer; rest != ""; {
					n := min(len(rest), 1+random.IntN(1<<random.IntN(14)))
					p.send(rest[:n])
					rest = rest[n:]
				}
				p.request()
			})
			r := do(t, newClient(t, keepAlive), url)
			if err := r.failed(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, r.events, ignoreWhen); diff != "" {
				t.Errorf("events (-want +got):\n%.2000s", diff)
			}
			if r.BodyBytes != int64(body.Len()) {
				t.Errorf("%d bytes, want %d", r.BodyBytes, body.Len())
			}
			r.checkOrder(t)
		})
	}
}
