package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// table prints what became of each group, and what it cost.
func (s *seen) table(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "targets\trequests\till: succeeded\tfailed as\tat the edges\twell: succeeded\tfailed\tmean TTFT ill\twell")
	for _, m := range firsts(s.rig.fleet) {
		c := s.counts[m.group]
		var edges, all count
		for p := range phases {
			all.add(&c[p])
		}
		edges.add(&c[onset])
		edges.add(&c[relief])
		fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%s\t%s\t%.0f\t%s\t%s\t%s\n", m.group, all.succeeded+all.failures(), c[ill].succeeded, list(c[ill].failed),
			list(edges.failed), c[well].succeeded, list(c[well].failed), milliseconds(&c[ill]), milliseconds(&c[well]))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	s.cost(w)
	return nil
}

// cost prints how late the requests of targets left that are always well, and what the exporter took.
func (s *seen) cost(w io.Writer) {
	span := s.last[0].at.Sub(s.first[0].at)
	fmt.Fprintf(w, "\n%d targets, %d of them in %d groups that fall ill and get well %d times in %.0f s; %d reloads\n", len(s.rig.fleet),
		s.sick(), len(faults), len(s.heaps), span.Seconds(), s.reloads)
	for _, group := range []string{direct, proxied} {
		fmt.Fprintf(w, "%s: lag in ms, in brackets that of the twin: p50 %s, p99 %s, most %s; dropped %s\n", group, s.lateness(group, .5), s.lateness(group, .99),
			s.lateness(group, 1), s.dropped(group))
	}
	fmt.Fprintf(w, "the machine stood still in %d of %d phases; limits that were reached in them are its fault, and how late requests left counts at %d looks\n",
		s.stood, len(s.heaps)*int(phases), s.calm)
	for i := range s.heaps {
		fmt.Fprintf(w, "cycle %d: heap %.1f MiB, resident at most %.0f MiB\n", i+1, s.heaps[i]/(1<<20), s.resident[i]/(1<<20))
	}
	fmt.Fprintf(w, "kept: captures at most %.2f MiB, history at most %.2f MiB\n", s.captures/(1<<20), s.history/(1<<20))
	fmt.Fprintf(w, "at rest before and after: goroutines %.0f, %.0f; descriptors %.0f, %.0f; heap %.1f, %.1f MiB\n",
		s.before.f.Sum("go_goroutines", nil), s.after.f.Sum("go_goroutines", nil), s.before.f.Sum("process_open_fds", nil),
		s.after.f.Sum("process_open_fds", nil), s.before.heap/(1<<20), s.after.heap/(1<<20))
	cpu := func(i int) float64 {
		return (s.last[i].f.Sum("process_cpu_seconds_total", nil) - s.first[i].f.Sum("process_cpu_seconds_total", nil)) / span.Seconds()
	}
	fmt.Fprintf(w, "CPU: %.0f ms/s (%.0f)\n", 1e3*cpu(0), 1e3*cpu(1))
}

// sick is how many targets fall ill.
func (s *seen) sick() (n int) {
	for _, m := range s.rig.fleet {
		if m.ill != nil {
			n++
		}
	}
	return n
}

// dropped are the arrivals of a group that were not sent, of the exporter and its twin.
func (s *seen) dropped(group string) string {
	told, twin := counted(&s.first[0], &s.last[0]), counted(&s.first[1], &s.last[1])
	return fmt.Sprintf("%s (%s)", list(told[group].dropped), list(twin[group].dropped))
}

// list writes counts by what was counted.
func list[K metrics.ErrorClass | metrics.DropReason](counts map[K]float64) string {
	if len(counts) == 0 {
		return "–"
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %.0f", key, counts[key]))
	}
	return strings.Join(parts, ", ")
}

// milliseconds is the mean time to the first token.
func milliseconds(c *count) string {
	if c.succeeded == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f ms", 1e3*c.meanTTFT())
}
