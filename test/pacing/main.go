// Command pacing measures when requests really arrive: it lets the built binary send each kind of load to a server that notes the instant
// of every arrival, and prints how many came of those that were asked for, how the gaps between them are spread, and how late they left.
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
	"regexp"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("pacing", flag.ContinueOnError)
	flags.SetOutput(stderr)
	binary := flags.String("binary", "bin/aiperf-exporter", "`path` of the exporter")
	stretch := flags.Float64("stretch", 1, "`factor` for the length of each run")
	only := flags.String("only", "", "names of `loads` to run, separated by commas; empty = all")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measureAll(ctx, *binary, *stretch, *only, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func measureAll(ctx context.Context, binary string, stretch float64, only string, stdout io.Writer) error {
	folder, err := os.MkdirTemp("", "aiperf-exporter-pacing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	server := filepath.Join(folder, "truthserver")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", server, "./test/truthserver").CombinedOutput(); err != nil {
		return fmt.Errorf("build the truth server: %w\n%s", err, out)
	}
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "load\tasked\tarrived\tshare\tmean gap\tCV of gaps\tin theory\tlag p50\tlag p99\tlag max\t")
	for i := range loads {
		l := &loads[i]
		if only != "" && !slices.Contains(strings.Split(only, ","), l.name) {
			continue
		}
		length := time.Duration(float64(l.length) * stretch)
		r, err := l.measure(ctx, binary, server, folder, length)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		asked := l.asked(length)
		fmt.Fprintf(out, "%s\t%.0f\t%d\t%.4f\t%.2f ms\t%.3f\t%s\t%.3f ms\t%.3f ms\t%.3f ms\t\n", l.name, asked, len(r.arrivals),
			float64(len(r.arrivals))/asked, r.gaps().mean()*1e3, r.gaps().cv(), l.theory, r.lag(.5), r.lag(.99), r.lag(1))
		if err := out.Flush(); err != nil {
			return err
		}
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
	if err := os.WriteFile(config, fmt.Appendf(nil, configuration, l.workload, l.load, url), 0o600); err != nil {
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
	return read(ctx, url+"/truth/requests", filepath.Join(folder, "profile_export.jsonl"))
}
