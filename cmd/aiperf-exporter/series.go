package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kingpin/v2"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
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
		for _, series := range metrics.Table() {
			if *target == "" || series.Scope == metrics.PerTarget {
				s.printSeries(&series, c)
			}
		}
		fmt.Fprintln(s.stdout, "# beside these: aiperf_exporter_build_info, and go_*, process_*, promhttp_* without --web.disable-exporter-metrics")
		for i := range targets {
			t := &targets[i]
			fmt.Fprintf(s.stdout, "# target %s: about %d classic series\n", t.Name, metrics.ClassicSeries(t.SLOs, c.AllSLOs()))
		}
		return exitOK
	}}
}

// printSeries prints the name with its labels, and below it what it means.
func (s *session) printSeries(series *metrics.Series, c *config.Config) {
	about := string(series.Kind)
	if series.Unit != "" {
		about += ", " + series.Unit
	}
	const indent = "    "
	fmt.Fprintf(s.stdout, "%s{%s}\n", series.Name, strings.Join(labelNames(series, c), ","))
	for _, line := range wrap(about+". "+series.Help, max(40, s.width())-len(indent)) {
		fmt.Fprintf(s.stdout, "%s%s\n", indent, line)
	}
	fmt.Fprintln(s.stdout)
}

// labelNames are those of the configuration, the scope and the series; aiperf_target_info also has what targets are labelled with.
func labelNames(series *metrics.Series, c *config.Config) []string {
	var names []string
	if series.Scope == metrics.PerTarget {
		names = slices.Concat([]string{"target", "model", "workload"}, c.Metrics.ExtraLabels)
	}
	for _, l := range series.Labels {
		names = append(names, l.Name)
	}
	if series.Name == "aiperf_target_info" {
		for _, name := range c.LabelNames() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return append(names, slices.Sorted(maps.Keys(c.Global.Labels))...)
}

// wrap breaks a text at spaces into lines of at most width characters; a longer word has a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
