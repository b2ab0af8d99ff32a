package transport_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// A server may close a connection that is kept alive just when the next request is sent on it. net/http would send some requests again;
// here one arrival is one request. What such a request counts as depends on who was first, which is not always known.
func TestNoRequestIsSentTwice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		close func(p *peer, asked *atomic.Int64) // after the first answer on a connection
		want  []metrics.ErrorClass               // of later requests
	}{
		{"the server closes after its answer", func(*peer, *atomic.Int64) {}, []metrics.ErrorClass{"", metrics.ErrConnect, metrics.ErrTruncated}},
		{"the server resets after its answer", func(p *peer, _ *atomic.Int64) { _ = p.tcp.SetLinger(0) }, []metrics.ErrorClass{"", metrics.ErrConnect, metrics.ErrTruncated}},
		{"the server says that it has waited long enough", func(p *peer, _ *atomic.Int64) {
			p.send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}, []metrics.ErrorClass{"", metrics.ErrConnect, metrics.ErrTruncated}},
		{"the server closes when it has read the next request", func(p *peer, asked *atomic.Int64) {
			if p.request() != nil {
				asked.Add(1)
			}
		}, []metrics.ErrorClass{"", metrics.ErrTruncated}},
	} {
		eachWay(t, tt.name, func(t *testing.T, way option) {
			t.Helper()
			var asked atomic.Int64
			url := serve(t, func(p *peer) {
				if p.request() == nil {
					return
				}
				asked.Add(1)
				p.send(wholeAnswer)
				tt.close(p, &asked)
			})
			client := newClient(t, keepAlive, way)
			classes := map[metrics.ErrorClass]int{}
			for i := range 100 {
				before := asked.Load()
				r := do(t, client, url)
				classes[r.Class]++
				// A request that was refused by a closed socket never arrived, and one that has just been answered has.
				if got := asked.Load() - before; got > 1 || got == 0 && r.Class == "" && r.Status == http.StatusOK {
					t.Errorf("request %d (%q) was seen %d times", i, r.Class, got)
				}
				if r.Class != "" && !r.ConnReused {
					t.Errorf("request %d on a fresh connection: class %q: %v", i, r.Class, r.Err)
				}
			}
			for _, class := range tt.want {
				delete(classes, class)
			}
			if len(classes) > 0 {
				t.Errorf("classes %v, want none but %q", classes, tt.want)
			}
		})
	}
}

// The caller uses the bytes of a request again as soon as it is over, even if the server has answered without reading them. The race
// detector watches.
func TestTheCallersBytesAreLetGo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		script func(*peer)
	}{
		{"the server answers before it reads", func(p *peer) {
			_, _ = p.in.Peek(1)
			p.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
			p.request()
		}},
		{"the server answers before it reads, and closes", func(p *peer) {
			_, _ = p.in.Peek(1)
			p.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
		}},
		{"the server answers with a stream before it reads", func(p *peer) {
			_, _ = p.in.Peek(1)
			p.send(wholeAnswer)
			p.request()
		}},
		{"the server closes at once", func(*peer) {}},
	} {
		eachWay(t, tt.name, func(t *testing.T, way option) {
			t.Helper()
			client := newClient(t, keepAlive, way)
			url := serve(t, tt.script)
			body := make([]byte, 8<<20) // more than the sockets take
			header := http.Header{"X-Request-Id": {"1"}}
			for i := range 5 {
				doWith(t.Context(), client, &transport.Request{URL: url, Header: header, Body: body}, nil)
				clear(body)
				header.Set("X-Request-Id", fmt.Sprint(i))
			}
		})
	}
}

func TestExchangesThatShareConnectionsShareNothingElse(t *testing.T) {
	t.Parallel()
	const events = 20
	eachWay(t, "HTTP/1.1", func(t *testing.T, way option) {
		t.Helper()
		url := serve(t, func(p *peer) {
			for {
				request := p.request()
				if request == nil {
					return
				}
				name, _ := io.ReadAll(request.Body)
				p.send(chunkedHead)
				for range events {
					p.send(chunk(sse(string(name))))
				}
				p.send(lastChunk)
			}
		})
		exchangeAll(t, newClient(t, keepAlive, way), url, events)
	})
	t.Run("HTTP/2", func(t *testing.T) {
		t.Parallel()
		url, configure := serveHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
			name, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			for range events {
				_, _ = io.WriteString(w, sse(string(name)))
				w.(http.Flusher).Flush()
			}
		})
		exchangeAll(t, newClient(t, keepAlive, configure), url, events)
	})
}

// exchangeAll sends many requests side by side to a server that answers with so many events that hold what was asked.
func exchangeAll(t *testing.T, client *transport.Client, url string, events int) {
	t.Helper()
	var running sync.WaitGroup
	for worker := range 8 {
		running.Go(func() {
			for i := range 30 {
				name := fmt.Sprintf("%d-%d", worker, i)
				r := doWith(t.Context(), client, &transport.Request{URL: url, Header: http.Header{}, Body: []byte(name), Stream: true}, nil)
				if err := r.failed(); err != nil || len(r.events) != events {
					t.Errorf("%s: %d events: %v", name, len(r.events), err)
					return
				}
				r.checkOrder(t)
				last := r.events[0]
				for _, ev := range r.events {
					if ev.Data != name || ev.read < last.read || ev.read == last.read && ev.at != last.at {
						t.Errorf("%s: event %q of read %d at %d follows one of read %d at %d", name, ev.Data, ev.read, ev.at, last.read, last.at)
					}
					last = ev
				}
			}
		})
	}
	running.Wait()
}

// A server may answer and close while the request is still on its way, or never read it. Its answer counts.
func TestAnEarlyAnswerEndsTheWriting(t *testing.T) {
	t.Parallel()
	eachWay(t, "plain and TLS", func(t *testing.T, way option) {
		t.Helper()
		script := func(p *peer) {
			_, _ = p.in.Peek(1)
			p.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
			<-p.over.Done() // reads nothing more, closes nothing
		}
		secure, authority := serveTLS(t, script)
		for _, url := range []string{serve(t, script), secure} {
			r := doWith(t.Context(), newClient(t, trusting(authority), keepAlive, way), &transport.Request{URL: url, Body: make([]byte, 32<<20)}, nil)
			if err := r.failed(); err != nil || r.Status != http.StatusRequestEntityTooLarge || string(r.ErrorBody) != "no" {
				t.Errorf("status %d, body %q: %v", r.Status, r.ErrorBody, err)
			}
		}
	})
}

func TestARequestOfAnySizeArrives(t *testing.T) {
	t.Parallel()
	eachWay(t, "plain and TLS", func(t *testing.T, way option) {
		t.Helper()
		body := make([]byte, 8<<20)
		for i := range body {
			body[i] = byte(i >> 8)
		}
		script := func(p *peer) {
			for {
				request := p.request()
				if request == nil {
					return
				}
				got, _ := io.ReadAll(request.Body)
				answer := chunk(sse(fmt.Sprint(bytes.Equal(got, body))))
				p.send(chunkedHead + answer + lastChunk)
			}
		}
		secure, authority := serveTLS(t, script)
		client := newClient(t, trusting(authority), keepAlive, way)
		for _, url := range []string{serve(t, script), secure} {
			for i := range 2 {
				r := doWith(t.Context(), client, &transport.Request{URL: url, Body: body}, nil)
				if err := r.failed(); err != nil || r.data() != "[true]" || r.ConnReused != (i == 1) {
					t.Errorf("request %d: %s, reused %v: %v", i, r.data(), r.ConnReused, err)
				}
			}
		}
	})
}

func TestAConnectionThatTheServerHasClosedIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	eachWay(t, "closed while idle", func(t *testing.T, way option) {
		t.Helper()
		closed := make(chan struct{})
		url := serve(t, func(p *peer) {
			p.request()
			p.send(wholeAnswer)
			_ = p.tcp.CloseWrite()
			closed <- struct{}{}
			p.request()
		})
		client := newClient(t, keepAlive, way)
		for range 5 {
			r := do(t, client, url)
			if err := r.failed(); err != nil || r.ConnReused {
				t.Errorf("reused %v: %v", r.ConnReused, err)
			}
			<-closed
		}
	})
}

// What a server sends that nobody asked for must not become the answer to the next request.
func TestAConnectionWithMoreThanTheAnswerIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	eachWay(t, "an answer too many", func(t *testing.T, way option) {
		t.Helper()
		script := func(p *peer) {
			for p.request() != nil {
				p.send(wholeAnswer + chunkedHead + chunk(sse("stray")) + lastChunk)
			}
		}
		secure, authority := serveTLS(t, script)
		client := newClient(t, trusting(authority), keepAlive, way)
		for _, url := range []string{serve(t, script), secure} {
			for range 3 {
				r := do(t, client, url)
				if err := r.failed(); err != nil || r.ConnReused || r.data() != "[a]" {
					t.Errorf("events %s, reused %v: %v", r.data(), r.ConnReused, err)
				}
			}
		}
	})
}

// The poller serves all exchanges: a fault in the handling of one must not end the others.
func TestAPanicInAHandlerIsThatOfItsOwnRequest(t *testing.T) {
	t.Parallel()
	eachWay(t, "panic", func(t *testing.T, way option) {
		t.Helper()
		url := serve(t, answerAll)
		client := newClient(t, keepAlive, way)
		func() {
			defer func() {
				if cause := fmt.Sprint(recover()); !strings.Contains(cause, "oops") {
					t.Errorf("panic %q, want that of the handler", cause)
				}
			}()
			doWith(t.Context(), client, stream(url), func(seen) transport.Verdict { panic("oops") })
			t.Error("the panic did not reach the request")
		}()
		if err := do(t, client, url).failed(); err != nil {
			t.Errorf("the next request failed: %v", err)
		}
	})
}

// One connection that brings more than can be read at once must not keep the poller from the others.
func TestAFloodDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	poller, err := transport.NewPoller(clock)
	if err != nil {
		t.Fatal(err)
	}
	defer poller.Close()
	config := transport.DefaultConfig()
	config.MaxBodyBytes = 0
	client, err := transport.New(config, clock, poller)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	quiet := serve(t, answerAll)
	flood := serve(t, func(p *peer) {
		p.request()
		p.send(chunkedHead)
		text := chunk(strings.Repeat(sse(strings.Repeat("x", 1000)), 60))
		for p.over.Err() == nil {
			if _, err := io.WriteString(p, text); err != nil {
				return
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	flowing := make(chan struct{})
	var once sync.Once
	var flooded sync.WaitGroup
	flooded.Go(func() {
		doWith(ctx, client, stream(flood), func(seen) transport.Verdict { once.Do(func() { close(flowing) }); return transport.Token })
	})
	<-flowing
	for range 20 {
		if err := do(t, client, quiet).failed(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	flooded.Wait()
}
