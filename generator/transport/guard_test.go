package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// asked keeps what a guard was asked, and says no or yes.
type asked struct {
	answer error

	mu    sync.Mutex
	calls []string
}

func (a *asked) guard(c *transport.Config) {
	c.Guard = func(host string, port uint16, address netip.AddrPort) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.calls = append(a.calls, fmt.Sprintf("%s %d %v", host, port, address))
		return a.answer
	}
}

var errNo = errors.New("no")

func TestAGuardIsAskedOfTheAddressThatIsConnectedTo(t *testing.T) {
	t.Parallel()
	for way, version := range map[string]transport.HTTPVersion{"direct": transport.HTTP1, "net/http": transport.HTTP2} {
		for name, answer := range map[string]error{"yes": nil, "no": errNo} {
			t.Run(way+" says "+name, func(t *testing.T) {
				t.Parallel()
				var connections atomic.Int64
				at := serve(t, func(p *peer) {
					connections.Add(1)
					if p.request() != nil {
						p.send(chunkedHead + chunk(sse("x")) + lastChunk)
					}
				})
				port := at[strings.LastIndexByte(at, ':')+1:]
				g := asked{answer: answer}
				client := newClient(t, g.guard, func(c *transport.Config) { c.Version = version })
				got := do(t, client, at)
				if diff := cmp.Diff([]string{"127.0.0.1 " + port + " 127.0.0.1:" + port}, g.calls); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				if answer == nil {
					if err := got.failed(); err != nil {
						t.Error(err)
					}
					return
				}
				if got.Class != metrics.ErrConnect || !errors.Is(got.Err, errNo) || connections.Load() != 0 {
					t.Errorf("got %q, %v, %d connections", got.Class, got.Err, connections.Load())
				}
			})
		}
	}
}

func TestAGuardIsAskedOfNamesWhereAProxyConnects(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	address := serve(t, func(p *peer) {
		connections.Add(1)
		if p.request() != nil {
			p.send(chunkedHead + chunk(sse("x")) + lastChunk)
		}
	})
	proxy, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]error{"yes": nil, "no": errNo} {
		g := asked{answer: answer}
		client := newClient(t, g.guard, func(c *transport.Config) { c.HTTP.ProxyURL.URL = proxy })
		got := do(t, client, "http://llm.example:8000")
		if diff := cmp.Diff([]string{"llm.example 8000 invalid AddrPort"}, g.calls); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", name, diff)
		}
		if (answer == nil) != (got.failed() == nil) {
			t.Errorf("%s: %v", name, got.failed())
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections to the proxy", n)
	}
}

func TestNobodyIsAskedWhereTheConfigurationHasTokensFrom(t *testing.T) {
	t.Parallel()
	tokens := serve(t, func(p *peer) {
		if p.request() != nil {
			const token = `{"access_token":"abc","token_type":"bearer"}`
			p.send(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(token), token))
		}
	})
	for _, version := range []transport.HTTPVersion{transport.HTTP1, transport.HTTP2} {
		at := serve(t, func(p *peer) {
			if p.request() != nil {
				p.send(chunkedHead + chunk(sse("x")) + lastChunk)
			}
		})
		var g asked
		client := newClient(t, g.guard, func(c *transport.Config) {
			c.Version = version
			c.HTTP.OAuth2 = &promconfig.OAuth2{ClientID: "a", ClientSecret: "b", TokenURL: tokens}
		})
		if err := do(t, client, at).failed(); err != nil {
			t.Error(err)
		}
		if len(g.calls) != 1 || !strings.HasSuffix(at, g.calls[0][strings.LastIndexByte(g.calls[0], ':'):]) {
			t.Errorf("HTTP/%s: asked %q", version, g.calls)
		}
	}
}

func TestADeadlineOfTheCallerIsATimeout(t *testing.T) {
	t.Parallel()
	eachWay(t, "deadline", func(t *testing.T, way option) {
		t.Helper()
		at := serve(t, func(p *peer) {
			p.request()
			p.send(chunkedHead + chunk(sse("x")))
			p.wait(nil)
		})
		client := newClient(t, way)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		got := doWith(ctx, client, &transport.Request{URL: at, Header: http.Header{}, Stream: true}, func(seen) transport.Verdict {
			cancel(context.DeadlineExceeded)
			return transport.Token
		})
		if got.Class != metrics.ErrTimeoutTotal || got.Cancelled {
			t.Errorf("got %q, cancelled %v", got.Class, got.Cancelled)
		}
	})
}
