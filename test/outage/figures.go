package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// phase is a part of the run.
type phase struct {
	name    string
	lasts   time.Duration
	samples []sample // the first at its start, the last at its end
}

// sample is one look at the exporter.
type sample struct {
	at time.Time
	f  scrape.Families
}

func (p *phase) seconds() float64 {
	return p.samples[len(p.samples)-1].at.Sub(p.samples[0].at).Seconds()
}

// grew is how much counters, or the count of a histogram, grew in the phase.
func (p *phase) grew(name string, labels scrape.Labels) float64 {
	return p.samples[len(p.samples)-1].f.Sum(name, labels) - p.samples[0].f.Sum(name, labels)
}

// extent is the lowest and the highest value of a gauge, in MiB.
func (p *phase) extent(name string) (low, high float64) {
	values := make([]float64, 0, len(p.samples))
	for _, s := range p.samples {
		values = append(values, s.f.Sum(name, nil)/(1<<20))
	}
	return slices.Min(values), slices.Max(values)
}

// delay is how late requests left: the mean in milliseconds.
func (p *phase) delay() float64 {
	sum := func(s sample) (v float64) {
		for _, m := range s.f.Series(delaySeries, nil) {
			v += m.GetHistogram().GetSampleSum()
		}
		return v
	}
	return 1e3 * (sum(p.samples[len(p.samples)-1]) - sum(p.samples[0])) / p.grew(delaySeries, nil)
}

const delaySeries = "aiperf_schedule_delay_seconds"

// delayQuantile is the upper bound of the bucket that holds a quantile, in milliseconds. That of native buckets, which grow by a ninth.
func (p *phase) delayQuantile(q float64) float64 {
	counts := natives(p.samples[len(p.samples)-1].f)
	for upper, n := range natives(p.samples[0].f) {
		counts[upper] -= n
	}
	return 1e3 * quantile(counts, q)
}

// natives adds up how many values were in each bucket, by its upper bound in seconds.
func natives(f scrape.Families) map[float64]float64 {
	counts := map[float64]float64{}
	for _, m := range f.Series(delaySeries, nil) {
		h := m.GetHistogram()
		counts[h.GetZeroThreshold()] += float64(h.GetZeroCount())
		index, count, deltas := int32(0), int64(0), h.GetPositiveDelta()
		for _, span := range h.GetPositiveSpan() {
			index += span.GetOffset()
			for range span.GetLength() {
				count, deltas = count+deltas[0], deltas[1:]
				counts[math.Exp2(float64(index)/math.Exp2(float64(h.GetSchema())))] += float64(count)
				index++
			}
		}
	}
	return counts
}

// quantile is the bound below which a share of the values lie.
func quantile(counts map[float64]float64, q float64) float64 {
	bounds, total := make([]float64, 0, len(counts)), 0.0
	for bound, n := range counts {
		bounds = append(bounds, bound)
		total += n
	}
	slices.Sort(bounds)
	below := 0.0
	for _, bound := range bounds {
		if below += counts[bound]; below >= q*total && below > 0 {
			return bound
		}
	}
	return math.NaN()
}

// columns of the table, each a figure of a phase.
var columns = []struct {
	name string
	of   func(p *phase, rate float64) string
}{
	{"minutes", func(p *phase, _ float64) string { return fmt.Sprintf("%.1f", p.seconds()/60) }},
	{"planned", func(p *phase, rate float64) string { return fmt.Sprintf("%.0f", rate*p.seconds()) }},
	{"sent", func(p *phase, _ float64) string { return fmt.Sprintf("%.0f", p.grew("aiperf_arrivals_sent_total", nil)) }},
	{"dropped", func(p *phase, _ float64) string { return fmt.Sprintf("%.0f", p.grew("aiperf_arrivals_dropped_total", nil)) }},
	{"lag mean", func(p *phase, _ float64) string { return fmt.Sprintf("%.2f", p.delay()) }},
	{"lag p50", func(p *phase, _ float64) string { return fmt.Sprintf("%.2f", p.delayQuantile(.5)) }},
	{"lag p99", func(p *phase, _ float64) string { return fmt.Sprintf("%.2f", p.delayQuantile(.99)) }},
	{"resident MiB", func(p *phase, _ float64) string { return extent(p, "process_resident_memory_bytes") }},
	{"heap MiB", func(p *phase, _ float64) string { return extent(p, "go_memstats_heap_alloc_bytes") }},
	{"CPU ms/s", func(p *phase, _ float64) string {
		return fmt.Sprintf("%.1f", 1e3*p.grew("process_cpu_seconds_total", nil)/p.seconds())
	}},
	{"exports", func(p *phase, _ float64) string { return fmt.Sprintf("%.0f", p.grew(exportsSeries, scrape.Labels{"result": "success"})) }},
	{"failed", func(p *phase, _ float64) string { return fmt.Sprintf("%.0f", p.grew(exportsSeries, scrape.Labels{"result": "error"})) }},
	{"spans lost", func(p *phase, _ float64) string {
		lost, dropped := p.grew(spansSeries, scrape.Labels{"result": "lost"}), p.grew(spansSeries, scrape.Labels{"result": "dropped"})
		return fmt.Sprintf("%.0f of %.0f", lost+dropped, cmp.Or(p.grew(spansSeries, nil), 0))
	}},
}

const (
	exportsSeries = "aiperf_exporter_otlp_exports_total"
	spansSeries   = "aiperf_exporter_otlp_spans_total"
)

func extent(p *phase, name string) string {
	low, high := p.extent(name)
	return fmt.Sprintf("%.1f–%.1f", low, high)
}

// print writes a column for each phase. rate is that of all targets together, per second.
func print(w io.Writer, phases []phase, rate float64) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i := range phases {
		fmt.Fprintf(out, "\t%s", phases[i].name)
	}
	fmt.Fprintln(out, "\t")
	for _, c := range columns {
		fmt.Fprint(out, c.name)
		for i := range phases {
			fmt.Fprintf(out, "\t%s", c.of(&phases[i], rate))
		}
		fmt.Fprintln(out, "\t")
	}
	return out.Flush()
}
