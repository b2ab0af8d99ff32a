// Command floorclient is the floor for the cost of a streaming client in Go: it sends a prepared request again and again on each
// connection and only reads the bytes, counts events and takes the time of each read; no HTTP is parsed and no JSON. Its processor
// time per event is what a load generator's is divided by.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// lastChunk ends an answer in the chunked transfer encoding.
const lastChunk = "0\r\n\r\n"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("floorclient", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("server", "", "`address` of the server")
	connections := flags.Int("connections", 64, "connections")
	requests := flags.Int64("requests", 1000, "requests in all")
	tokens := flags.Int("tokens", 128, "tokens asked of each request")
	if err := flags.Parse(args); err != nil {
		return 2
	}

	body := fmt.Sprintf(`{"model":"truth","stream":true,"max_tokens":%d,"messages":[{"role":"user","content":"hello"}]}`, *tokens)
	request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", *address, len(body), body)
	started := time.Now()
	total, err := load(context.Background(), *address, *connections, *requests, request)
	wall := time.Since(started)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	cpu, err := processorTime()
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintf(stdout, "events=%d reads=%d wall_seconds=%.2f cpu_seconds=%.2f cpu_microseconds_per_event=%.2f events_per_second=%.0f\n",
		total.events, total.reads, wall.Seconds(), cpu.Seconds(), float64(cpu.Microseconds())/float64(total.events), float64(total.events)/wall.Seconds())
	return 0
}

// count is what a connection has read.
type count struct{ events, reads int64 }

// load spreads requests over connections.
func load(ctx context.Context, address string, connections int, requests int64, request []byte) (count, error) {
	var left atomic.Int64
	left.Store(requests)
	counts, errs := make([]count, connections), make([]error, connections)
	var wg sync.WaitGroup
	for i := range connections {
		wg.Go(func() { counts[i], errs[i] = connection(ctx, address, request, &left) })
	}
	wg.Wait()
	var total count
	for _, c := range counts {
		total.events += c.events
		total.reads += c.reads
	}
	return total, errors.Join(errs...)
}

// connection sends request until none is left.
func connection(ctx context.Context, address string, request []byte, left *atomic.Int64) (count, error) {
	var total count
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return total, err
	}
	defer c.Close()
	buffer := make([]byte, 16<<10)
	for left.Add(-1) >= 0 {
		if _, err := c.Write(request); err != nil {
			return total, err
		}
		for {
			n, err := c.Read(buffer)
			if err != nil {
				return total, err
			}
			_ = time.Now() // a client needs the time of every read, so it belongs to the floor
			total.reads++
			total.events += int64(bytes.Count(buffer[:n], []byte("data: ")))
			if bytes.HasSuffix(buffer[:n], []byte(lastChunk)) {
				break
			}
		}
	}
	return total, nil
}

// processorTime is what this process has used so far, in user and kernel mode.
func processorTime() (time.Duration, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
