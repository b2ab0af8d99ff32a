package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
	format := cmd.Flag("format", "Its format, as in workloads.*.dataset.format. Default: the one that fits, if only one does.").PlaceHolder("FORMAT").String()
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
		found := lookAtDataset(&c, *file, false)
		fmt.Fprint(s.stdout, printableLines(found.holds))
		fmt.Fprint(s.stderr, lines(found.warnings), lines(found.faults))
		if len(found.faults) > 0 {
			return exitFailure
		}
		return exitOK
	}}
}

// datasetFindings are what is to be said of a dataset.
type datasetFindings struct {
	holds            string // lines
	warnings, faults []string
}

// lookAtDatasets reads the datasets of a configuration, each once.
func lookAtDatasets(gc *generator.Config) datasetFindings {
	replayed := map[string]bool{}
	asked := map[string]*dataset.Config{}
	for i := range gc.Targets {
		t := &gc.Targets[i]
		if t.Workload.Dataset.Enabled() {
			asked[t.WorkloadName] = &t.Workload.Dataset
			replayed[t.WorkloadName] = replayed[t.WorkloadName] || t.Load.Mode == load.Replay
		}
	}
	var all datasetFindings
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		found := lookAtDataset(asked[name], "workloads."+name+".dataset", replayed[name])
		all.holds += found.holds
		all.warnings, all.faults = append(all.warnings, found.warnings...), append(all.faults, found.faults...)
	}
	return all
}

// lookAtDataset reads a dataset and says what it holds, under a name. Rows without a place in time are only wrong where it is replayed.
func lookAtDataset(c *dataset.Config, name string, replayed bool) datasetFindings {
	summary, errs := dataset.Check(c, shownRows)
	faulty := summary.Skipped
	if replayed {
		errs, faulty = append(errs, summary.UntimelyErrors...), faulty+summary.Untimely
	}
	var out datasetFindings
	out.holds = name + ": " + contentsOf(&summary) + "\n"
	if summary.Filtered > 0 {
		out.holds += fmt.Sprintf("%s: %s left out by its limits\n", name, plural(int(summary.Filtered), "row"))
	}
	if summary.Split > 0 {
		out.holds += fmt.Sprintf("%s: %s asked in pieces, as their rows lie far apart\n", name, plural(int(summary.Split), "session"))
	}
	if streams, whole := summary.PayloadStreams, summary.PayloadsWhole; streams > 0 && whole > 0 {
		out.warnings = append(out.warnings,
			fmt.Sprintf("%s: %d recorded bodies ask for a stream and %d do not, only the former have a time to first token (warning)", name, streams, whole))
	}
	for _, err := range errs {
		out.faults = append(out.faults, err.Error())
	}
	if more := faulty - int64(len(errs)); more > 0 {
		out.faults = append(out.faults, fmt.Sprintf("and %d more", more))
	}
	return out
}

// contentsOf says what a dataset holds.
func contentsOf(s *dataset.Summary) string {
	out := fmt.Sprintf("%s, %s, %s input and %s output tokens recorded", plural(s.Conversations, "conversation"), plural(s.Turns, "turn"),
		rounded(float64(s.InputTokens)), rounded(float64(s.OutputTokens)))
	if s.Timed {
		out += fmt.Sprintf(", over %v", s.Span.Round(time.Millisecond))
	}
	return out
}

// lines ends each text with a line break.
func lines(texts []string) string {
	var out strings.Builder
	for _, text := range texts {
		out.WriteString(printable(text) + "\n")
	}
	return out.String()
}
