package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// histograms are the per-request histograms of a target, resolved once.
type histograms struct {
	ttft, ttfo, firstEvent, ttst, itl, icl          prometheus.Observer
	duration                                        map[Outcome]prometheus.Observer
	effective, schedule, dispatch, decode, setup    prometheus.Observer
	input, output, reasoning, perUser, e2e, prefill prometheus.Observer
	blocked, dns, connect, tls, send, wait, receive prometheus.Observer
}

func newHistograms(s *Store, base []string) histograms {
	child := func(name string, labels ...string) prometheus.Observer {
		return s.vecs[name].WithLabelValues(slices.Concat(base, labels)...)
	}
	phase := func(name string) prometheus.Observer { return child("aiperf_http_phase_seconds", name) }
	h := histograms{
		ttft:       child("aiperf_time_to_first_token_seconds"),
		ttfo:       child("aiperf_time_to_first_output_token_seconds"),
		firstEvent: child("aiperf_time_to_first_event_seconds"),
		ttst:       child("aiperf_second_token_gap_seconds"),
		itl:        child("aiperf_inter_token_latency_seconds"),
		icl:        child("aiperf_inter_chunk_latency_seconds"),
		duration:   map[Outcome]prometheus.Observer{},
		effective:  child("aiperf_effective_latency_seconds"),
		schedule:   child("aiperf_schedule_delay_seconds"),
		dispatch:   child("aiperf_dispatch_delay_seconds"),
		decode:     child("aiperf_decode_duration_seconds"),
		setup:      child("aiperf_stream_setup_seconds"),
		input:      child("aiperf_input_tokens"),
		output:     child("aiperf_output_tokens"),
		reasoning:  child("aiperf_reasoning_tokens"),
		perUser:    child("aiperf_output_tokens_per_second_per_user"),
		e2e:        child("aiperf_e2e_output_tokens_per_second_per_user"),
		prefill:    child("aiperf_prefill_tokens_per_second_per_user"),
		blocked:    phase("blocked"),
		dns:        phase("dns"),
		connect:    phase("connect"),
		tls:        phase("tls"),
		send:       phase("send"),
		wait:       phase("wait"),
		receive:    phase("receive"),
	}
	for _, outcome := range Outcomes {
		h.duration[outcome] = child("aiperf_request_duration_seconds", string(outcome))
	}
	return h
}

func (h *histograms) observe(r *Record, m *Measures) {
	exemplar := prometheus.Labels{"request_id": r.RequestID}
	traced := func(o prometheus.Observer, v Value) {
		if !v.Defined {
			return
		}
		if eo, ok := o.(prometheus.ExemplarObserver); ok && r.RequestID != "" {
			eo.ObserveWithExemplar(v.V, exemplar)
			return
		}
		o.Observe(v.V)
	}
	h.observeTransport(m)
	if r.Outcome != Success {
		traced(h.duration[r.Outcome], m.Total)
		return
	}
	traced(h.duration[Success], m.RequestLatency)
	traced(h.effective, m.EffectiveLatency)
	traced(h.ttft, m.TTFT)
	traced(h.itl, m.ITL)
	observe(h.ttfo, m.TTFO)
	observe(h.firstEvent, m.FirstEvent)
	observe(h.ttst, m.TTST)
	observe(h.decode, m.DecodeDuration)
	observe(h.setup, m.StreamSetup)
	observe(h.input, m.InputTokens)
	observe(h.output, m.OutputTokens)
	observe(h.reasoning, m.ReasoningTokens)
	observe(h.perUser, m.PerUserRate)
	observe(h.e2e, m.E2ERate)
	observe(h.prefill, m.PrefillRate)
	if r.Streaming {
		for i := 1; i < len(r.Content); i++ {
			h.icl.Observe(Seconds(r.Content[i] - r.Content[i-1]))
		}
	}
}

func (h *histograms) observeTransport(m *Measures) {
	observe(h.schedule, m.ScheduleDelay)
	observe(h.dispatch, m.DispatchDelay)
	observe(h.blocked, m.Phases.Blocked)
	observe(h.dns, m.Phases.DNS)
	observe(h.connect, m.Phases.Connect)
	observe(h.tls, m.Phases.TLS)
	observe(h.send, m.Phases.Send)
	observe(h.wait, m.Phases.Wait)
	observe(h.receive, m.Phases.Receive)
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
