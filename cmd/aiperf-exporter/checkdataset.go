package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// shownRows is how many faulty rows of a dataset are told one by one.
const shownRows = 20

func checkDatasetCommand(check *kingpin.CmdClause) command {
	cmd := check.Command("dataset", "Read a whole dataset and print what it holds and every row that cannot be used.")
	file := cmd.Arg("file", "The file or folder.").Required().String()
	format := cmd.Flag("format", "Its format, as in workloads.*.dataset.format. Default: the one that fits, if only one does.").String()
	return command{cmd.FullCommand(), func(s *session) int {
		c := dataset.DefaultConfig()
		c.File, c.Format = *file, dataset.Format(*format)
		if *format == "" {
			found, err := dataset.Detect(*file)
			if err != nil {
				s.complainf("%v; name it with --format", err)
				return exitFailure
			}
			c.Format = found[0]
			fmt.Fprintf(s.stdout, "format: %s\n", c.Format)
		}
		if errs := c.Validate("dataset"); len(errs) > 0 {
			for _, err := range errs {
				s.complainf("%v", err)
			}
			return exitUsage
		}
		return s.checkDataset(&c, *file, false)
	}}
}

// checkDatasets reads the datasets of a configuration, each once.
func (s *session) checkDatasets(gc *generator.Config) int {
	replayed := map[string]bool{}
	asked := map[string]*dataset.Config{}
	for i := range gc.Targets {
		t := &gc.Targets[i]
		if t.Workload.Dataset.Enabled() {
			asked[t.WorkloadName] = &t.Workload.Dataset
			replayed[t.WorkloadName] = replayed[t.WorkloadName] || t.Load.Mode == load.Replay
		}
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if code := s.checkDataset(asked[name], "workloads."+name+".dataset", replayed[name]); code != exitOK {
			return code
		}
	}
	return exitOK
}

// checkDataset reads a dataset and says what it holds, under a name. Rows without a place in time are only wrong where it is replayed.
func (s *session) checkDataset(c *dataset.Config, name string, replayed bool) int {
	summary, errs := dataset.Check(c, shownRows)
	faulty := summary.Skipped
	if replayed {
		errs, faulty = append(errs, summary.UntimelyErrors...), faulty+summary.Untimely
	}
	fmt.Fprintf(s.stdout, "%s: %s, %s, %s input and %s output tokens recorded", name, plural(summary.Conversations, "conversation"),
		plural(summary.Turns, "turn"), rounded(float64(summary.InputTokens)), rounded(float64(summary.OutputTokens)))
	if summary.Timed {
		fmt.Fprintf(s.stdout, ", over %v", summary.Span.Round(time.Millisecond))
	}
	fmt.Fprintln(s.stdout)
	if summary.Filtered > 0 {
		fmt.Fprintf(s.stdout, "%s: %s left out by its limits\n", name, plural(int(summary.Filtered), "row"))
	}
	if summary.Split > 0 {
		fmt.Fprintf(s.stdout, "%s: %s asked in pieces, as their rows lie far apart\n", name, plural(int(summary.Split), "session"))
	}
	if streams, whole := summary.PayloadStreams, summary.PayloadsWhole; streams > 0 && whole > 0 {
		fmt.Fprintf(s.stderr, "%s: %d recorded bodies ask for a stream and %d do not, only the former have a time to first token (warning)\n", name, streams, whole)
	}
	for _, err := range errs {
		fmt.Fprintln(s.stderr, err)
	}
	if more := faulty - int64(len(errs)); more > 0 {
		fmt.Fprintf(s.stderr, "and %d more\n", more)
	}
	if len(errs) > 0 {
		return exitFailure
	}
	return exitOK
}
