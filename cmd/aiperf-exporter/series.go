package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func seriesCommand(app *kingpin.Application) command {
	cmd := app.Command("series", "List every series that the configuration exposes: name, type, unit, labels and meaning.")
	target := cmd.Flag("target", "Only the series of this target.").String()
	return command{cmd.FullCommand(), func(s *session) int {
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
		if *target != "" && !slices.ContainsFunc(gc.Targets, func(t targetConfig) bool { return t.Name == *target }) {
			fmt.Fprintf(s.stderr, "aiperf-exporter: no target %q in the configuration\n", *target)
			return exitFailure
		}
		for _, series := range metrics.Table() {
			if *target != "" && series.Scope == metrics.PerProcess {
				continue
			}
			printSeries(s, &series, c.Metrics.ExtraLabels)
		}
		for i := range gc.Targets {
			if t := &gc.Targets[i]; *target == "" || t.Name == *target {
				fmt.Fprintf(s.stdout, "# target %s: %d classic series\n", t.Name, metrics.ClassicSeries(t.SLOs, c.AllSLOs()))
			}
		}
		return exitOK
	}}
}

func printSeries(s *session, series *metrics.Series, extra []string) {
	var labels []string
	if series.Scope == metrics.PerTarget {
		labels = append([]string{"target", "model", "workload"}, extra...)
	}
	for _, l := range series.Labels {
		labels = append(labels, l.Name)
	}
	unit := series.Unit
	if unit == "" {
		unit = "-"
	}
	fmt.Fprintf(s.stdout, "%s{%s}\n    %s, %s. %s\n", series.Name, strings.Join(labels, ","), series.Kind, unit, series.Help)
}
