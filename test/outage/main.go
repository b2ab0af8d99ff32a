// Command outage shows what becomes of the traffic, of memory and of the values while an OpenTelemetry collector is away: it lets the built
// binary send requests and, as differences, its metrics, kills the collector for a time, and starts it again. Beside it runs a twin that sends
// the same requests and tells nobody, so that what the machine does to both is not taken for the outage. In the end all that the collector got
// must add up to what a scrape shows.
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
	binary, collector   string
	before, away, after time.Duration
	targets             int
	rate                float64 // of each target, per second
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("outage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "binary", "bin/aiperf-exporter", "`path` of the exporter")
	flags.StringVar(&o.collector, "collector", ".cache/otelcol/bin/otelcol", "`path` of the collector")
	flags.DurationVar(&o.away, "away", 10*time.Minute, "`time` for which the collector is away")
	flags.DurationVar(&o.before, "before", 0, "`time` before that; 0 = half of it")
	flags.DurationVar(&o.after, "after", 0, "`time` after that; 0 = half of it")
	flags.IntVar(&o.targets, "targets", 20, "targets")
	flags.Float64Var(&o.rate, "rate", 1, "requests per second of each")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if o.before == 0 {
		o.before = o.away / 2
	}
	if o.after == 0 {
		o.after = o.away / 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, &o, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}
