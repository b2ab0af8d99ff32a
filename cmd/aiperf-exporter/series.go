package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/series"
)

func seriesCommand(app *kingpin.Application) command {
	cmd := app.Command("series", "List every series that the configuration exposes: name, labels, type, unit and meaning, and how many there are of each target.")
	target := cmd.Flag("target", "Only the series of this target.").PlaceHolder("NAME").String()
	format := cmd.Flag("format", "How they are printed: text or json.").Default("text").Enum("text", "json")
	return command{cmd.FullCommand(), func(s *session) int {
		c, gc, ok := s.load()
		if !ok {
			return exitFailure
		}
		list, err := listSeries(c, &gc, *target)
		if err != nil {
			s.complainf("%v", err)
			return exitFailure
		}
		if *format == "text" {
			fmt.Fprint(s.stdout, list.text())
			return exitOK
		}
		if err := writeJSON(s.stdout, list); err != nil {
			s.complainf("print series: %v", err)
			return exitFailure
		}
		return exitOK
	}}
}

// seriesList is what `series --format=json` prints: docs/commands.md describes it.
type seriesList struct {
	Series  []seriesLine  `json:"series"`
	Targets []targetCount `json:"targets"`
	Total   int           `json:"total"` // of the targets
}

type seriesLine struct {
	Name   string        `json:"name"`
	Scope  metrics.Scope `json:"scope"`
	Type   metrics.Kind  `json:"type"`
	Unit   string        `json:"unit,omitempty"`
	Labels []string      `json:"labels"`
	Help   string        `json:"help"`
}

// targetCount is about how many series a target has of its own.
type targetCount struct {
	Name   string `json:"name"`
	Series int    `json:"series"`
}

// listSeries lists those of a configuration, or of one target in it.
func listSeries(c *config.Config, gc *generator.Config, target string) (*seriesList, error) {
	list := &seriesList{Series: []seriesLine{}, Targets: []targetCount{}}
	for i := range gc.Targets {
		t := &gc.Targets[i]
		if target == "" || t.Name == target {
			features := t.Features()
			list.Targets = append(list.Targets, targetCount{t.Name, c.Metrics.SeriesOf(&features, c.AllSLOs())})
			list.Total += list.Targets[len(list.Targets)-1].Series
		}
	}
	if target != "" && len(list.Targets) == 0 {
		return nil, fmt.Errorf("--target: no enabled target %q in the configuration", target)
	}
	for _, line := range series.Table() {
		if target == "" || line.Scope == metrics.PerTarget || line.Scope == metrics.PerServer {
			labels := slices.Concat(line.LabelNames(c.Metrics.ExtraLabels, c.LabelNames()), slices.Sorted(maps.Keys(c.Global.Labels)))
			list.Series = append(list.Series, seriesLine{line.Name, line.Scope, line.Kind, line.Unit, append([]string{}, labels...), line.Help})
		}
	}
	return list, nil
}

// scopes are the groups of the list, in its order.
var scopes = []struct {
	scope metrics.Scope
	title string
}{
	{metrics.PerTarget, "of each target"},
	{metrics.PerServer, "of each replica of a target's server"},
	{metrics.PerGPU, "of each GPU"},
	{metrics.PerProcess, "of the exporter"},
}

// text is the list for people. What is no series begins with #.
func (l *seriesList) text() string {
	var out strings.Builder
	for _, group := range scopes {
		shown := slices.DeleteFunc(slices.Clone(l.Series), func(line seriesLine) bool { return line.Scope != group.scope })
		if len(shown) == 0 {
			continue
		}
		fmt.Fprintf(&out, "# %s: %d series\n\n", group.title, len(shown))
		for _, line := range shown {
			about := string(line.Type)
			if line.Unit != "" {
				about += ", " + line.Unit
			}
			fmt.Fprintf(&out, "%s{%s}\n    %s. %s\n\n", line.Name, strings.Join(line.Labels, ","), about, line.Help)
		}
	}
	out.WriteString("# beside these: aiperf_exporter_build_info, prometheus_sd_*, and go_*, process_*, promhttp_* without --web.disable-exporter-metrics\n")
	counts := columns{left: map[int]bool{0: true}}
	for _, t := range l.Targets {
		counts.add(t.Name, fmt.Sprint(t.Series))
	}
	if len(l.Targets) > 1 {
		counts.add("together", fmt.Sprint(l.Total))
	}
	if len(l.Targets) > 0 {
		fmt.Fprintf(&out, "#\n# series of each target, estimated:\n%s", counts.lines("#   "))
	}
	return out.String()
}
