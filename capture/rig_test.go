package capture_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/capture"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// all keeps every request, also successes: none takes less than a nanosecond.
func all() capture.Config {
	c := capture.DefaultConfig()
	c.Enabled, c.SlowerThan = true, 1
	return c
}

// measured is what became of a request: its record, and the capture of it after it was a file.
type measured struct {
	record  metrics.Record
	capture *capture.Capture
}

// observer keeps the last record beside what the ring keeps.
type observer struct {
	*capture.Ring
	mu   sync.Mutex
	last metrics.Record
}

// Finished implements generator.Observer.
func (o *observer) Finished(target string, r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) {
	o.Ring.Finished(target, r, m, verdicts)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = *r
	o.last.Content, o.last.Tape = slices.Clone(r.Content), nil
}

// measure sends one chat request to url through the whole generator.
func measure(t *testing.T, url string, configure ...func(*generator.TargetConfig)) measured {
	t.Helper()
	config := generator.TargetConfig{
		Name: "t", URL: url, Model: "m", WorkloadName: "short", LoadName: "default",
		Endpoint: endpoint.Config{Type: endpoint.Chat, MaxTokensField: endpoint.FieldAuto},
		Workload: workload.DefaultConfig(), Load: load.DefaultConfig(), Client: transport.DefaultConfig(), Seed: 1,
	}
	for _, change := range configure {
		change(&config)
	}
	clock := metrics.NewSystemClock()
	poller, err := transport.NewPoller(clock)
	if err != nil {
		t.Fatal(err)
	}
	defer poller.Close()
	seen := &observer{Ring: capture.New(all(), capture.Deps{Clock: clock, Redactor: &secret.Redactor{}, Version: "test"})}
	target, err := generator.NewTarget(config, generator.Deps{
		Clock: clock, Store: metrics.NewStore(metrics.Options{Config: metrics.DefaultConfig(), Clock: clock}), Limiter: load.NewLimiter(0, 0),
		Logger: slog.New(slog.DiscardHandler), UserAgent: "test", Poller: poller, Observer: seen, Tape: seen.Tape,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	target.Once(t.Context())
	return measured{seen.last, asFile(t, seen.Ring, seen.last.RequestID)}
}

// asFile writes a capture and reads it again.
func asFile(t *testing.T, ring *capture.Ring, id string) *capture.Capture {
	t.Helper()
	var file bytes.Buffer
	if found, err := ring.Write(&file, id); !found || err != nil {
		t.Fatalf("request %q was kept: %v, %v", id, found, err)
	}
	c, err := capture.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// replay serves a capture until the test ends, and gives its address.
func replay(t *testing.T, c *capture.Capture) string {
	t.Helper()
	listener, err := capture.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	start(t, func(ctx context.Context) { capture.NewPlayer(c, 1).Serve(ctx, listener) })
	return "http://" + listener.Addr().String()
}

// start runs something until the test ends.
func start(t *testing.T, run func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// serve hands each connection to a script once it has brought a request, and closes it after it.
func serve(t *testing.T, script func(conn *net.TCPConn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	start(t, func(ctx context.Context) {
		defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
		var running sync.WaitGroup
		defer running.Wait()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				if readRequest(conn) {
					script(conn.(*net.TCPConn))
				}
			})
		}
	})
	return "http://" + listener.Addr().String()
}

const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Server: engine-7\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunk(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

// token is a chat chunk with a piece of the answer.
func token(text string) string {
	return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + text + "\"},\"finish_reason\":null}]}\n\n"
}

// ending says why the answer ended, and how many tokens it has.
const ending = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" +
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}}\n\ndata: [DONE]\n\n"
