package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/series"
)

func seriesCommand(app *kingpin.Application) command {
	cmd := app.Command("series", "List every series that the configuration exposes: name, labels, type, unit and meaning.")
	target := cmd.Flag("target", "Only the series of this target.").String()
	return command{cmd.FullCommand(), func(s *session) int {
		c, gc, ok := s.load()
		if !ok {
			return exitFailure
		}
		targets := gc.Targets
		if *target != "" {
			targets = slices.DeleteFunc(targets, func(t targetConfig) bool { return t.Name != *target })
			if len(targets) == 0 {
				s.complainf("--target: no enabled target %q in the configuration", *target)
				return exitFailure
			}
		}
		for _, line := range series.Table() {
			if *target == "" || line.Scope == metrics.PerTarget || line.Scope == metrics.PerServer {
				s.printSeries(&line, c)
			}
		}
		fmt.Fprintln(s.stdout, "# beside these: aiperf_exporter_build_info, and go_*, process_*, promhttp_* without --web.disable-exporter-metrics")
		for i := range targets {
			t := &targets[i]
			features := t.Features()
			fmt.Fprintf(s.stdout, "# target %s: about %d series\n", t.Name, c.Metrics.SeriesOf(&features, c.AllSLOs()))
		}
		return exitOK
	}}
}

// printSeries prints the name with its labels, and below it what it means.
func (s *session) printSeries(line *metrics.Series, c *config.Config) {
	about := string(line.Kind)
	if line.Unit != "" {
		about += ", " + line.Unit
	}
	labels := slices.Concat(line.LabelNames(c.Metrics.ExtraLabels, c.LabelNames()), slices.Sorted(maps.Keys(c.Global.Labels)))
	fmt.Fprintf(s.stdout, "%s{%s}\n    %s. %s\n\n", line.Name, strings.Join(labels, ","), about, line.Help)
}
