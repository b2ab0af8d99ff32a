package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/progress"
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
	progress string
}

func runCommand(app *kingpin.Application) command {
	cmd := app.Command("run", "Send requests once, print a report and exit: 0 if all succeeded, 1 if any failed, 3 if an SLO was missed. Without --duration and --requests it is one request for each target.")
	o := &runOptions{}
	cmd.Flag("target", "Target to run; may be repeated. Default: all enabled ones.").PlaceHolder("NAME").StringsVar(&o.targets)
	cmd.Flag("duration", "How long arrivals go on, as the target's load wants them.").PlaceHolder("5m").DurationVar(&o.duration)
	cmd.Flag("requests", "How many requests each target sends, as its load wants them.").PlaceHolder("N").Int64Var(&o.requests)
	cmd.Flag("grace", "How long running requests may take to end after that.").Default("30s").DurationVar(&o.grace)
	cmd.Flag("format", "What is printed: table, json or csv (both in the shape of AIPerf's exports).").Default("table").EnumVar(&o.format, "table", "json", "csv")
	cmd.Flag("out", "Folder into which the report is also written as AIPerf names it: profile_export_aiperf.json and .csv.").PlaceHolder("FOLDER").StringVar(&o.out)
	cmd.Flag("records", "With --out: also write one line for each request, profile_export.jsonl.").BoolVar(&o.records)
	progressFlag(cmd, &o.progress)
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
	c[target].AddDrop(reason, n)
}

func runOnce(s *session, o *runOptions) int {
	if err := o.validate(); err != nil {
		s.complainf("%v", err)
		return exitUsage
	}
	c, gc, ok := s.load()
	if !ok {
		return exitFailure
	}
	var err error
	if gc.Targets, err = o.chosen(gc.Targets); err != nil {
		s.complainf("%v", err)
		return exitUsage
	}
	if !s.rehearse(&gc) {
		return exitFailure
	}
	observer := reportCollectors{}
	for i := range gc.Targets {
		observer[gc.Targets[i].Name] = report.NewCollector(gc.Targets[i].SLOs)
	}
	counted := progress.New(o.plan(gc.Targets))
	w, err := newWitnesses(c)
	if err != nil {
		s.complainf("collectors.gpu: %v", err)
		return exitFailure
	}
	e, err := newEngine(s, c, gc, watchers{requests: observers{observer, counted}, servers: w.servers.Observe, gpus: w.look, bell: w.bell, run: report.NewID()}, warningsOf(s.logger))
	if err != nil {
		s.complainf("%v", err)
		return exitFailure
	}
	defer e.close(s.logger)
	seen := &evidence{requests: observer, witnesses: w}
	killed := supervise(s.logger, nil, func(ctx context.Context) {
		e.watched(ctx, func(ctx context.Context) {
			w.attend(ctx, e.clock, askedServers(c, gc.Targets), func() {
				display := counted.Show(s.progressOptions(o.progress, e.generator))
				defer display.End()
				o.traffic(ctx, e.generator)
				seen.interrupted = ctx.Err() != nil
			})
		})
	})
	if killed {
		return exitKilled
	}
	defer e.generator.Close()
	s.console.Leave(!s.stdoutIsTerminal()) // else the report says it better
	return o.publish(s, o.reports(s, e, gc.Targets, seen))
}

// evidence is what was seen of a run.
type evidence struct {
	requests    reportCollectors
	witnesses   *witnesses
	interrupted bool // the traffic was, not the wait for servers and GPUs after it
}

// reports say how it went, target by target.
func (o *runOptions) reports(s *session, e *engine, targets []targetConfig, seen *evidence) []*report.Report {
	out := make([]*report.Report, 0, len(targets))
	for i := range targets {
		meta := o.meta(&targets[i], e)
		meta.Command = program + " " + strings.Join(s.args, " ")
		meta.Interrupted = seen.interrupted
		meta.Servers = seen.witnesses.servers
		if from, to, ok := seen.requests[meta.Target].Window(); ok {
			meta.GPUs = seen.witnesses.gpus(meta.Target, from, to)
		}
		out = append(out, seen.requests[meta.Target].Report(meta))
	}
	return out
}

// validate finds what is wrong with the values of flags; the error names the flag.
func (o *runOptions) validate() error {
	switch {
	case o.duration < 0:
		return fmt.Errorf("--duration: must not be negative, got %v", o.duration)
	case o.requests < 0:
		return fmt.Errorf("--requests: must not be negative, got %d", o.requests)
	case o.grace < 0:
		return fmt.Errorf("--grace: must not be negative, got %v", o.grace)
	case o.records && o.out == "":
		return errors.New("--records: needs --out, the folder in which the file will be")
	}
	return nil
}

// chosen picks the targets of --target, each once, else all that are not paused. Who names a paused target wants it to run.
func (o *runOptions) chosen(targets []targetConfig) ([]targetConfig, error) {
	if len(o.targets) == 0 {
		all := slices.DeleteFunc(slices.Clone(targets), func(t targetConfig) bool { return t.Load.Paused || t.Paused })
		if len(all) == 0 {
			return nil, errors.New("the configuration has no enabled targets, or all are paused")
		}
		return all, nil
	}
	var out []targetConfig
	for _, name := range slices.Compact(slices.Sorted(slices.Values(o.targets))) {
		i := slices.IndexFunc(targets, func(t targetConfig) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("--target: no enabled target %q in the configuration", name)
		}
		t := targets[i]
		t.Load.Paused, t.Paused = false, false
		out = append(out, t)
	}
	return out, nil
}

// once tells that each target is to be asked a single time.
func (o *runOptions) once() bool { return o.duration == 0 && o.requests == 0 }

// traffic sends what is asked for, until ctx ends at the latest.
func (o *runOptions) traffic(ctx context.Context, g *generator.Generator) {
	if o.once() {
		g.Once(ctx)
		return
	}
	if o.duration > 0 {
		limited, cancel := context.WithTimeout(ctx, o.duration)
		defer cancel()
		ctx = limited
	}
	g.Run(ctx, o.grace, o.requests)
}

// meta is what the report says of a target and what was asked of it.
func (o *runOptions) meta(t *targetConfig, e *engine) report.Meta {
	hz, _ := t.Load.Steady() // 0 = there is none
	return report.Meta{
		ID:        report.NewID(),
		Version:   version.Version,
		Target:    t.Name,
		URL:       t.PublicURL(),
		Model:     t.Model,
		Endpoint:  string(t.Endpoint.Type),
		Streaming: t.Features().Streaming,
		Workload: report.Workload{
			Name:         t.WorkloadName,
			InputTokens:  report.Length{Mean: t.Workload.InputTokens.Mean, Stddev: t.Workload.InputTokens.Stddev},
			OutputTokens: report.Length{Mean: t.Workload.OutputTokens.Mean, Stddev: t.Workload.OutputTokens.Stddev},
			Format:       string(t.Workload.Dataset.Format),
			File:         t.Workload.Dataset.File,
		},
		Load: report.Load{
			Mode: string(t.Load.Mode), Rate: hz, Concurrency: users(&t.Load), MaxInFlight: t.Load.MaxInFlight,
			Requests: o.requests, Duration: o.duration,
		},
		Seed:  t.Seed,
		Epoch: e.clock.Wall(0),
	}
}

// users is how many a closed load has, 0 for others: their arrivals do not wait for answers.
func users(c *load.Config) int {
	if c.Mode != load.Closed {
		return 0
	}
	return max(c.Concurrency, 1)
}

// publish prints and writes the reports and finds the exit code.
func (o *runOptions) publish(s *session, reports []*report.Report) int {
	if err := o.print(s, reports); err != nil {
		s.complainf("print report: %v", err)
		return exitFailure
	}
	if o.out != "" {
		if err := report.WriteFiles(o.out, o.records, reports...); err != nil {
			s.complainf("%v", err)
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
		return report.WriteJSON(s.stdout, reports...)
	}
	for i, r := range reports {
		var err error
		if i > 0 {
			fmt.Fprintln(s.stdout)
		}
		if o.format == "csv" {
			err = r.WriteCSV(s.stdout)
		} else {
			err = r.WriteTable(s.stdout, s.width())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
