package transport_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// paced is a handler that asks for the next event when it has one, so that each comes with a read of its own.
type paced struct {
	next   chan struct{}
	events int
	at     int64
}

func (*paced) Start(int64) {}

// Event implements transport.Handler.
func (p *paced) Event(ev *transport.Event) transport.Verdict {
	p.events++
	p.at = ev.At
	p.next <- struct{}{}
	return transport.Token
}

// pacedServer sends as many events as a request's body has bytes, each when next says so, and allocates nothing for them.
func pacedServer(tb testing.TB, event string) (url string, next chan struct{}) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	next = make(chan struct{})
	head, body, last := []byte(chunkedHead), []byte(chunk(event)), []byte(lastChunk)
	serve := func(conn net.Conn) {
		defer conn.Close()
		in := bufio.NewReader(conn)
		for {
			request, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = in.Discard(int(request.ContentLength))
			_, _ = conn.Write(head)
			for range request.ContentLength {
				_, _ = conn.Write(body)
				<-next
			}
			_, _ = conn.Write(last)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn)
		}
	}()
	tb.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return "http://" + listener.Addr().String(), next
}

func ask(tb testing.TB, client *transport.Client, url string, handler *paced, events int) {
	tb.Helper()
	var timeline metrics.Timeline
	handler.events = 0
	answer := client.Do(context.Background(), &transport.Request{URL: url, Header: http.Header{}, Body: make([]byte, events), Stream: true}, &timeline, handler)
	if answer.Err != nil || handler.events != events {
		tb.Fatalf("%d events of %d: %v", handler.events, events, answer.Err)
	}
}

// BenchmarkStream is a request with 200 events, each of which is waited for, beside a loop that only reads the bytes.
func BenchmarkStream(b *testing.B) {
	const events = 200
	for _, size := range []int{250, 2500, 25000} {
		event := sse(strings.Repeat("x", size-len(sse(""))))
		for _, timestamps := range []transport.Timestamps{transport.KernelTimestamps, transport.ReadTimestamps} {
			b.Run(fmt.Sprintf("bytes=%d/timestamps=%s", size, timestamps), func(b *testing.B) {
				url, next := pacedServer(b, event)
				client := newClient(b, keepAlive, func(c *transport.Config) { c.Timestamps = timestamps })
				handler := &paced{next: next}
				ask(b, client, url, handler, events)
				b.ReportAllocs()
				for b.Loop() {
					ask(b, client, url, handler, events)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
				client.Close()
			})
		}
		b.Run(fmt.Sprintf("bytes=%d/loop", size), func(b *testing.B) {
			url, next := pacedServer(b, event)
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			request := []byte(fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", events, strings.Repeat("x", events)))
			head, whole, p := len(chunkedHead), len(chunk(event)), make([]byte, 64<<10)
			read := func(n int) {
				for n > 0 {
					got, err := conn.Read(p)
					if err != nil {
						b.Fatal(err)
					}
					n -= got
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = conn.Write(request)
				read(head + whole)
				next <- struct{}{}
				for range events - 1 {
					read(whole)
					next <- struct{}{}
				}
				read(len(lastChunk))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}

// BenchmarkExchange is what a request costs apart from its events.
func BenchmarkExchange(b *testing.B) {
	for _, reuse := range []transport.Reuse{transport.Fresh, transport.KeepAlive} {
		for _, timestamps := range []transport.Timestamps{transport.KernelTimestamps, transport.ReadTimestamps} {
			b.Run(fmt.Sprintf("reuse=%s/timestamps=%s", reuse, timestamps), func(b *testing.B) {
				url, next := pacedServer(b, sse("x"))
				client := newClient(b, func(c *transport.Config) { c.Reuse, c.Timestamps = reuse, timestamps })
				handler := &paced{next: next}
				b.ReportAllocs()
				for b.Loop() {
					ask(b, client, url, handler, 1)
				}
				client.Close()
			})
		}
	}
}

// It counts the allocations of the whole process, so it does not run beside others. On one processor the client waits in another way.
func TestAnEventAllocatesNothing(t *testing.T) {
	processors := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(processors)
	for _, test := range []struct {
		timestamps transport.Timestamps
		processors int
	}{{transport.KernelTimestamps, max(processors, 2)}, {transport.KernelTimestamps, 1}, {transport.ReadTimestamps, max(processors, 2)}, {transport.ReadTimestamps, 1}} {
		runtime.GOMAXPROCS(test.processors)
		timestamps := test.timestamps
		url, next := pacedServer(t, sse(strings.Repeat("x", 240)))
		client := newClient(t, keepAlive, func(c *transport.Config) { c.Timestamps = timestamps })
		handler := &paced{next: next}
		allocations := func(events int) uint64 {
			var before, after runtime.MemStats
			ask(t, client, url, handler, events)
			runtime.ReadMemStats(&before)
			for range 10 {
				ask(t, client, url, handler, events)
			}
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs
		}
		const more = 300
		few, many := allocations(10), allocations(10+more)
		if perEvent := (float64(many) - float64(few)) / (10 * more); perEvent > 0.1 {
			t.Errorf("%s timestamps, %d processors: %.3f allocations for each event, want 0", timestamps, test.processors, perEvent)
		}
		client.Close()
	}
}
