package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// difference is a place that is not the same in the files of both programs.
type difference struct {
	field        string // "json request_latency", "csv block 2 Goodput (requests/sec)", "value output_sequence_length avg"
	theirs, ours string // "" = it is not there
	why          string // "" = nobody knows
}

// differences compares what there is, whatever the figures say.
func differences(theirs, ours *files) []difference {
	var out []difference
	all := maps.Clone(theirs.fields)
	maps.Copy(all, ours.fields)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if a, b := theirs.fields[field], ours.fields[field]; a != b {
			out = append(out, difference{field, a, b, reason(field)})
		}
	}
	for _, place := range slices.Sorted(maps.Keys(theirs.orders)) {
		a, b := common(theirs.orders[place], ours.orders[place]), common(ours.orders[place], theirs.orders[place])
		if !slices.Equal(a, b) {
			out = append(out, difference{place, strings.Join(a, " "), strings.Join(b, " "), reason(place)})
		}
	}
	return out
}

// exact are the units of what is counted: such figures must be the same, all others about the same.
var exact = []string{"tokens", "requests", "%", "ratio", "count"}

// What is measured may be so far apart: on a busy machine AIPerf takes its time, and that time is in what it measures. Another definition or unit
// makes more of a difference.
const (
	marginPart         = 0.15
	marginMilliseconds = 5
)

// valueDifferences compares the figures that both have.
func valueDifferences(theirs, ours *files) []difference {
	var out []difference
	for _, tag := range common(theirs.report.keys, ours.report.keys) {
		a, b := theirs.report.members[tag], ours.report.members[tag]
		if !a.figure() || !b.figure() {
			continue
		}
		unit, _ := a.members["unit"].scalar.(string)
		stats := []string{"p50"} // one late request among forty says nothing of a definition
		switch {
		case slices.Contains(exact, unit):
			stats = a.keys
		case a.members["p50"] == nil:
			stats = []string{"avg"}
		}
		for _, stat := range stats {
			x, some := a.number(stat)
			y, too := b.number(stat)
			if some && too && !near(x, y, unit) {
				field := "value " + tag + " " + stat
				out = append(out, difference{field, fmt.Sprint(x, " ", unit), fmt.Sprint(y, " ", unit), reason(field)})
			}
		}
	}
	return out
}

func near(a, b float64, unit string) bool {
	margin := 1e-9 * math.Abs(a)
	switch {
	case unit == "ms":
		margin = marginMilliseconds + marginPart*math.Abs(a)
	case !slices.Contains(exact, unit):
		margin = marginPart * math.Abs(a)
	}
	return math.Abs(a-b) <= margin
}

// most is how many differences with one reason are printed.
const most = 6

// write prints the differences, those with the same reason together, and counts those without one.
func write(out io.Writer, all []difference) (unexplained int) {
	byReason := map[string][]difference{}
	for _, d := range all {
		byReason[d.why] = append(byReason[d.why], d)
	}
	for _, why := range slices.Sorted(maps.Keys(byReason)) {
		title := why
		if why == "" {
			title, unexplained = "NO REASON IS KNOWN", len(byReason[why])
		}
		fmt.Fprintln(out, title)
		for i, d := range byReason[why] {
			if i == most && why != "" {
				fmt.Fprintf(out, "    and %d more\n", len(byReason[why])-most)
				break
			}
			fmt.Fprintf(out, "    %s: AIPerf %s, here %s\n", d.field, shown(d.theirs), shown(d.ours))
		}
	}
	return unexplained
}

// shown is a value in few words.
func shown(value string) string {
	if value == "" {
		return "nothing"
	}
	if len(value) > 70 {
		return value[:70] + "…"
	}
	return value
}
