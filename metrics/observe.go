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

// histograms are the per-request histograms of a target, resolved once.
type histograms struct {
	perRequest []histogram
	gaps       prometheus.Observer
}

// histogram is one child and what it shows.
type histogram struct {
	child    prometheus.Observer
	of       observation
	exemplar bool
}

func newHistograms(s *Store, base []string) histograms {
	var h histograms
	for i := range s.series {
		series := &s.series[i]
		vec := s.vecs[series.Name]
		for _, label := range slices.Sorted(maps.Keys(series.observe)) {
			labels := slices.Clone(base)
			if label != "" {
				labels = append(labels, label)
			}
			h.perRequest = append(h.perRequest, histogram{vec.WithLabelValues(labels...), series.observe[label], series.Exemplars})
		}
	}
	h.gaps = s.vecs["aiperf_inter_chunk_latency_seconds"].WithLabelValues(base...)
	return h
}

func (h *histograms) observe(r *Record, m *Measures) {
	exemplar := prometheus.Labels{"request_id": r.RequestID}
	for i := range h.perRequest {
		child := &h.perRequest[i]
		value := child.of(r, m)
		if !value.Defined {
			continue
		}
		if observer, ok := child.child.(prometheus.ExemplarObserver); ok && child.exemplar && r.RequestID != "" {
			observer.ObserveWithExemplar(value.V, exemplar)
		} else {
			child.child.Observe(value.V)
		}
	}
	if r.Outcome != Success || !r.Streaming {
		return
	}
	for i := 1; i < len(r.Content); i++ {
		h.gaps.Observe(Seconds(r.Content[i] - r.Content[i-1]))
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
