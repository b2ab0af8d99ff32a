package main

import (
	"fmt"
	"slices"
)

// section is what is told of one scenario.
type section struct {
	title string
	grids []grid
	notes []string // on tools that failed or counted other requests than the server
}

func newSection(s *scenario, contests []contest) section {
	results := make([]result, 0, len(contests))
	for i := range contests {
		results = append(results, newResult(s, &contests[i]))
	}
	told := section{title: fmt.Sprintf("%s (`%s`)", s.title, s.name), notes: notes(results)}
	if s.unpaced() {
		told.grids = []grid{saturation(results)}
	} else {
		told.grids = []grid{cost(results), precision(results)}
	}
	return told
}

// the finds a tool; nil if it took no part.
func the(name string, results []result) *result {
	i := slices.IndexFunc(results, func(r result) bool { return r.tool == name })
	if i < 0 {
		return nil
	}
	return &results[i]
}

// factor is the cell of a ratio to another tool.
func factor(r, other *result) string {
	if other == nil {
		return none
	}
	return r.times(other).cell("%.2f")
}

// Units.
const (
	kibibyte = 1.0 / (1 << 10)
	mebibyte = 1.0 / (1 << 20)
	micro    = 1e6
	milli    = 1e3
)

// cost has a line per tool on throughput, processor time, memory and start.
func cost(results []result) grid {
	g := grid{header: []string{
		"tool", "chunks/s", "of the load, %", "CPU, s", "of it start, s", "CPU per chunk, µs", "× floor", "× ours", "peak memory, MiB", "per stream, KiB",
		"first request after, s",
	}}
	for i := range results {
		r := &results[i]
		g.rows = append(g.rows, []string{
			r.tool,
			r.spread(func(m *measures) float64 { return m.reached }).cell("%.0f"),
			r.spread(func(m *measures) float64 { return m.offered }).scaled(100).cell("%.1f"),
			r.spread(func(m *measures) float64 { return m.cpu }).cell("%.2f"),
			fmt.Sprintf("%.2f", r.start.used.CPU),
			r.spread(func(m *measures) float64 { return m.perChunk }).scaled(micro).cell("%.1f"),
			factor(r, the(floorTool, results)),
			factor(r, the(ourTool, results)),
			r.spread(func(m *measures) float64 { return m.peak }).scaled(mebibyte).cell("%.0f"),
			r.spread(func(m *measures) float64 { return m.stream }).scaled(kibibyte).cell("%.1f"),
			r.spread(func(m *measures) float64 { return m.begun }).cell("%.2f"),
		})
	}
	return g
}

// saturation has a line per tool on the most that it can take.
func saturation(results []result) grid {
	g := grid{header: []string{"tool", "chunks per CPU second", "× floor", "chunks/s", "CPU, s", "CPU per chunk, µs"}}
	for i := range results {
		r := &results[i]
		g.rows = append(g.rows, []string{
			r.tool,
			r.spread(func(m *measures) float64 { return m.perCPU }).cell("%.0f"),
			factor(r, the(floorTool, results)),
			r.spread(func(m *measures) float64 { return m.reached }).cell("%.0f"),
			r.spread(func(m *measures) float64 { return m.cpu }).cell("%.2f"),
			r.spread(func(m *measures) float64 { return m.perChunk }).scaled(micro).cell("%.2f"),
		})
	}
	return g
}

// statistics are the columns of precision.
var statistics = []struct {
	name        string
	said, known func(*trial) float64
}{
	{"TTFT mean", func(t *trial) float64 { return t.said.ttft.Mean }, func(t *trial) float64 { return t.known.TTFT.Mean }},
	{"TTFT p50", func(t *trial) float64 { return t.said.ttft.P50 }, func(t *trial) float64 { return t.known.TTFT.P50 }},
	{"TTFT p99", func(t *trial) float64 { return t.said.ttft.P99 }, func(t *trial) float64 { return t.known.TTFT.P99 }},
	{"ITL mean", func(t *trial) float64 { return t.said.itl.Mean }, func(t *trial) float64 { return t.known.ITL.Mean }},
	{"ITL p50", func(t *trial) float64 { return t.said.itl.P50 }, func(t *trial) float64 { return t.known.ITL.P50 }},
	{"ITL p99", func(t *trial) float64 { return t.said.itl.P99 }, func(t *trial) float64 { return t.known.ITL.P99 }},
}

// precision has a line per tool that tells latencies: what it says, and its error against the truth of the same run. The line of the
// floor client, which tells none, has the truth: what the server did when hardly anything was beside it.
func precision(results []result) grid {
	g := grid{header: []string{"ms: said, error"}}
	for _, column := range statistics {
		g.header = append(g.header, column.name)
	}
	for i := range results {
		r := &results[i]
		row := []string{r.tool}
		if r.tool == floorTool {
			row[0] = "(the server, beside the floor)"
		}
		for _, column := range statistics {
			said, known := r.values(column.said), r.values(column.known)
			switch {
			case len(said) == 0:
				row = append(row, none)
			case r.tool == floorTool:
				row = append(row, newSpread(known).scaled(milli).cell("%.2f"))
			default:
				off := make([]float64, len(said))
				for round := range said {
					off[round] = said[round] - known[round]
				}
				row = append(row, fmt.Sprintf("%.2f, %s", newSpread(said).median*milli, newSpread(off).scaled(milli).cell("%+.3f")))
			}
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// values gives one number of each round.
func (r *result) values(of func(*trial) float64) []float64 {
	values := make([]float64, len(r.rounds))
	for i := range r.rounds {
		values[i] = of(&r.rounds[i])
	}
	return values
}

// notes tells what the tables cannot show.
func notes(results []result) []string {
	var told []string
	for i := range results {
		r := &results[i]
		if r.failed != nil {
			told = append(told, fmt.Sprintf("%s failed after %d rounds: %v", r.tool, len(r.rounds), r.failed))
		}
		for round := range r.rounds {
			if t := &r.rounds[round]; t.said.requests != t.known.Completed || t.known.Completed != t.known.Requests {
				told = append(told, fmt.Sprintf("%s, round %d: the server had %d requests and completed %d, the tool tells of %d",
					r.tool, round+1, t.known.Requests, t.known.Completed, t.said.requests))
			}
		}
	}
	return told
}
