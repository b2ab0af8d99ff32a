// Command faults shows what an exporter with hundreds of targets makes of servers and networks that fail: it lets the built binary measure a
// server through proxies and peers that are well and ill in turn, each in a way of its own, and fails where a request has another class of error
// than its fault should give, where a target that is well is touched by one that is not, or where memory, goroutines or descriptors do not come
// back. Beside it runs a twin that has only the targets that are always well, so that what the machine does to both is not taken for the faults'.
package main

import (
	"context"
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
	binary, toxiproxy string
	length            time.Duration
	targets           int
	rate              float64 // of all targets, per second
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "binary", "bin/aiperf-exporter", "`path` of the exporter")
	flags.StringVar(&o.toxiproxy, "toxiproxy", ".cache/toxiproxy/bin/server", "`path` of the proxy that makes faults")
	flags.DurationVar(&o.length, "length", 0, "`time` for which it runs; 0 = 10m")
	flags.IntVar(&o.targets, "targets", 300, "targets")
	flags.Float64Var(&o.rate, "rate", 50, "requests per second of all of them")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if o.length == 0 {
		o.length = 10 * time.Minute
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, &o, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}
