// Command compare sets the exporter beside other load generators and beside a client that only reads bytes: each runs in turn against a
// server that knows the truth about every request, several rounds, on the same machine as that server. It prints what each of them
// cost, what load it reached, and how far off its figures were.
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
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	binary      string
	peersFolder string
	model       string
	markdown    string
	rounds      int
	pause       time.Duration
	scenarios   []string
	peers       []string
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	var supervised string
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "binary", "bin/aiperf-exporter", "`path` of the exporter")
	flags.StringVar(&o.peersFolder, "peers-folder", ".cache/peers", "`path` of what test/install/peers.sh installs")
	flags.StringVar(&o.model, "model", ".cache/model", "`path` of what test/install/model.sh makes, for its tokenizer")
	flags.StringVar(&o.markdown, "markdown", "", "`page` into which the results are also written, between its two marks")
	flags.IntVar(&o.rounds, "rounds", 3, "runs of each tool in each scenario")
	flags.DurationVar(&o.pause, "pause", 3*time.Second, "quiet before each run")
	names := flags.String("scenarios", strings.Join(allNames(), " "), "`names`, separated by blanks")
	peers := flags.String("peers", aiperfTool+" "+guidellmTool, "`names` of other tools that take part, separated by blanks")
	flags.StringVar(&supervised, "supervise", "", "run the program that follows and write into `file` what it and its descendants took")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if supervised != "" {
		return superviseTo(supervised, flags.Args(), stderr)
	}
	o.scenarios, o.peers = strings.Fields(*names), strings.Fields(*peers)
	if o.rounds < 1 {
		fmt.Fprintln(stderr, "-rounds: at least 1 is needed")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compare(ctx, &o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// compare makes all runs and writes the results.
func compare(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	selected, err := chosen(o.scenarios, o.peers)
	if err != nil {
		return err
	}
	var all results
	if all.head, err = heading(ctx, o); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b, err := newBench(ctx, o, folder, stderr)
	if err != nil {
		return err
	}
	for i := range selected {
		contests, err := b.run(ctx, &selected[i], o.rounds)
		if err != nil {
			return err
		}
		all.sections = append(all.sections, newSection(&selected[i], contests))
	}
	if o.markdown != "" {
		if err := all.paste(o.markdown); err != nil {
			return err
		}
	}
	return all.text(stdout)
}

// newBench builds the server and the floor client into folder.
func newBench(ctx context.Context, o *options, folder string, stderr io.Writer) (*bench, error) {
	for _, program := range []string{"truthserver", "floor"} {
		build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(folder, program), "./test/"+program)
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", program, err, out)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := programs{floor: filepath.Join(folder, "floor")}
	// The programs run in folders of their own.
	for _, path := range []struct {
		to   *string
		from string
	}{{&p.exporter, o.binary}, {&p.peers, o.peersFolder}, {&p.model, o.model}} {
		if *path.to, err = filepath.Abs(path.from); err != nil {
			return nil, err
		}
	}
	return &bench{
		self: self, server: filepath.Join(folder, "truthserver"), tools: p.tools(), folder: folder, pause: o.pause,
		log: func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) },
	}, nil
}
