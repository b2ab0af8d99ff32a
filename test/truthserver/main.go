// Command truthserver is an OpenAI-compatible streaming server that knows the truth about each request: it notes when the request had
// arrived and when it handed each chunk to the kernel. What a client measures is held against that.
//
// It speaks HTTP/1.1 over plain sockets, one goroutine per connection, so that it costs as little processor time as it can.
//
//	GET /truth            totals and distributions as JSON
//	GET /truth/requests   one JSON line per finished request, joined by X-Request-ID
//	GET /health           200, for clients that look before they start
//	GET /v1/models        a model; requests may name any other
//	GET /metrics          its counters, as vLLM shows them
//	GET /gpu/metrics      GPUs that draw constant power, as dcgm-exporter shows them
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// script is how every answer goes.
type script struct {
	firstToken time.Duration // request arrived → first token
	spread     time.Duration // the delay of request n is firstToken plus an n-dependent share of spread, evenly spread over [0, 1)
	gap        time.Duration // between chunks, times their tokens
	tokens     int           // if the request does not say
	chunk      int           // tokens per chunk
	batch      int           // chunks per write
	role       bool          // send a chunk with the role and no text at once, as vLLM does
	continuous bool          // tell the usage so far in each chunk to clients that ask for it
	failEvery  uint64        // request n is refused if it is a multiple of this; 0 = none is
	gpus       int
	watts      float64       // of each of them
	page       time.Duration // what a page of metrics takes
	front      time.Duration // of firstToken, before the clock of the page starts
	queue      time.Duration // of firstToken, after front: what the page tells as waiting
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run serves until the process is ended. It prints the address it listens on as its first line.
func run(args []string, stdout, stderr io.Writer) int {
	var s script
	flags := flag.NewFlagSet("truthserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("listen", "127.0.0.1:0", "`address` to listen on")
	flags.DurationVar(&s.firstToken, "ttft", 50*time.Millisecond, "`delay` before the first token")
	flags.DurationVar(&s.spread, "ttft-spread", 0, "width of the uniform distribution that is added to -ttft")
	flags.DurationVar(&s.gap, "itl", 10*time.Millisecond, "`delay` between tokens")
	flags.IntVar(&s.tokens, "tokens", 128, "tokens when the request does not say")
	flags.IntVar(&s.chunk, "chunk-tokens", 1, "tokens per chunk")
	flags.IntVar(&s.batch, "chunks-per-write", 1, "chunks that are sent together; with -ttft=0 and -itl=0 the server sends as fast as it can")
	flags.BoolVar(&s.role, "role", true, "send a chunk with only the role first")
	flags.BoolVar(&s.continuous, "continuous-usage", true, "tell the usage so far in each chunk to clients that ask for it; "+
		"if not, all clients get the same bytes")
	flags.Uint64Var(&s.failEvery, "fail-every", 0, "answer each request whose `number` is a multiple of this with status 500; 0 = none")
	flags.IntVar(&s.gpus, "gpus", 2, "GPUs on the page of dcgm-exporter")
	flags.Float64Var(&s.watts, "watts", 400, "power of each of them")
	flags.DurationVar(&s.page, "page-delay", 0, "`time` that a page of metrics takes")
	flags.DurationVar(&s.front, "front", 0, "`part` of -ttft that passes before the clock of the page of metrics starts, as in a gateway")
	flags.DurationVar(&s.queue, "queue", 0, "`part` of -ttft after that in which, as the page tells, the request waits")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if s.chunk < 1 || s.batch < 1 {
		fmt.Fprintln(stderr, "a chunk has at least one token, and a write at least one chunk")
		return 2
	}
	if s.front+s.queue > s.firstToken {
		fmt.Fprintln(stderr, "-front and -queue are parts of -ttft")
		return 2
	}
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", *address)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintln(stdout, listener.Addr())
	fmt.Fprintln(stderr, newServer(s).serve(listener))
	return 1
}
