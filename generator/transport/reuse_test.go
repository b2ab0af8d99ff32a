package transport_test

import (
	"fmt"
	"io"
	"net/http"
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
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			url := serve(t, func(p *peer) {
				if p.request() == nil {
					return
				}
				asked.Add(1)
				p.send(wholeAnswer)
				tt.close(p, &asked)
			})
			client := newClient(t, keepAlive)
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
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, keepAlive)
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
	t.Run("HTTP/1.1", func(t *testing.T) {
		t.Parallel()
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
		exchangeAll(t, newClient(t, keepAlive), url, events)
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
