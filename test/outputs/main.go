// Command outputs holds the files of a one-shot against those that AIPerf writes: both ask the same scripted server for the same things, one
// after the other. It prints where the files differ and why; a difference for which reasons.go has no reason makes it fail.
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
)

// options are the flags.
type options struct {
	binary, peer, model string
	keep                string
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("outputs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "binary", "bin/aiperf-exporter", "`path` of the exporter")
	flags.StringVar(&o.peer, "aiperf", ".cache/peers/aiperf/bin/aiperf", "`path` of AIPerf")
	flags.StringVar(&o.model, "model", ".cache/model", "`path` of what test/install/model.sh makes, for its tokenizer")
	flags.StringVar(&o.keep, "keep", "", "`folder` in which the files of both are left, in theirs and ours")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	all, err := compare(ctx, &o)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	unexplained := write(stdout, all)
	for _, r := range unneeded(all) {
		fmt.Fprintf(stdout, "no longer a difference: %s\n", r.field)
		unexplained++
	}
	fmt.Fprintf(stdout, "%d differences, %d of them without a reason\n", len(all), unexplained)
	return min(unexplained, 1)
}

// compare lets both programs write their files and gives where they differ.
func compare(ctx context.Context, o *options) ([]difference, error) {
	folder, err := os.MkdirTemp("", "outputs-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if o.keep != "" {
		folder = o.keep
	}
	var p programs
	// The programs run in folders of their own.
	for _, path := range []struct {
		to   *string
		from string
	}{{&p.exporter, o.binary}, {&p.peer, o.peer}, {&p.model, o.model}, {&folder, folder}} {
		if *path.to, err = filepath.Abs(path.from); err != nil {
			return nil, err
		}
	}
	theirs, ours := filepath.Join(folder, "theirs"), filepath.Join(folder, "ours")
	if err = p.writeBoth(ctx, folder, theirs, ours); err != nil {
		return nil, err
	}
	a, err := readFolder(theirs)
	if err != nil {
		return nil, fmt.Errorf("files of AIPerf: %w", err)
	}
	b, err := readFolder(ours)
	if err != nil {
		return nil, fmt.Errorf("our files: %w", err)
	}
	return append(differences(a, b), valueDifferences(a, b)...), nil
}
