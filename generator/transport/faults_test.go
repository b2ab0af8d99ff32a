package transport_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// sharing makes clients that share a poller, as those of all targets do.
func sharing(t *testing.T) func(options ...option) *transport.Client {
	t.Helper()
	poller, err := transport.NewPoller(clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(poller.Close)
	return func(options ...option) *transport.Client {
		config := transport.DefaultConfig()
		for _, o := range options {
			o(&config)
		}
		client, err := transport.New(config, clock, poller)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	}
}

// A connection that had to be closed must not be kept: its descriptor's number is soon that of another target's connection, which would
// get the next request, with its credentials.
func TestARequestNeverGoesToAnotherServer(t *testing.T) {
	t.Parallel()
	newClient := sharing(t)
	hanging := newClient(keepAlive, func(c *transport.Config) { c.Timeouts.Idle = 50 * time.Millisecond })
	hangs := serve(t, answering("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100\r\n\r\n", false))
	other := serve(t, func(p *peer) {
		for {
			request := p.request()
			if request == nil {
				return
			}
			if got := request.Header.Get("Authorization"); got != "" {
				t.Errorf("it was told %q", got)
			}
			p.send(wholeAnswer)
		}
	})
	for range 3 {
		request := stream(hangs)
		request.Header.Set("Authorization", "of the other")
		if r := doWith(t.Context(), hanging, request, nil); r.Status != http.StatusServiceUnavailable || r.ConnReused {
			t.Errorf("status %d, reused %v: %v", r.Status, r.ConnReused, r.Err)
		}
		for range 10 {
			if err := do(t, newClient(keepAlive), other).failed(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestAPanicAtTheEndOfAConnectionIsThatOfItsOwnRequest(t *testing.T) {
	t.Parallel()
	eachWay(t, "panic", func(t *testing.T, way option) {
		t.Helper()
		for name, answer := range map[string]string{
			"a body that the end completes":    "HTTP/1.1 200 OK\r\n\r\n{}",
			"an event that the end completes":  streamHead + "\r\ndata: a",
			"an event that a length completes": streamHead + "Content-Length: 7\r\n\r\ndata: a",
		} {
			func() {
				defer func() {
					if cause := fmt.Sprint(recover()); !strings.Contains(cause, "oops") {
						t.Errorf("%s: panic %q, want that of the handler", name, cause)
					}
				}()
				doWith(t.Context(), newClient(t, way), stream(serve(t, answering(answer, true))), func(seen) transport.Verdict { panic("oops") })
			}()
		}
	})
}

// TLS holds a lock while it writes, which reading may need. A server that does not read its request, and sends something to which TLS
// has to say something, must not hold up the poller.
func TestAServerThatHoldsTLSUpDelaysNobody(t *testing.T) {
	t.Parallel()
	pair, authority := certificate(t)
	full, answered := make(chan struct{}), make(chan struct{})
	sick := serveOn(t, func(p *peer) {
		_, _ = p.in.Peek(1)
		close(full)
		_, _ = p.tcp.Write([]byte{23, 3, 3, 0, 32})
		_, _ = p.tcp.Write(make([]byte, 32)) // a record that cannot be decrypted
		<-p.over.Done()
	}, func(conn *net.TCPConn) net.Conn {
		return tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13})
	})
	newClient := sharing(t)
	var running sync.WaitGroup
	running.Go(func() {
		defer close(answered)
		r := doWith(t.Context(), newClient(trusting(authority)), &transport.Request{URL: strings.Replace(sick, "http:", "https:", 1), Body: make([]byte, 32<<20)}, nil)
		if r.Class != metrics.ErrTLS {
			t.Errorf("class %q (%v), want %q", r.Class, r.Err, metrics.ErrTLS)
		}
	})
	<-full
	fine := serve(t, answerAll)
	for range 10 {
		if err := do(t, newClient(), fine).failed(); err != nil {
			t.Error(err)
		}
	}
	<-answered
	running.Wait()
}

// A server may begin to answer at length while the request is still being written.
func TestAFloodDuringTheRequestDoesNotStopTheWriting(t *testing.T) {
	t.Parallel()
	eachWay(t, "plain", func(t *testing.T, way option) {
		t.Helper()
		url := serve(t, func(p *peer) {
			_, _ = p.in.Peek(1)
			p.send(chunkedHead)
			comment := chunk(strings.Repeat(": "+strings.Repeat("x", 1000)+"\n\n", 60))
			for range 300 {
				if _, err := io.WriteString(p, comment); err != nil {
					return
				}
			}
			if p.request() != nil {
				p.send(chunk(sse("a")) + lastChunk)
			}
		})
		r := doWith(t.Context(), newClient(t, way), &transport.Request{URL: url, Body: make([]byte, 32<<20), Stream: true}, func(ev seen) transport.Verdict {
			if ev.Comment {
				return transport.More
			}
			return transport.Token
		})
		if err := r.failed(); err != nil || r.time.Sent == 0 {
			t.Errorf("sent at %d: %v", r.time.Sent, err)
		}
	})
}

// joined sends what is written to it in one piece when it is told to.
type joined struct {
	net.Conn

	on  bool
	all bytes.Buffer
}

// Write implements net.Conn.
func (j *joined) Write(p []byte) (int, error) {
	if j.on {
		return j.all.Write(p)
	}
	return j.Conn.Write(p)
}

// Records of TLS arrive together: an answer that nobody asked for must not become that of the next request.
func TestAnAnswerInARecordOfItsOwnIsNotThatOfTheNextRequest(t *testing.T) {
	t.Parallel()
	eachWay(t, "TLS", func(t *testing.T, way option) {
		t.Helper()
		pair, authority := certificate(t)
		url := serveOn(t, func(p *peer) {
			j := p.Conn.(*tls.Conn).NetConn().(*joined)
			for p.request() != nil {
				j.on = true
				p.send(wholeAnswer)
				p.send(chunkedHead + chunk(sse("stray")) + lastChunk)
				j.on = false
				_, _ = j.Conn.Write(j.all.Bytes())
				j.all.Reset()
			}
		}, func(conn *net.TCPConn) net.Conn {
			return tls.Server(&joined{Conn: conn}, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
		})
		client := newClient(t, trusting(authority), keepAlive, way)
		for range 20 {
			r := do(t, client, strings.Replace(url, "http:", "https:", 1))
			if err := r.failed(); err != nil || r.ConnReused || r.data() != "[a]" {
				t.Fatalf("events %s, reused %v: %v", r.data(), r.ConnReused, err)
			}
		}
	})
}

func TestTheClassOfAnAnswerDoesNotDependOnTheSizeOfTheRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer string
		want   metrics.ErrorClass
	}{
		{"no HTTP", "SSH-2.0-nonsense\r\n", metrics.ErrParse},
		{"a header that does not end", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20), metrics.ErrResponseTooLarge},
	} {
		eachWay(t, tt.name, func(t *testing.T, way option) {
			t.Helper()
			url := serve(t, func(p *peer) {
				_, _ = p.in.Peek(1)
				p.send(tt.answer)
				<-p.over.Done()
			})
			for _, size := range []int{10, 32 << 20} {
				r := doWith(t.Context(), newClient(t, way), &transport.Request{URL: url, Body: make([]byte, size)}, nil)
				if r.Class != tt.want {
					t.Errorf("%d bytes: class %q (%.100v), want %q", size, r.Class, r.Err, tt.want)
				}
			}
		})
	}
}

func TestAStatusWithoutABodyHasNoneWhateverTheHeaderSays(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"204 No Content", "304 Not Modified"} {
		r := do(t, newClient(t), serve(t, answering("HTTP/1.1 "+status+"\r\nTransfer-Encoding: chunked\r\n\r\n", false)))
		if err := r.failed(); err != nil || r.BodyBytes != 0 {
			t.Errorf("%s: %d bytes: %v", status, r.BodyBytes, err)
		}
	}
}

// Many records of TLS may come with one read; the time in the handler must not count once for each that comes after it.
func TestTheTimeOfDecodingIsNotMoreThanThatOfTheExchange(t *testing.T) {
	t.Parallel()
	script := func(p *peer) {
		p.request()
		p.send(chunkedHead)
		for range 200 {
			p.send(chunk(sse(strings.Repeat("x", 200))))
		}
		p.send(lastChunk)
	}
	secure, authority := serveTLS(t, script)
	for _, url := range []string{serve(t, script), secure} {
		first := true
		r := doWith(t.Context(), newClient(t, trusting(authority)), stream(url), func(seen) transport.Verdict {
			if first {
				<-time.NewTimer(20 * time.Millisecond).C // the rest arrives meanwhile
			}
			first = false
			return transport.Token
		})
		if err := r.failed(); err != nil || r.DecodeTime < int64(20*time.Millisecond) || r.DecodeTime > clock.Now()-r.time.Start {
			t.Errorf("%v of decoding in an exchange of %v: %v", time.Duration(r.DecodeTime), time.Duration(clock.Now()-r.time.Start), err)
		}
	}
}

// A connection that is never idle for long would otherwise outlive the certificate with which it was opened.
func TestAKeptConnectionIsNotUsedWithNewCertificates(t *testing.T) {
	t.Parallel()
	url, authority := serveTLS(t, answerAll)
	file := t.TempDir() + "/ca.pem"
	write(t, file, authority)
	client := newClient(t, keepAlive, func(c *transport.Config) { c.HTTP.TLSConfig.CAFile = file })
	for i, reused := range []bool{false, true, false, true} {
		if i == 2 {
			write(t, file, authority+authority)
		}
		if r := do(t, client, url); r.failed() != nil || r.ConnReused != reused {
			t.Errorf("request %d: reused %v, want %v: %v", i, r.ConnReused, reused, r.failed())
		}
	}
}
