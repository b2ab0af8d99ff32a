package main

import (
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
	name  string
	lasts time.Duration
	told  view // of the exporter that tells the collector
	twin  view // of the one that tells nobody
}

// view are looks at an exporter in a phase, the first at its start and the last at its end.
type view []sample

func (v view) first() sample { return v[0] }
func (v view) last() sample  { return v[len(v)-1] }

// sample is one look at the exporter.
type sample struct {
	at time.Time
	f  scrape.Families
}

func (v view) seconds() float64 {
	return v.last().at.Sub(v.first().at).Seconds()
}

// grew is how much counters, or the count of a histogram, grew in the phase.
func (v view) grew(name string, labels scrape.Labels) float64 {
	return v.last().f.Sum(name, labels) - v.first().f.Sum(name, labels)
}

// extent is the lowest and the highest value of a gauge, in MiB.
func (v view) extent(name string) (low, high float64) {
	values := make([]float64, 0, len(v))
	for _, s := range v {
		values = append(values, s.f.Sum(name, nil)/(1<<20))
	}
	return slices.Min(values), slices.Max(values)
}

// delay is how late requests left: the mean in milliseconds.
func (v view) delay() float64 {
	sum := func(s sample) (seconds float64) {
		for _, m := range s.f.Series(delaySeries, nil) {
			seconds += m.GetHistogram().GetSampleSum()
		}
		return seconds
	}
	return 1e3 * (sum(v.last()) - sum(v.first())) / v.grew(delaySeries, nil)
}

const delaySeries = "aiperf_schedule_delay_seconds"

// delayQuantile is the upper bound of the bucket that holds a quantile, in milliseconds. That of native buckets, which grow by a ninth.
func (v view) delayQuantile(q float64) float64 {
	counts := natives(v.last().f)
	for upper, n := range natives(v.first().f) {
		counts[upper] -= n
	}
	return 1e3 * scrape.Quantile(counts, q)
}

// natives adds up how many values were in each bucket, by its upper bound in seconds.
func natives(f scrape.Families) map[float64]float64 {
	counts := map[float64]float64{}
	for _, m := range f.Series(delaySeries, nil) {
		for bound, n := range scrape.Natives(m.GetHistogram()) {
			counts[bound] += n
		}
	}
	return counts
}

// rows of the table, each a figure of a phase.
var rows = []struct {
	name string
	of   func(p *phase, rate float64) string
}{
	{"minutes", func(p *phase, _ float64) string { return fmt.Sprintf("%.1f", p.told.seconds()/60) }},
	{"planned", func(p *phase, rate float64) string { return fmt.Sprintf("%.0f", rate*p.told.seconds()) }},
	{"sent", func(p *phase, _ float64) string { return beside(p, sent) }},
	{"dropped", func(p *phase, _ float64) string { return beside(p, dropped) }},
	{"lag mean", func(p *phase, _ float64) string { return beside(p, view.delay) }},
	{"lag p50", func(p *phase, _ float64) string {
		return beside(p, func(v view) float64 { return v.delayQuantile(.5) })
	}},
	{"lag p99", func(p *phase, _ float64) string {
		return beside(p, func(v view) float64 { return v.delayQuantile(.99) })
	}},
	{"resident MiB", func(p *phase, _ float64) string { return extents(p, "process_resident_memory_bytes") }},
	{"heap MiB", func(p *phase, _ float64) string { return extents(p, "go_memstats_heap_alloc_bytes") }},
	{"CPU ms/s", func(p *phase, _ float64) string { return beside(p, busy) }},
	{"exports", func(p *phase, _ float64) string {
		return fmt.Sprintf("%.0f", p.told.grew(exportsSeries, scrape.Labels{"result": "success"}))
	}},
	{"failed", func(p *phase, _ float64) string {
		return fmt.Sprintf("%.0f", p.told.grew(exportsSeries, scrape.Labels{"result": "error"}))
	}},
	{"spans lost", func(p *phase, _ float64) string {
		lost := p.told.grew(spansSeries, scrape.Labels{"result": "lost"}) + p.told.grew(spansSeries, scrape.Labels{"result": "dropped"})
		return fmt.Sprintf("%.0f of %.0f", lost, p.told.grew(spansSeries, nil))
	}},
}

func sent(v view) float64    { return v.grew("aiperf_arrivals_sent_total", nil) }
func dropped(v view) float64 { return v.grew("aiperf_arrivals_dropped_total", nil) }

// busy is how much of a processor is used, in ms/s.
func busy(v view) float64 { return 1e3 * v.grew("process_cpu_seconds_total", nil) / v.seconds() }

// beside writes a figure of the exporter and, in brackets, of its twin.
func beside(p *phase, of func(view) float64) string {
	return fmt.Sprintf("%.5g (%.5g)", rounded(of(p.told)), rounded(of(p.twin)))
}

func rounded(v float64) float64 { return math.Round(v*100) / 100 }

const (
	exportsSeries = "aiperf_exporter_otlp_exports_total"
	spansSeries   = "aiperf_exporter_otlp_spans_total"
)

// extents writes the lowest and the highest value of a gauge, of both.
func extents(p *phase, name string) string {
	low, high := p.told.extent(name)
	twinLow, twinHigh := p.twin.extent(name)
	return fmt.Sprintf("%.0f–%.0f (%.0f–%.0f)", low, high, twinLow, twinHigh)
}

// table writes a column for each phase. rate is that of all targets of an exporter, per second.
func table(w io.Writer, phases []phase, rate float64) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i := range phases {
		fmt.Fprintf(out, "\t%s", phases[i].name)
	}
	fmt.Fprintln(out, "\t")
	for _, r := range rows {
		fmt.Fprint(out, r.name)
		for i := range phases {
			fmt.Fprintf(out, "\t%s", r.of(&phases[i], rate))
		}
		fmt.Fprintln(out, "\t")
	}
	return out.Flush()
}
