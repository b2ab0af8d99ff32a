package transport_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// eachCarrier runs a test with a server for each way on which requests travel, and gives how many connections the server has seen, and how
// many of these have ended.
func eachCarrier(t *testing.T, test func(t *testing.T, address string, configure option, seen *connections)) {
	t.Helper()
	answering := func(seen *connections) func(*peer) {
		return func(p *peer) {
			defer seen.begin()()
			answerAll(p)
		}
	}
	for name, server := range map[string]func(*testing.T, *connections) (string, option){
		"HTTP/1.1": func(t *testing.T, seen *connections) (string, option) {
			t.Helper()
			return serve(t, answering(seen)), func(*transport.Config) {}
		},
		"own reads": func(t *testing.T, seen *connections) (string, option) {
			t.Helper()
			return serve(t, answering(seen)), readTimes
		},
		"TLS": func(t *testing.T, seen *connections) (string, option) {
			t.Helper()
			address, authority := serveTLS(t, answering(seen))
			return address, trusting(authority)
		},
		"a proxy": func(t *testing.T, seen *connections) (string, option) {
			t.Helper()
			proxy, err := url.Parse(serve(t, func(p *peer) {
				defer seen.begin()()
				proxying(p)
			}))
			if err != nil {
				t.Fatal(err)
			}
			return "http://llm.example:8000", func(c *transport.Config) { c.HTTP.ProxyURL = promconfig.URL{URL: proxy} }
		},
		"HTTP/2": func(t *testing.T, seen *connections) (string, option) {
			t.Helper()
			return serveCountedHTTP2(t, seen)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := newConnections()
			address, configure := server(t, seen)
			test(t, address, configure, seen)
		})
	}
}

// connections counts those that a server has.
type connections struct {
	begun atomic.Int64
	ended chan struct{} // gives once for each that has ended
}

func newConnections() *connections { return &connections{ended: make(chan struct{}, 100)} }

func (c *connections) begin() (end func()) {
	c.begun.Add(1)
	return func() { c.ended <- struct{}{} }
}

func serveCountedHTTP2(t *testing.T, seen *connections) (string, option) {
	t.Helper()
	return serveHTTP2With(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse("a"))
	}, func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			seen.begun.Add(1)
		case http.StateClosed:
			seen.ended <- struct{}{}
		default:
		}
	})
}

// asks sends so many requests one after the other and gives, of each, whether it had the connection of another one.
func asks(t *testing.T, client *transport.Client, address string, n int) []bool {
	t.Helper()
	var reused []bool
	for range n {
		r := do(t, client, address)
		if err := r.failed(); err != nil || r.data() != "[a]" || !r.ConnObtained {
			t.Fatalf("events %s: %v", r.data(), err)
		}
		reused = append(reused, r.ConnReused)
	}
	return reused
}

func freshEvery(every int) option {
	return func(c *transport.Config) { c.Reuse, c.FreshEvery = transport.Both, every }
}

func refreshing(after time.Duration) option {
	return func(c *transport.Config) { c.Reuse, c.DNSRefresh = transport.KeepAlive, after }
}

func TestEverySoManyRequestsHaveAConnectionOfTheirOwn(t *testing.T) {
	t.Parallel()
	eachCarrier(t, func(t *testing.T, address string, configure option, seen *connections) {
		t.Helper()
		client := newClient(t, configure, freshEvery(3))
		// The first one opens the connection that is kept, every third one another, which is not.
		want := []bool{false, true, false, true, true, false, true, true, false}
		if got := asks(t, client, address, len(want)); !slices.Equal(got, want) {
			t.Errorf("reused %v, want %v", got, want)
		}
		for range 3 {
			<-seen.ended
		}
		client.Close()
		<-seen.ended
		if n := seen.begun.Load(); n != 4 {
			t.Errorf("%d connections, want the kept one and three others", n)
		}
	})
}

// A request on a connection of its own costs what one of a client without kept connections costs, and the phases tell what.
func TestARequestOnAConnectionOfItsOwnHasThePhasesOfOne(t *testing.T) {
	t.Parallel()
	eachCarrier(t, func(t *testing.T, address string, configure option, _ *connections) {
		t.Helper()
		client := newClient(t, configure, freshEvery(2))
		for i := range 6 {
			r := do(t, client, address)
			if err := r.failed(); err != nil {
				t.Fatal(err)
			}
			if opened := i == 0 || i%2 == 1; opened != (r.time.ConnectDone != 0) || opened == r.ConnReused {
				t.Errorf("request %d: connected at %d, reused %v", i+1, r.time.ConnectDone, r.ConnReused)
			}
		}
	})
}

func TestRequestsAreCountedOnceWhoeverSendsThem(t *testing.T) {
	t.Parallel()
	eachCarrier(t, func(t *testing.T, address string, configure option, _ *connections) {
		t.Helper()
		client := newClient(t, configure, freshEvery(4))
		var fresh atomic.Int64
		var running sync.WaitGroup
		for range 4 {
			running.Go(func() {
				for range 10 {
					r := do(t, client, address)
					if err := r.failed(); err != nil {
						t.Error(err)
					}
					if !r.ConnReused {
						fresh.Add(1)
					}
				}
			})
		}
		running.Wait()
		if n := fresh.Load(); n < 10 || n > 30 { // a quarter of forty, and those that found no idle connection
			t.Errorf("%d of 40 requests opened a connection", n)
		}
	})
}

func TestAConnectionThatIsTooOldIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	eachCarrier(t, func(t *testing.T, address string, configure option, seen *connections) {
		t.Helper()
		client := newClient(t, configure, refreshing(time.Nanosecond))
		if got, want := asks(t, client, address, 3), []bool{false, false, false}; !slices.Equal(got, want) {
			t.Errorf("reused %v, want %v", got, want)
		}
		client.Close()
		for range 3 { // also the last one ends
			<-seen.ended
		}
	})
	eachCarrier(t, func(t *testing.T, address string, configure option, _ *connections) {
		t.Helper()
		client := newClient(t, configure, refreshing(time.Hour))
		if got, want := asks(t, client, address, 3), []bool{false, true, true}; !slices.Equal(got, want) {
			t.Errorf("reused %v, want %v", got, want)
		}
	})
}

// A stream that runs when its connection becomes too old goes on, and the connection ends with it.
func TestAStreamOutlivesTheTimeOfItsConnection(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	over := make(chan struct{}, 10)
	address, configure := serveHTTP2With(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse("a"))
		w.(http.Flusher).Flush()
		if r.URL.Path == "/long" {
			<-next
			_, _ = io.WriteString(w, sse("b"))
		}
	}, func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			over <- struct{}{}
		}
	})
	client := newClient(t, configure, refreshing(time.Nanosecond))
	begun := make(chan struct{})
	var long *result
	var running sync.WaitGroup
	running.Go(func() {
		long = doWith(t.Context(), client, stream(address+"/long"), func(ev seen) transport.Verdict {
			if ev.Data == "a" {
				close(begun)
			}
			return transport.Token
		})
	})
	<-begun
	if r := do(t, client, address); r.failed() != nil || r.ConnReused {
		t.Errorf("reused %v: %v", r.ConnReused, r.failed())
	}
	close(next)
	running.Wait()
	if err := long.failed(); err != nil || long.data() != "[a][b]" {
		t.Errorf("events %s: %v", long.data(), err)
	}
	<-over // that of the stream, which nobody else will use
}

// listenOn serves on an address of one family, or skips the test where there is none.
func listenOn(t *testing.T, network, address string, script func(*peer)) (port string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), network, address)
	if err != nil {
		t.Skipf("no %s here: %v", network, err)
	}
	_, port, err = net.SplitHostPort(strings.TrimPrefix(serveAt(t, listener, script, func(conn *net.TCPConn) net.Conn { return conn }), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func only(family transport.IPFamily) option {
	return func(c *transport.Config) { c.IPFamily = family }
}

func TestTheFamilyOfTheConnectionIsTold(t *testing.T) {
	t.Parallel()
	v4 := listenOn(t, "tcp4", "127.0.0.1:0", answerAll)
	v6 := listenOn(t, "tcp6", "[::1]:0", answerAll)
	for _, tt := range []struct {
		name   string
		url    string
		family transport.IPFamily
		want   metrics.IPFamily
		class  metrics.ErrorClass
	}{
		{"an address of IPv4", "http://127.0.0.1:" + v4, transport.AnyFamily, metrics.IPv4, ""},
		{"an address of IPv6", "http://[::1]:" + v6, transport.AnyFamily, metrics.IPv6, ""},
		{"an address of IPv4 in the form of IPv6", "http://[::ffff:127.0.0.1]:" + v4, transport.AnyFamily, metrics.IPv4, ""},
		{"the family that is wanted", "http://[::1]:" + v6, transport.OnlyIPv6, metrics.IPv6, ""},
		{"the other family that is wanted", "http://127.0.0.1:" + v4, transport.OnlyIPv4, metrics.IPv4, ""},
		{"an address of IPv4 where IPv6 is wanted", "http://127.0.0.1:" + v4, transport.OnlyIPv6, "", metrics.ErrDNS},
		{"an address of IPv6 where IPv4 is wanted", "http://[::1]:" + v6, transport.OnlyIPv4, "", metrics.ErrDNS},
		{"nobody listens", "http://127.0.0.1:1", transport.AnyFamily, "", metrics.ErrConnect},
	} {
		for way, proxied := range map[string]bool{"direct": false, "through net/http": true} {
			t.Run(tt.name+", "+way, func(t *testing.T) {
				t.Parallel()
				client := newClient(t, keepAlive, only(tt.family), func(c *transport.Config) {
					if proxied { // the proxy is what the family is about, the server is never looked up
						proxy, err := url.Parse(tt.url)
						if err != nil {
							t.Error(err)
						}
						c.HTTP.ProxyURL = promconfig.URL{URL: proxy}
					}
				})
				address := tt.url
				if proxied {
					address = "http://llm.example:8000"
				}
				for range 2 { // also on a connection that is used again
					r := do(t, client, address)
					if r.Class != tt.class || r.IPFamily != tt.want {
						t.Errorf("class %q, family %q, want %q, %q: %v", r.Class, r.IPFamily, tt.class, tt.want, r.Err)
					}
				}
			})
		}
	}
}

func TestTheFamilyHoldsForHTTP2(t *testing.T) {
	t.Parallel()
	address, configure := serveHTTP2(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse("a"))
	})
	for family, want := range map[transport.IPFamily]metrics.ErrorClass{transport.AnyFamily: "", transport.OnlyIPv4: "", transport.OnlyIPv6: metrics.ErrDNS} {
		r := do(t, newClient(t, configure, only(family)), address)
		if r.Class != want || (r.IPFamily == metrics.IPv4) != (want == "") {
			t.Errorf("%s: class %q, family %q: %v", family, r.Class, r.IPFamily, r.Err)
		}
	}
}

// A name with addresses of both families is only tried at those of the one that is wanted, and a guard hears of no others.
func TestANameIsOnlyTriedAtAddressesOfTheFamily(t *testing.T) {
	t.Parallel()
	port := listenOn(t, "tcp4", "127.0.0.1:0", answerAll)
	listenOn(t, "tcp6", "[::1]:"+port, answerAll) // the test is skipped where something else has the port
	for family, want := range map[transport.IPFamily]string{transport.OnlyIPv4: "127.0.0.1", transport.OnlyIPv6: "::1"} {
		for _, version := range []transport.HTTPVersion{transport.HTTP1, transport.HTTP2} {
			var g asked
			client := newClient(t, only(family), resolving(true), g.guard, func(c *transport.Config) { c.Version = version })
			r := do(t, client, "http://both.example:"+port)
			asked := "both.example " + port + " " + net.JoinHostPort(want, port)
			if err := r.failed(); err != nil || r.IPFamily != metrics.IPFamily(family) || !slices.Equal(g.calls, []string{asked}) {
				t.Errorf("%s, HTTP/%s: family %q, asked of %q: %v", family, version, r.IPFamily, g.calls, err)
			}
		}
	}
}

// resolving answers every question for addresses: of IPv4 with the loopback address, of IPv6 likewise where both are wanted.
func resolving(both bool) option {
	answer := func(query []byte) ([]byte, error) {
		var m dnsmessage.Message
		if err := m.Unpack(query); err != nil {
			return nil, err
		}
		m.Response, m.Additionals = true, nil
		q := m.Questions[0]
		header := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type}
		switch {
		case q.Type == dnsmessage.TypeA:
			m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
		case q.Type == dnsmessage.TypeAAAA && both:
			m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: [16]byte{15: 1}}}}
		}
		return m.Pack()
	}
	serve := func(conn net.Conn) {
		defer conn.Close()
		for {
			var size [2]byte // before each message, where DNS goes over a stream
			if _, err := io.ReadFull(conn, size[:]); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(conn, query); err != nil {
				return
			}
			out, err := answer(query)
			if err != nil {
				return
			}
			if _, err = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
				return
			}
		}
	}
	return func(c *transport.Config) {
		c.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go serve(there) // until the resolver closes its end
			return here, nil
		}}
	}
}

func TestANameWithoutAddressesOfTheFamilyIsAFaultOfTheName(t *testing.T) {
	t.Parallel()
	for _, version := range []transport.HTTPVersion{transport.HTTP1, transport.HTTP2} {
		client := newClient(t, only(transport.OnlyIPv6), resolving(false), func(c *transport.Config) { c.Version = version })
		if r := do(t, client, "http://v4.example:1"); r.Class != metrics.ErrDNS {
			t.Errorf("HTTP/%s: class %q: %v", version, r.Class, r.Err)
		}
	}
}
