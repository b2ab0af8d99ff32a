package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	"golang.org/x/term"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/report"
)

// targetConfig is short for what the configuration says of a target.
type targetConfig = generator.TargetConfig

// runOptions are the flags of the one-shot.
type runOptions struct {
	targets  []string
	duration time.Duration
	requests int64
	grace    time.Duration
	format   string
	out      string
	records  bool
}

func runCommand(app *kingpin.Application) command {
	cmd := app.Command("run", "Send requests once, print a report and exit: 0 if all succeeded, 1 if any failed, 3 if an SLO was missed. Without --duration and --requests it is one request for each target.")
	o := &runOptions{}
	cmd.Flag("target", "Target to run; may be repeated. Default: all enabled ones.").StringsVar(&o.targets)
	cmd.Flag("duration", "How long arrivals go on, as the target's load wants them.").DurationVar(&o.duration)
	cmd.Flag("requests", "How many requests each target sends, as its load wants them.").Int64Var(&o.requests)
	cmd.Flag("grace", "How long running requests may take to end after that.").Default("30s").DurationVar(&o.grace)
	cmd.Flag("format", "What is printed: table, json or csv (both in the shape of AIPerf's exports).").Default("table").EnumVar(&o.format, "table", "json", "csv")
	cmd.Flag("out", "Folder into which the report is also written as AIPerf names it: profile_export_aiperf.json and .csv.").StringVar(&o.out)
	cmd.Flag("records", "With --out: also write one line for each request, profile_export.jsonl.").BoolVar(&o.records)
	return command{cmd.FullCommand(), func(s *session) int { return runOnce(s, o) }}
}

// reportCollectors takes what happens to each target into its report.
type reportCollectors map[string]*report.Collector

// Finished implements generator.Observer.
func (c reportCollectors) Finished(target string, r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) {
	c[target].Add(r, m, verdicts)
}

// Dropped implements generator.Observer.
func (c reportCollectors) Dropped(target string, reason metrics.DropReason, n int64) {
	for range n {
		c[target].AddDrop(reason)
	}
}

func runOnce(s *session, o *runOptions) int {
	if o.duration < 0 || o.requests < 0 || (o.records && o.out == "") {
		fmt.Fprintln(s.stderr, "aiperf-exporter: --duration and --requests must not be negative, and --records needs --out")
		return exitUsage
	}
	c, err := config.Load(config.Options{Files: s.files, Env: os.Environ(), ExpandEnv: s.expandEnv})
	if err != nil {
		fmt.Fprintln(s.stderr, err)
		return exitFailure
	}
	gc, err := c.Generator()
	if err != nil {
		fmt.Fprintln(s.stderr, err)
		return exitFailure
	}
	if gc.Targets, err = o.chosen(gc.Targets); err != nil {
		fmt.Fprintf(s.stderr, "aiperf-exporter: %v\n", err)
		return exitUsage
	}
	observer := reportCollectors{}
	e, err := newEngine(c, gc, s.logger, observer)
	if err != nil {
		fmt.Fprintln(s.stderr, err)
		return exitFailure
	}
	defer e.generator.Close()
	for i := range e.config.Targets {
		observer[e.config.Targets[i].Name] = report.NewCollector(e.config.Targets[i].SLOs)
	}
	interrupted := o.traffic(e)
	var reports []*report.Report
	for i := range e.config.Targets {
		t := &e.config.Targets[i]
		reports = append(reports, observer[t.Name].Report(o.meta(t, e, interrupted)))
	}
	return o.publish(s, reports)
}

// chosen picks the targets of --target.
func (o *runOptions) chosen(targets []targetConfig) ([]targetConfig, error) {
	if len(o.targets) == 0 {
		if len(targets) == 0 {
			return nil, errors.New("the configuration has no enabled targets")
		}
		return targets, nil
	}
	var out []targetConfig
	for _, name := range o.targets {
		i := slices.IndexFunc(targets, func(t targetConfig) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no enabled target %q in the configuration", name)
		}
		out = append(out, targets[i])
	}
	return out, nil
}

// traffic runs the targets and tells whether a signal ended it early.
func (o *runOptions) traffic(e *engine) (interrupted bool) {
	signalled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx := signalled
	if o.duration > 0 {
		limited, cancel := context.WithTimeout(signalled, o.duration)
		defer cancel()
		ctx = limited
	}
	if o.duration == 0 && o.requests == 0 {
		e.generator.Once(ctx)
	} else {
		e.generator.Run(ctx, o.grace, o.requests)
	}
	return signalled.Err() != nil
}

func (o *runOptions) meta(t *targetConfig, e *engine, interrupted bool) report.Meta {
	return report.Meta{
		ID:        report.NewID(),
		Version:   version.Version,
		Command:   strings.Join(os.Args, " "),
		Target:    t.Name,
		URL:       t.PublicURL(),
		Model:     t.Model,
		Endpoint:  string(t.Endpoint.Type),
		Streaming: t.Workload.Stream,
		Workload: report.Workload{
			Name:         t.WorkloadName,
			InputTokens:  report.Length{Mean: t.Workload.InputTokens.Mean, Stddev: t.Workload.InputTokens.Stddev},
			OutputTokens: report.Length{Mean: t.Workload.OutputTokens.Mean, Stddev: t.Workload.OutputTokens.Stddev},
		},
		Load: report.Load{
			Mode: string(t.Load.Mode), Rate: t.Load.Hz(), MaxInFlight: t.Load.MaxInFlight, Requests: o.requests, Duration: o.duration,
		},
		Seed:        t.Seed,
		Epoch:       e.clock.Wall(0),
		Interrupted: interrupted,
	}
}

// publish prints and writes the reports and finds the exit code.
func (o *runOptions) publish(s *session, reports []*report.Report) int {
	if err := o.print(s, reports); err != nil {
		fmt.Fprintf(s.stderr, "aiperf-exporter: print report: %v\n", err)
		return exitFailure
	}
	if o.out != "" {
		if err := report.WriteFiles(o.out, o.records, reports...); err != nil {
			fmt.Fprintf(s.stderr, "aiperf-exporter: %v\n", err)
			return exitFailure
		}
	}
	code := exitOK
	for _, r := range reports {
		switch {
		case r.Failed():
			return exitFailure
		case r.SLOMissed():
			code = exitSLOMissed
		}
	}
	return code
}

func (o *runOptions) print(s *session, reports []*report.Report) error {
	if o.format == "json" {
		return report.WriteJSON(s.stdout, reports...) //nolint:wrapcheck // the caller says what was tried
	}
	for i, r := range reports {
		var err error
		if i > 0 {
			fmt.Fprintln(s.stdout)
		}
		if o.format == "csv" {
			err = r.WriteCSV(s.stdout)
		} else {
			err = r.WriteTable(s.stdout, width(s))
		}
		if err != nil {
			return err //nolint:wrapcheck // the caller says what was tried
		}
	}
	return nil
}

// width is that of the terminal, 100 columns where there is none.
func width(s *session) int {
	if f, ok := s.stdout.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 100
}
