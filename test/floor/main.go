// Command floor is the least that a client of streams can do: each of its connections sends one prepared request after the other and
// only reads the bytes of the answers and counts the events in them, with one look at the clock for each read. No HTTP is parsed, no
// JSON decoded. What it takes for a number of chunks is what a load generator's cost is divided by.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	address  string
	streams  int
	requests int
	tokens   int
	spread   time.Duration
}

// result is what is printed.
type result struct {
	Requests int64   `json:"requests"`
	Events   int64   `json:"events"` // all of them: role, content, usage, marker
	Reads    int64   `json:"reads"`
	Wall     float64 `json:"wall_seconds"` // from the start to the last read
	CPU      float64 `json:"cpu_seconds"`  // of this process, in the program and in the kernel

	last time.Time // read
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("floor", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.address, "address", "", "`host:port` of the server")
	flags.IntVar(&o.streams, "streams", 1, "connections, each with one stream at a time")
	flags.IntVar(&o.requests, "requests", 1, "requests of all connections together")
	flags.IntVar(&o.tokens, "tokens", 128, "tokens per answer")
	flags.DurationVar(&o.spread, "spread", 0, "time over which the connections begin, evenly")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	begin := time.Now()
	r, err := read(ctx, &o)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	r.Wall = r.last.Sub(begin).Seconds()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	r.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
	if err := json.NewEncoder(stdout).Encode(r); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}
