// Command pacing measures when requests really arrive: it lets the built binary send each kind of load to a server that notes the instant
// of every arrival, and prints how many came of those that were asked for, how the gaps between them are spread, and how late they left, in milliseconds.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("pacing", flag.ContinueOnError)
	flags.SetOutput(stderr)
	binary := flags.String("binary", "bin/aiperf-exporter", "`path` of the exporter")
	length := flags.Duration("length", 0, "`time` for which each load runs; 0 = as long as it needs for figures that say something")
	names := flags.String("loads", "", "names of `loads` to run, separated by commas; empty = all")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	chosen, err := choose(*names)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measureAll(ctx, *binary, chosen, *length, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// choose finds loads by their names.
func choose(names string) ([]scenario, error) {
	if names == "" {
		return loads, nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(loads, func(l scenario) bool { return l.name == strings.TrimSpace(name) })
		if i < 0 {
			known := make([]string, 0, len(loads))
			for i := range loads {
				known = append(known, loads[i].name)
			}
			return nil, fmt.Errorf("no load %q, there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, loads[i])
	}
	return chosen, nil
}

func measureAll(ctx context.Context, binary string, chosen []scenario, length time.Duration, stdout io.Writer) error {
	folder, err := os.MkdirTemp("", "aiperf-exporter-pacing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	server := filepath.Join(folder, "truthserver")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", server, "./test/truthserver").CombinedOutput(); err != nil {
		return fmt.Errorf("build the truth server: %w\n%s", err, out)
	}
	fmt.Fprintf(stdout, "%-16s %8s %8s %8s %7s %9s %6s %9s %8s %8s %8s\n",
		"load", "asked", "arrived", "dropped", "share", "mean gap", "CV", "in theory", "lag p50", "lag p99", "lag max")
	for i := range chosen {
		l := &chosen[i]
		lasts := cmp.Or(length, l.length)
		r, err := l.measure(ctx, binary, server, folder, lasts)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		asked := l.asked(lasts)
		fmt.Fprintf(stdout, "%-16s %8.0f %8d %8d %7.4f %9.3f %6.3f %9s %8.3f %8.3f %8.3f\n", l.name, asked, len(r.arrivals), r.dropped,
			float64(len(r.arrivals))/asked, r.gaps().mean()*1e3, r.gaps().cv(), l.theory, r.lag(.5), r.lag(.99), r.lag(1))
	}
	return nil
}

// listening is what the truth server writes first.
var listening = regexp.MustCompile(`(?m)^(127\.0\.0\.1:\d+)$`)

// measure sends the load for as long as length to a fresh server and reads what both sides know.
func (l *scenario) measure(ctx context.Context, binary, program, folder string, length time.Duration) (*result, error) {
	ctx, cancel := context.WithTimeout(ctx, length+2*time.Minute)
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
	if err = os.WriteFile(config, fmt.Appendf(nil, configuration, l.workload, l.load, url), 0o600); err != nil {
		return nil, err
	}
	exporter, err := process.Start(ctx, nil, binary, "run", "--config.file="+config, "--duration="+length.String(), "--out="+folder, "--records")
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
	return read(ctx, url+"/truth/requests", folder)
}
