// Command dashboards asks a real Prometheus every question of the Grafana dashboards, of the rules and of the runbooks. The exporter measures a fleet that is partly
// well and partly ill, with server metrics and GPUs, and llama.cpp; Prometheus scrapes it with the rules that are shipped, once with native histograms
// and once with classic ones. A query without an answer fails unless there is a reason on the list, and so does a rule that cannot be evaluated.
//
// With -pictures each page is drawn as well, by Grafana's own components in a browser.
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
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	binary, prometheus string
	engine, model      string
	length             time.Duration
	pictures           string
	modules            string
	all, stay          bool
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("dashboards", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "binary", "bin/aiperf-exporter", "`path` of the exporter")
	flags.StringVar(&o.prometheus, "prometheus", ".cache/prometheus/bin/prometheus", "`path` of Prometheus")
	flags.StringVar(&o.engine, "engine", ".cache/llama/bin/llama-server", "`path` of llama.cpp's server")
	flags.StringVar(&o.model, "model", ".cache/model/tiny.gguf", "`path` of a model for it")
	flags.DurationVar(&o.length, "length", 6*time.Minute, "how long traffic flows before the questions; rates of 5m and gates of samples need as long")
	flags.StringVar(&o.pictures, "pictures", "", "`folder` for a picture of each page; empty = none")
	flags.StringVar(&o.modules, "modules", ".cache/render", "`folder` of the packages that draw them")
	flags.BoolVar(&o.all, "all", false, "list queries that have an answer, too")
	flags.BoolVar(&o.stay, "stay", false, "leave the programs running afterwards, until interrupted")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := o.check(ctx, stdout); err != nil {
		fmt.Fprintf(stderr, "dashboards: %v\n", err)
		return 1
	}
	return 0
}

// check lets traffic flow, then asks, then draws.
func (o *options) check(ctx context.Context, stdout io.Writer) error {
	texts, err := queriesOfPages()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "aiperf-dashboards-")
	if err != nil {
		return fmt.Errorf("folder of the programs: %w", err)
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithCancel(ctx)
	r, err := start(ctx, o, folder)
	defer r.end(ctx, cancel)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "exporter %s, prometheus %s; traffic for %s\n", r.exporter, r.prometheus, o.length)
	if err = r.live(ctx, o.length); err != nil {
		return err
	}
	pages, err := readPages("dashboards/json")
	if err != nil {
		return err
	}
	questions, err := r.rules(ctx)
	questions = append(questions, texts...)
	for _, p := range pages {
		of, failed := p.questions()
		questions, err = append(questions, of...), errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	err = errors.Join(ask(ctx, stdout, r, questions, o), r.commands(ctx, stdout, o))
	if o.pictures != "" {
		err = errors.Join(err, draw(ctx, stdout, r, pages, o))
	}
	if o.stay {
		fmt.Fprintf(stdout, "found: %v; exporter %s, prometheus %s\n", err, r.exporter, r.prometheus)
		<-ctx.Done()
	}
	return err
}

// write puts a file into the folder and gives its path.
func write(folder, name, text string) (string, error) {
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return path, nil
}
