package metrics

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// success limits a figure to requests that succeeded.
func success(of func(*Measures) Value) map[string]observation {
	return map[string]observation{"": func(r *Record, m *Measures) Value {
		if r.Outcome != Success {
			return Value{}
		}
		return of(m)
	}}
}

// always takes a figure of every request.
func always(of func(*Measures) Value) map[string]observation {
	return map[string]observation{"": func(_ *Record, m *Measures) Value { return of(m) }}
}

// duration is the latency of a success, and the whole time of anything else.
func duration() map[string]observation {
	out := map[string]observation{}
	for _, outcome := range Outcomes {
		out[string(outcome)] = func(r *Record, m *Measures) Value {
			switch {
			case r.Outcome != outcome:
				return Value{}
			case outcome == Success:
				return m.RequestLatency
			}
			return m.Total
		}
	}
	return out
}

// phases are the parts of the HTTP exchange, under the names of HTTPPhases.
func phases() map[string]observation {
	of := func(phase func(*Phases) Value) observation {
		return func(_ *Record, m *Measures) Value { return phase(&m.Phases) }
	}
	return map[string]observation{
		"blocked": of(func(p *Phases) Value { return p.Blocked }),
		"dns":     of(func(p *Phases) Value { return p.DNS }),
		"connect": of(func(p *Phases) Value { return p.Connect }),
		"tls":     of(func(p *Phases) Value { return p.TLS }),
		"send":    of(func(p *Phases) Value { return p.Send }),
		"wait":    of(func(p *Phases) Value { return p.Wait }),
		"receive": of(func(p *Phases) Value { return p.Receive }),
	}
}

// histograms are the per-request histograms of a target.
type histograms struct {
	all   []histogram
	feeds []feed
	gaps  int // index of the one that has a value for each gap between content events, -1 if there is none
}

// feed is what a finished request adds to a histogram.
type feed struct {
	to int // index in histograms.all
	of observation
}

const gapSeries = "aiperf_inter_chunk_latency_seconds"

func newHistograms(b *board) histograms {
	s, f, base := b.of.store, &b.info.Features, b.of.base
	h := histograms{gaps: -1}
	for i := range s.series {
		series := &s.series[i]
		if !series.of(f) {
			continue
		}
		l := s.layouts[series.Name]
		for _, label := range slices.Sorted(maps.Keys(series.observe)) {
			labels := slices.Clone(base)
			if label != "" {
				labels = append(labels, label)
			}
			h.feeds = append(h.feeds, feed{len(h.all), series.observe[label]})
			h.all = append(h.all, newHistogram(l, prometheus.MakeLabelPairs(l.desc, labels), b.created))
		}
	}
	if s.named[gapSeries].of(f) {
		l := s.layouts[gapSeries]
		h.gaps = len(h.all)
		h.all = append(h.all, newHistogram(l, prometheus.MakeLabelPairs(l.desc, base), b.created))
	}
	return h
}

// countGaps counts the gaps of a request. There may be thousands, so this is done before the lock of the target is taken. forgetGaps takes
// the result back.
func (s *Store) countGaps(r *Record) *histogram {
	gaps := s.spareGaps.Get().(*histogram)
	if r.Outcome == Success && r.Streaming {
		for i := 1; i < len(r.Content); i++ {
			gaps.observe(Seconds(r.Content[i] - r.Content[i-1]))
		}
	}
	return gaps
}

func (s *Store) forgetGaps(gaps *histogram) {
	gaps.reset()
	s.spareGaps.Put(gaps)
}

// observe adds a request and its gaps. The lock of the target is held.
func (h *histograms) observe(r *Record, m *Measures, gaps *histogram) {
	for i := range h.feeds {
		value := h.feeds[i].of(r, m)
		if !value.Defined {
			continue
		}
		to := &h.all[h.feeds[i].to]
		at := to.observe(value.V)
		if len(to.exemplars) > 0 && r.RequestID != "" {
			to.exemplars[at] = exemplar{value.V, r.Time.End, r.RequestID, r.Trace}
		}
	}
	if h.gaps >= 0 {
		h.all[h.gaps].merge(gaps)
	}
}

func observe(o prometheus.Observer, v Value) {
	if v.Defined {
		o.Observe(v.V)
	}
}

// observe takes from a record what concerns the process as a whole.
func (p *process) observe(r *Record) {
	observe(p.lag, between(r.Time.Sched, r.Time.Sent))
	observe(p.dnsIn, between(r.Time.DNSStart, r.Time.DNSDone))
}
