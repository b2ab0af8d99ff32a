// Command sizing measures what a target, a request, a chunk of an answer and a scrape cost the exporter: processor time, memory, series. It prints what one
// needs to say how many exporters a fleet wants. Processor time is that of the process, which other work on the machine makes little longer.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	binary   string
	markdown string
	length   time.Duration
	most     int
	server   string // the truth server, built
	folder   string
	log      io.Writer
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	o := options{log: stderr}
	flags := flag.NewFlagSet("sizing", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "binary", "bin/aiperf-exporter", "`path` of the exporter")
	flags.StringVar(&o.markdown, "markdown", "", "`page` into which the results are also written, between its two marks")
	flags.DurationVar(&o.length, "length", 20*time.Second, "`time` for which each figure is measured")
	flags.IntVar(&o.most, "most", 1000, "most `targets`; at least 10")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if o.most < 10 {
		fmt.Fprintln(stderr, "-most: at least 10 are needed")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := size(ctx, &o, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// size measures everything and writes it.
func size(ctx context.Context, o *options, stdout io.Writer) error {
	var err error
	if o.folder, err = os.MkdirTemp("", "aiperf-exporter-sizing-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.folder)
	o.server = filepath.Join(o.folder, "truthserver")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", o.server, "./test/truthserver").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the truth server: %w\n%s", err, out)
	}
	var f findings
	if f.idle, err = o.targets(ctx); err != nil {
		return err
	}
	if f.busy, err = o.streams(ctx); err != nil {
		return err
	}
	page := f.page(o.heading(ctx))
	if o.markdown != "" {
		if err = paste(o.markdown, page); err != nil {
			return err
		}
	}
	_, err = io.WriteString(stdout, page)
	return err
}
