package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const (
	streamHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	chunkedHead = streamHead + "Transfer-Encoding: chunked\r\n\r\n"
	lastChunk   = "0\r\n\r\n"
)

// sse is a server-sent event.
func sse(data string) string { return "data: " + data + "\n\n" }

// chunk is one chunk of a chunked body.
func chunk(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

// peer is the server's end of a connection.
type peer struct {
	net.Conn // plain or TLS
	tcp      *net.TCPConn
	in       *bufio.Reader
	over     context.Context // ends with the test
}

// request reads one request; nil means that the client has gone.
func (p *peer) request() *http.Request {
	request, err := http.ReadRequest(p.in)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return request
}

// send writes as few segments as TCP makes of it.
func (p *peer) send(text string) { _, _ = p.Write([]byte(text)) }

// wait returns when the channel gives or is closed, or the test is over.
func (p *peer) wait(signal <-chan struct{}) {
	select {
	case <-signal:
	case <-p.over.Done():
	}
}

// serve runs the script on each connection, which is closed after it, and returns the address.
func serve(t *testing.T, script func(*peer)) string {
	t.Helper()
	return serveOn(t, script, func(conn *net.TCPConn) net.Conn { return conn })
}

func serveOn(t *testing.T, script func(*peer), wrap func(*net.TCPConn) net.Conn) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveAt(t, listener, script, wrap)
}

func serveAt(t *testing.T, listener net.Listener, script func(*peer), wrap func(*net.TCPConn) net.Conn) string {
	t.Helper()
	over, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			tcp := conn.(*net.TCPConn)
			running.Go(func() {
				defer tcp.Close()
				defer context.AfterFunc(over, func() { _ = tcp.Close() })()
				wrapped := wrap(tcp)
				defer wrapped.Close()
				script(&peer{Conn: wrapped, tcp: tcp, in: bufio.NewReader(wrapped), over: over})
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		end()
		running.Wait()
	})
	return "http://" + listener.Addr().String()
}

// serveTLS is serve with TLS; authority is the certificate that vouches for it.
func serveTLS(t *testing.T, script func(*peer)) (url, authority string) {
	t.Helper()
	certificate, authority := certificate(t)
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	url = serveOn(t, script, func(conn *net.TCPConn) net.Conn { return tls.Server(conn, config) })
	return strings.Replace(url, "http:", "https:", 1), authority
}

// serveHTTP2 answers over HTTP/2 and gives the address and what a client must be told.
func serveHTTP2(t *testing.T, handler http.HandlerFunc) (url string, configure option) {
	t.Helper()
	return serveHTTP2With(t, handler, nil)
}

// serveHTTP2With is serveHTTP2, and watches the connections.
func serveHTTP2With(t *testing.T, handler http.HandlerFunc, watch func(net.Conn, http.ConnState)) (url string, configure option) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Config.ConnState = watch
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, func(c *transport.Config) {
		c.Version = transport.HTTP2
		c.HTTP.TLSConfig.InsecureSkipVerify = true
	}
}

// certificate is one for 127.0.0.1 and example.com.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	return server.TLS.Certificates[0], string(pem.EncodeToMemory(block))
}

// option changes a client's configuration.
type option func(*transport.Config)

func keepAlive(c *transport.Config) { c.Reuse = transport.KeepAlive }

func readTimes(c *transport.Config) { c.Timestamps = transport.ReadTimestamps }

// eachWay runs a test with a client whose connections the poller reads, and with one whose exchanges read their own.
func eachWay(t *testing.T, name string, test func(t *testing.T, way option)) {
	t.Helper()
	for way, configure := range map[string]option{"poller": func(*transport.Config) {}, "own reads": readTimes} {
		t.Run(name+", "+way, func(t *testing.T) {
			t.Parallel()
			test(t, configure)
		})
	}
}

func trusting(authority string) option {
	return func(c *transport.Config) { c.HTTP.TLSConfig.CA = authority }
}

// clock is that of all clients and servers here.
var clock = metrics.NewSystemClock()

func newClient(tb testing.TB, options ...option) *transport.Client {
	tb.Helper()
	config := transport.DefaultConfig()
	config.Timeouts = transport.Timeouts{Connect: 2 * time.Minute, FirstToken: 2 * time.Minute, Idle: 2 * time.Minute, Total: 2 * time.Minute}
	for _, o := range options {
		o(&config)
	}
	poller, err := transport.NewPoller(clock)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(poller.Close)
	client, err := transport.New(config, clock, poller)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}

// seen is a copy of an event.
type seen struct {
	Name, Data    string
	Comment, Body bool
	at, read      int64
	handled       int64 // when the handler got it
}

// recorder is a handler that keeps everything and answers with what verdict says, Token if it is nil.
type recorder struct {
	events  []seen
	verdict func(ev seen) transport.Verdict
}

func (*recorder) Start(int64) {}

// Event implements transport.Handler.
func (r *recorder) Event(ev *transport.Event) transport.Verdict {
	s := seen{Name: string(ev.Name), Data: string(ev.Data), Comment: ev.Comment, Body: ev.Body, at: ev.At, read: ev.Read, handled: clock.Now()}
	r.events = append(r.events, s)
	if r.verdict == nil {
		return transport.Token
	}
	return r.verdict(s)
}

// data is what the events hold, in brackets.
func (r *recorder) data() string {
	var out strings.Builder
	for _, ev := range r.events {
		fmt.Fprintf(&out, "[%s]", ev.Data)
	}
	return out.String()
}

// result is what came of one exchange.
type result struct {
	transport.Answer
	time metrics.Timeline
	recorder
}

func do(t *testing.T, client *transport.Client, url string) *result {
	t.Helper()
	return doWith(t.Context(), client, stream(url), nil)
}

// stream is a request for a stream.
func stream(url string) *transport.Request {
	return &transport.Request{URL: url, Header: http.Header{"Accept-Encoding": {"identity"}}, Body: []byte(`{"stream":true}`), Stream: true}
}

func doWith(ctx context.Context, client *transport.Client, request *transport.Request, verdict func(seen) transport.Verdict) *result {
	r := &result{recorder: recorder{verdict: verdict}}
	r.Answer = client.Do(ctx, request, &r.time, &r.recorder)
	return r
}

// failed says what is wrong about an exchange that should have succeeded.
func (r *result) failed() error {
	if r.Class != "" || r.Cancelled || r.Err != nil {
		return fmt.Errorf("class %q, cancelled %v: %w", r.Class, r.Cancelled, r.Err)
	}
	return nil
}

// tunnel passes bytes on in both directions until one side ends.
func (p *peer) tunnel(other net.Conn) {
	var ways sync.WaitGroup
	ways.Go(func() {
		_, _ = io.Copy(other, p.in)
		_ = other.Close()
	})
	_, _ = io.Copy(p.Conn, other)
	_ = p.Close()
	ways.Wait()
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
