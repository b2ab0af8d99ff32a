// Command bodies holds the requests of the exporter against those of AIPerf: both read the same dataset files and ask a server that writes
// down what it is asked. It prints where they differ and why; a difference for which differences.go has no reason makes it fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	binary   string
	peer     string
	model    string
	parallel int
	only     string
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("bodies", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "binary", "bin/aiperf-exporter", "`path` of the exporter")
	flags.StringVar(&o.peer, "aiperf", ".cache/peers/aiperf/bin/aiperf", "`path` of AIPerf")
	flags.StringVar(&o.model, "model", ".cache/model", "`path` of what test/install/model.sh makes, for its tokenizer")
	flags.IntVar(&o.parallel, "parallel", 2, "cases at a time; AIPerf takes ten seconds of a processor to start")
	flags.StringVar(&o.only, "only", "", "run the cases whose name begins with this")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if o.parallel < 1 {
		fmt.Fprintln(stderr, "-parallel: at least 1 is needed")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	all, err := compare(ctx, &o, stderr)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	unexplained := write(stdout, all)
	if o.only == "" {
		for _, r := range unneeded(all) {
			fmt.Fprintf(stdout, "no longer a difference: %s %s\n", r.field, r.cases)
			unexplained++
		}
	}
	fmt.Fprintf(stdout, "%d cases in %v, %d differences without a reason\n", len(all), time.Since(began).Round(time.Second), unexplained)
	return min(unexplained, 1)
}

// result is what came out of a case.
type result struct {
	name        string
	requests    int
	differences []difference
}

// compare runs all cases, several at a time, and gives the results in their order.
func compare(ctx context.Context, o *options, stderr io.Writer) ([]result, error) {
	folder, err := os.MkdirTemp("", "bodies-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	p := programs{}
	// The programs run in folders of their own.
	for _, path := range []struct {
		to   *string
		from string
	}{{&p.exporter, o.binary}, {&p.peer, o.peer}, {&p.model, o.model}} {
		if *path.to, err = filepath.Abs(path.from); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(p.peer); err != nil {
		return nil, fmt.Errorf("AIPerf is not installed, run test/install/peers.sh aiperf: %w", err)
	}
	var chosen []trial
	for _, t := range trials {
		if strings.HasPrefix(t.name, o.only) {
			chosen = append(chosen, t)
		}
	}
	results, failures := make([]result, len(chosen)), make([]error, len(chosen))
	var all sync.WaitGroup
	free := make(chan struct{}, o.parallel)
	for i := range chosen {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			at := filepath.Join(folder, fmt.Sprint(i))
			if results[i], failures[i] = p.try(ctx, &chosen[i], at); failures[i] != nil {
				failures[i] = fmt.Errorf("%s: %w", chosen[i].name, failures[i])
			}
			fmt.Fprintf(stderr, "%s: done\n", chosen[i].name)
		})
	}
	all.Wait()
	return results, errors.Join(failures...)
}

// try lets both programs ask the same things of a server each, and compares what these were asked.
func (p *programs) try(ctx context.Context, t *trial, folder string) (result, error) {
	files, err := t.lay(folder)
	if err != nil {
		return result{}, err
	}
	var seen [2][]request
	for i, ask := range []func(context.Context, *trial, string, string, string) error{p.askTheirs, p.askOurs} {
		server := startRecorder()
		err := ask(ctx, t, server.url()+t.base, files, filepath.Join(folder, fmt.Sprint("program", i)))
		seen[i] = server.stop()
		if err != nil {
			return result{}, err
		}
		if len(seen[i]) != t.requests {
			return result{}, fmt.Errorf("%s has sent %d requests, want %d", []string{"AIPerf", "the exporter"}[i], len(seen[i]), t.requests)
		}
	}
	return result{t.name, t.requests, differences(t.name, seen[0], seen[1])}, nil
}
