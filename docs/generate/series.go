package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/series"
)

const seriesHead = `# Series

All series, by what they belong to: [targets](#of-each-target) · [servers](#of-the-servers-behind-targets) · [GPUs](#of-gpus) · [the exporter and what it reads](#of-the-exporter-and-what-it-reads) ·
[boundaries of buckets](#bucket-boundaries). Those of one request, on ` + "`/probe`" + `, are in [probe.md](probe.md#series-of-an-answer). ` + "`aiperf-exporter series`" + ` prints what your
configuration has; this page is written by ` + "`make gen`" + `.

Every series of a target exists at zero from the moment it starts. Times are seconds, sizes bytes, shares 0–1.
What the figures mean is told in [measuring.md](measuring.md).

The series of a target carry the labels ` + "`target`, `model` and `workload`" + `, then the names in ` + "`metrics.extra_labels`" + `; those of a server
` + "`target`, `instance_id`, `server`, `model` and `engine`" + `, those of a GPU ` + "`gpu`, `uuid`, `hostname`, `mig_instance` and `source`" + `; below are only the
labels beyond those. Of a server and of a GPU there is what it has: nothing is made up, and nothing outlives its source. ` + "`global.labels`" + ` stand on all series. Histograms are classic and native in one (` + "`metrics.histograms`" + `); native ones need
` + "`scrape_native_histograms: true`" + ` in Prometheus. The limits of your SLOs are bucket boundaries of the measures that they limit.
`

// seriesPage is metrics.md.
func seriesPage() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(seriesHead)
	for _, part := range []struct {
		title string
		scope metrics.Scope
	}{
		{"Of each target", metrics.PerTarget},
		{"Of the servers behind targets", metrics.PerServer},
		{"Of GPUs", metrics.PerGPU},
		{"Of the exporter and what it reads", metrics.PerProcess},
	} {
		fmt.Fprintf(&out, "\n## %s\n\n| series | type | labels | meaning |\n|---|---|---|---|\n", part.title)
		for _, s := range series.Table() {
			if s.Scope == part.scope {
				fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", s.Name, s.Kind, labelCell(s.Labels), cell(s.Help))
			}
		}
	}
	out.WriteString("\n## Bucket boundaries\n\n| series | classic boundaries |\n|---|---|\n")
	for _, s := range series.Table() {
		if len(s.Bounds) > 0 {
			fmt.Fprintf(&out, "| `%s` | %s |\n", s.Name, strings.Trim(fmt.Sprint(s.Bounds), "[]"))
		}
	}
	return out.Bytes(), nil
}

// labelCell lists names, and the values where they are a short closed list.
func labelCell(list []metrics.Label) string {
	out := make([]string, 0, len(list))
	for _, l := range list {
		text := "`" + l.Name + "`"
		if len(l.Values) > 0 {
			text += " (" + strings.Join(l.Values, ", ") + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// cell makes a text fit for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
