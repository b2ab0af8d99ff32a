// Command accuracy measures how far off the exporter is: it lets the built binary measure a server that knows the truth about each
// request, joins the two by request, and prints both distributions and the error per request. It does so on an idle machine and
// beside busy loops that take every processor at the same priority, with the kernel's arrival stamps and with the times at which
// reads returned.
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
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// options are the flags.
type options struct {
	binary   string
	requests int
	rate     float64
	tokens   int
	loops    int // busy loops per processor
	spin     bool
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "binary", "bin/aiperf-exporter", "`path` of the exporter")
	flags.IntVar(&o.requests, "requests", 600, "requests per run")
	flags.Float64Var(&o.rate, "rate", 20, "requests per second")
	flags.IntVar(&o.tokens, "tokens", 64, "tokens per answer")
	flags.IntVar(&o.loops, "loops", 1, "busy loops per processor in the busy runs")
	flags.BoolVar(&o.spin, "spin", false, "be one of the busy loops")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if o.spin {
		spin()
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compare(ctx, &o, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// spin takes a processor until the process is ended, or until the one that started it is gone.
func spin() {
	for parent := os.Getppid(); os.Getppid() == parent; {
		for range 100_000_000 {
		}
	}
}

// compare makes all runs and prints a table for each load of the machine.
func compare(ctx context.Context, o *options, stdout io.Writer) error {
	folder, err := os.MkdirTemp("", "aiperf-exporter-accuracy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	server := filepath.Join(folder, "truthserver")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", server, "./test/truthserver").CombinedOutput(); err != nil {
		return fmt.Errorf("build the truth server: %w\n%s", err, out)
	}
	for _, loops := range []int{0, o.loops * runtime.NumCPU()} {
		title := "idle machine"
		if loops > 0 {
			title = fmt.Sprintf("%d busy loops on %d processors", loops, runtime.NumCPU())
		}
		kernel, err := beside(ctx, loops, func() ([]pair, error) { return measure(ctx, o, folder, server, kernelStamps) })
		if err != nil {
			return fmt.Errorf("%s, kernel stamps: %w", title, err)
		}
		read, err := beside(ctx, loops, func() ([]pair, error) { return measure(ctx, o, folder, server, readTimes) })
		if err != nil {
			return fmt.Errorf("%s, read times: %w", title, err)
		}
		fmt.Fprintf(stdout, "%s, %g requests/s of %d tokens; milliseconds\n", title, o.rate, o.tokens)
		if err := table(stdout, kernel, read); err != nil {
			return err
		}
	}
	return nil
}

// beside runs f while busy loops run.
func beside(ctx context.Context, loops int, f func() ([]pair, error)) ([]pair, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range loops {
		p, err := process.Start(ctx, nil, self, "-spin")
		if err != nil {
			return nil, err
		}
		defer func() {
			cancel()
			p.Wait(context.WithoutCancel(ctx)) //nolint:errcheck // it was ended by a signal
		}()
	}
	return f()
}

// Where the exporter's arrival instants come from, as its configuration says it.
const (
	kernelStamps = "kernel"
	readTimes    = "read"
)

// measure runs the exporter once against a fresh server and joins what both say of each request.
func measure(ctx context.Context, o *options, folder, program, timestamps string) ([]pair, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := process.Start(ctx, nil, program)
	if err != nil {
		return nil, err
	}
	address, err := server.Find(ctx, listening)
	if err != nil {
		return nil, err
	}
	url := "http://" + address

	config := filepath.Join(folder, "aiperf-exporter.yml")
	err = os.WriteFile(config, fmt.Appendf(nil, configuration, o.tokens, timestamps, o.rate, warmupRequests, url), 0o600)
	if err != nil {
		return nil, err
	}
	limit := time.Duration(float64(o.requests+warmupRequests)/o.rate*float64(time.Second)) + time.Minute
	ctx, cancelLimit := context.WithTimeout(ctx, limit)
	defer cancelLimit()
	exporter, err := process.Start(ctx, nil, o.binary, "run", "--config.file="+config, "--target=truth",
		fmt.Sprintf("--requests=%d", o.requests+warmupRequests), "--out="+folder, "--records")
	if err != nil {
		return nil, err
	}
	code, err := exporter.Wait(ctx)
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("exit code %d:\n%s", code, strings.TrimSpace(exporter.Output()))
	}
	return join(ctx, url+"/truth/requests", filepath.Join(folder, "profile_export.jsonl"), warmupRequests)
}
