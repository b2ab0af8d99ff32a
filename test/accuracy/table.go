package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// measures are the rows of a table.
var measures = []struct {
	name string
	of   func(latencies) float64
}{
	{"TTFT", func(l latencies) float64 { return l.ttft }},
	{"ITL", func(l latencies) float64 { return l.itl }},
	{"latency", func(l latencies) float64 { return l.latency }},
}

// statistics are the lines of a measure, and those of its error in single requests, whatever its sign.
var statistics = []struct {
	name string
	of   func([]float64) float64
}{
	{"mean", mean},
	{"p50", func(v []float64) float64 { return quantile(v, .5) }},
	{"p99", func(v []float64) float64 { return quantile(v, .99) }},
}

// parts are those of the error of TTFT.
var parts = []struct {
	name string
	of   func(pair) float64
}{
	{"request", func(p pair) float64 { return p.there }},
	{"answer", func(p pair) float64 { return p.back }},
}

// table prints what the server knows, what the exporter measured and the difference, side by side for two stamp sources.
func table(w io.Writer, kernel, read []pair) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "\t\tserver\tkernel stamps\terror\tserver\tread times\terror\t")
	for _, m := range measures {
		for _, s := range statistics {
			fmt.Fprintf(out, "%s\t%s\t", m.name, s.name)
			for _, run := range [][]pair{kernel, read} {
				truth, ours := s.of(column(run, m.of, theirs)), s.of(column(run, m.of, measured))
				fmt.Fprintf(out, "%.3f\t%.3f\t%+.3f\t", truth, ours, ours-truth)
			}
			fmt.Fprintln(out)
		}
		for _, s := range statistics {
			fmt.Fprintf(out, "%s\t%s of |error|\t", m.name, s.name)
			for _, run := range [][]pair{kernel, read} {
				fmt.Fprintf(out, "\t\t%.3f\t", s.of(column(run, m.of, off)))
			}
			fmt.Fprintln(out)
		}
	}
	for _, part := range parts {
		for _, s := range statistics {
			fmt.Fprintf(out, "TTFT error, %s\t%s\t", part.name, s.name)
			for _, run := range [][]pair{kernel, read} {
				fmt.Fprintf(out, "\t\t%+.3f\t", s.of(sorted(run, part.of)))
			}
			fmt.Fprintln(out)
		}
	}
	fmt.Fprintf(out, "requests\t\t%d\t\t\t%d\t\t\t\n\n", len(kernel), len(read))
	return out.Flush()
}

// The columns of a run.
func theirs(truth, _ float64) float64  { return truth }
func measured(_, ours float64) float64 { return ours }
func off(truth, ours float64) float64  { return math.Abs(ours - truth) }

// column gives one value per request, sorted.
func column(run []pair, of func(latencies) float64, which func(truth, ours float64) float64) []float64 {
	return sorted(run, func(p pair) float64 { return which(of(p.truth), of(p.ours)) })
}

func sorted(run []pair, of func(pair) float64) []float64 {
	values := make([]float64, len(run))
	for i := range run {
		values[i] = of(run[i])
	}
	slices.Sort(values)
	return values
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// quantile interpolates at rank q·(n−1) of sorted values.
func quantile(values []float64, q float64) float64 {
	whole, part := math.Modf(q * float64(len(values)-1))
	i := int(whole)
	return values[i] + part*(values[min(i+1, len(values)-1)]-values[i])
}
