package transport_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
)

// wholeAnswer is one that lets the connection be used again.
var wholeAnswer = chunkedHead + chunk(sse("a")) + lastChunk

// answerAll answers each request on a connection.
func answerAll(p *peer) {
	for p.request() != nil {
		p.send(wholeAnswer)
	}
}

// proxying forwards a tunnel, and answers plain requests itself as the server would.
func proxying(p *peer) {
	request := p.request()
	if request == nil {
		return
	}
	if request.Method != http.MethodConnect {
		if !request.URL.IsAbs() {
			p.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			return
		}
		p.send(wholeAnswer)
		answerAll(p)
		return
	}
	server, err := (&net.Dialer{}).DialContext(p.over, "tcp", request.Host)
	if err != nil {
		p.send("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer server.Close()
	p.send("HTTP/1.1 200 Connected\r\n\r\n")
	p.tunnel(server)
}

func TestThePhasesOfAConnectionAreThoseThatHappened(t *testing.T) {
	t.Parallel()
	type phases struct{ DNS, Connect, TLS, Reused, Kernel bool }
	plain := func(t *testing.T) (string, option) {
		t.Helper()
		return serve(t, answerAll), func(*transport.Config) {}
	}
	secure := func(t *testing.T) (string, option) {
		t.Helper()
		server, authority := serveTLS(t, answerAll)
		return server, trusting(authority)
	}
	named := func(t *testing.T) (string, option) {
		t.Helper()
		return strings.Replace(serve(t, answerAll), "127.0.0.1", "localhost", 1), func(*transport.Config) {}
	}
	through := func(server func(*testing.T) (string, option)) func(*testing.T) (string, option) {
		return func(t *testing.T) (string, option) {
			t.Helper()
			target, trust := server(t)
			proxy, err := url.Parse(serve(t, proxying))
			if err != nil {
				t.Fatal(err)
			}
			return target, func(c *transport.Config) {
				trust(c)
				c.HTTP.ProxyURL = promconfig.URL{URL: proxy}
			}
		}
	}
	multiplexed := func(t *testing.T) (string, option) {
		t.Helper()
		return serveHTTP2(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, sse("a"))
		})
	}
	for _, tt := range []struct {
		name   string
		server func(*testing.T) (string, option)
		first  phases
		second phases // of a client that keeps connections
	}{
		{"an address", plain, phases{Connect: true, Kernel: true}, phases{Reused: true, Kernel: true}},
		{"a name", named, phases{DNS: true, Connect: true, Kernel: true}, phases{Reused: true, Kernel: true}},
		{"TLS", secure, phases{Connect: true, TLS: true, Kernel: true}, phases{Reused: true, Kernel: true}},
		{"a proxy", through(plain), phases{Connect: true}, phases{Reused: true}},
		{"TLS through a proxy's tunnel", through(secure), phases{Connect: true, TLS: true}, phases{Reused: true}},
		{"HTTP/2", multiplexed, phases{Connect: true, TLS: true}, phases{Reused: true}},
	} {
		for _, reuse := range []transport.Reuse{transport.Fresh, transport.KeepAlive} {
			t.Run(fmt.Sprintf("%s, %s", tt.name, reuse), func(t *testing.T) {
				t.Parallel()
				url, configure := tt.server(t)
				client := newClient(t, configure, func(c *transport.Config) { c.Reuse = reuse })
				want := tt.first
				for i := range 2 {
					if i == 1 && reuse == transport.KeepAlive {
						want = tt.second
					}
					r := do(t, client, url)
					if err := r.failed(); err != nil || r.data() != "[a]" {
						t.Fatalf("events %s: %v", r.data(), err)
					}
					tl := r.time
					got := phases{tl.DNSDone != 0, tl.ConnectDone != 0, tl.TLSDone != 0, r.ConnReused, r.KernelStamps}
					want.Kernel = want.Kernel && kernelStamps
					if got != want || !r.ConnObtained {
						t.Errorf("request %d: %+v, want %+v", i+1, got, want)
					}
					r.checkOrder(t)
					last := tl.ConnStart
					for _, at := range []int64{tl.DNSStart, tl.DNSDone, tl.ConnectStart, tl.ConnectDone, tl.TLSStart, tl.TLSDone, tl.ConnDone} {
						if at != 0 && at < last {
							t.Errorf("request %d: phases out of order: %+v", i+1, tl)
						}
						last = max(last, at)
					}
				}
			})
		}
	}
}
