// Command energy holds what a one-shot says of GPUs and of the server against the truth, beside what AIPerf says of them: energy, power, tokens per
// joule, and tokens per second by the server's own counters. It fails if the exporter is off by more than a few percent.
//
// The scripted server has GPUs that draw constant power, so the truth is known for any window. Its pages of metrics take a while, as those of real
// exporters do, and the dataset takes AIPerf a while to prepare: that is the pause between its set-up and its first request.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	binary, peer, model string
	requests, prompts   int
	delay               time.Duration
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("energy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "binary", "bin/aiperf-exporter", "`path` of the exporter")
	flags.StringVar(&o.peer, "aiperf", ".cache/peers/aiperf/bin/aiperf", "`path` of AIPerf, empty = without it")
	flags.StringVar(&o.model, "model", ".cache/model", "`path` of what test/install/model.sh makes, for its tokenizer")
	flags.IntVar(&o.requests, "requests", 40, "requests that each sends, four at a time")
	flags.IntVar(&o.prompts, "prompts", 4000, "prompts that AIPerf prepares before it starts")
	flags.DurationVar(&o.delay, "page-delay", 100*time.Millisecond, "`time` that a page of metrics takes")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	results, err := o.measure(ctx)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	write(stdout, results)
	if ours := results[len(results)-1]; !ours.right() {
		fmt.Fprintf(stderr, "%s is off by more than %v %%\n", ours.tool, 100*margin)
		return 1
	}
	return 0
}

// measure lets each program ask a server of its own. The exporter comes last.
func (o *options) measure(ctx context.Context) ([]result, error) {
	folder, err := os.MkdirTemp("", "energy-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	// The programs run in folders of their own.
	for _, path := range []*string{&o.binary, &o.peer, &o.model} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, err
		}
	}
	server, err := build(ctx, folder)
	if err != nil {
		return nil, err
	}
	tools := []tool{{"AIPerf 0.13.0", o.askTheirs, readTheirs}, {"aiperf-exporter", o.askOurs, readOurs}}
	if o.peer == "" {
		tools = tools[1:]
	}
	var out []result
	for i := range tools {
		at := filepath.Join(folder, fmt.Sprint(i))
		r, err := o.try(ctx, server, &tools[i], at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", tools[i].name, err)
		}
		out = append(out, r)
	}
	return out, nil
}
