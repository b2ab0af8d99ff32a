package probe

import (
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The series of this room on /metrics.
const (
	requestsSeries = "aiperf_exporter_probe_requests_total"
	rejectedSeries = "aiperf_exporter_probe_rejected_total"
)

// Values of the label result.
const (
	resultSuccess   = "success"
	resultFailure   = "error"
	resultCancelled = "cancelled"
)

var results = []string{resultSuccess, resultFailure, resultCancelled}

func reasonNames() []string {
	out := make([]string, 0, len(reasons))
	for _, known := range reasons {
		out = append(out, string(known.reason))
	}
	return out
}

// Table lists the series of Families, which are on /metrics.
func Table() []metrics.Series {
	return []metrics.Series{
		{
			Name: requestsSeries, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "requests",
			Labels: []metrics.Label{{Name: "module"}, {Name: "result", Values: results}},
			Help:   "Probes that sent a request, by module, none where a configured target was asked what it is always asked; cancelled are those whose scraper went away.",
		},
		{
			Name: rejectedSeries, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "requests",
			Labels: []metrics.Label{{Name: "reason", Values: reasonNames()}},
			Help:   "Probes that were refused, so that nothing was sent, by reason.",
		},
	}
}

// answerSeries is a series of an answer of /probe.
type answerSeries struct {
	metrics.Series
	// of gives its values; no child where something is not defined.
	of func(r *Result) []child
}

// child is one value of a series.
type child struct {
	value  float64
	labels []string
}

// AnswerTable lists the series that an answer of /probe may have. They are nowhere else.
func AnswerTable() []metrics.Series {
	out := make([]metrics.Series, 0, len(answered))
	for i := range answered {
		s := answered[i].Series
		s.Kind, s.Scope = metrics.Gauge, metrics.PerProcess
		out = append(out, s)
	}
	return out
}

// one is a value that is always there.
func one(v float64) []child { return []child{{value: v}} }

// defined is a value that is there if it can be told.
func defined(v metrics.Value, labels ...string) []child {
	if !v.Defined {
		return nil
	}
	return []child{{v.V, labels}}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// answered is the table.
var answered = []answerSeries{
	{
		metrics.Series{Name: "probe_success", Help: "1 if the request succeeded: answered whole, in time, as the protocol has it, and as expect says; else 0. Objectives do not count."},
		func(r *Result) []child { return one(truth(r.outcome() == resultSuccess)) },
	},
	{
		metrics.Series{Name: "probe_duration_seconds", Unit: "seconds", Help: "Time that the whole probe took, the making of the request included."},
		func(r *Result) []child { return one(r.duration.Seconds()) },
	},
	{
		metrics.Series{Name: "probe_timeout_seconds", Unit: "seconds", Help: "Time that the probe had: the limit of the module, or what the scraper waits less probe.timeout_offset, whichever is shorter."},
		func(r *Result) []child { return one(r.timeout.Seconds()) },
	},
	{
		metrics.Series{Name: "aiperf_probe_time_to_first_token_seconds", Unit: "seconds", Help: "Time from the start of the request to its first token, reasoning included. Absent without one, and where no stream came."},
		func(r *Result) []child { return defined(r.measures.TTFT) },
	},
	{
		metrics.Series{Name: "aiperf_probe_time_to_first_output_token_seconds", Unit: "seconds", Help: "Time from the start of the request to its first token that is not reasoning. Absent without one."},
		func(r *Result) []child { return defined(r.measures.TTFO) },
	},
	{
		metrics.Series{Name: "aiperf_probe_inter_token_latency_seconds", Unit: "seconds", Help: "Mean time per output token after the first. Absent without exact counts of two tokens or more."},
		func(r *Result) []child { return defined(r.measures.ITL) },
	},
	{
		metrics.Series{Name: "aiperf_probe_request_latency_seconds", Unit: "seconds", Help: "Time from the start of the request to its last token. Absent without any."},
		func(r *Result) []child { return defined(r.measures.RequestLatency) },
	},
	{
		metrics.Series{Name: "aiperf_probe_phase_seconds", Unit: "seconds", Labels: []metrics.Label{{Name: "phase", Values: metrics.HTTPPhases}}, Help: "Time that a part of the HTTP exchange took: wait is from the request written to the first byte, receive from the header to the end. Absent for parts that did not happen or end."},
		phases,
	},
	{
		metrics.Series{Name: "aiperf_probe_tokens", Unit: "tokens", Labels: []metrics.Label{{Name: "token_type", Values: metrics.TokenTypes}}, Help: "Tokens of the request, as far as they are known; reasoning is part of output, cached_input and cache_write of input."},
		tokens,
	},
	{
		metrics.Series{Name: "aiperf_probe_response_bytes", Unit: "bytes", Help: "Bytes of the body of the answer."},
		func(r *Result) []child { return one(float64(r.record.ResponseBytes)) },
	},
	{
		metrics.Series{Name: "aiperf_probe_http_status_code", Help: "Status of HTTP of the answer; 0 = none came."},
		func(r *Result) []child { return one(float64(r.record.Status)) },
	},
	{
		metrics.Series{Name: "probe_ip_protocol", Help: "Version of IP of the connection, 4 or 6, to the server or to its proxy. Absent without one."},
		func(r *Result) []child {
			switch r.record.IPFamily {
			case metrics.IPv4:
				return one(4)
			case metrics.IPv6:
				return one(6)
			}
			return nil
		},
	},
	{
		metrics.Series{Name: "aiperf_probe_error_info", Labels: []metrics.Label{{Name: "error_class", Values: errorClasses()}}, Help: "1, with the class of the failure. Absent for a success."},
		func(r *Result) []child {
			if r.record.Outcome != metrics.Failure {
				return nil
			}
			return []child{{1, []string{string(r.record.Class)}}}
		},
	},
	{
		metrics.Series{Name: "aiperf_probe_slo_good", Labels: []metrics.Label{{Name: "slo"}}, Help: "1 if the request kept every limit of the objective, else 0; a failure keeps none."},
		verdicts,
	},
	{
		metrics.Series{Name: "aiperf_probe_ssl_earliest_cert_expiry_timestamp_seconds", Unit: "seconds", Help: "Unix time at which the first of the certificates ends that the server has shown. Absent without TLS, and where the handshake failed."},
		func(r *Result) []child {
			if r.record.CertsExpire.IsZero() {
				return nil
			}
			return one(float64(r.record.CertsExpire.Unix()))
		},
	},
}

func errorClasses() []string {
	out := make([]string, 0, len(metrics.ErrorClasses))
	for _, class := range metrics.ErrorClasses {
		out = append(out, string(class))
	}
	return out
}

func phases(r *Result) []child {
	p := &r.measures.Phases
	out := make([]child, 0, len(metrics.HTTPPhases))
	for i, v := range []metrics.Value{p.Blocked, p.DNS, p.Connect, p.TLS, p.Send, p.Wait, p.Receive} { // the order of HTTPPhases
		out = append(out, defined(v, metrics.HTTPPhases[i])...)
	}
	return out
}

func tokens(r *Result) []child {
	u := &r.record.Usage
	out := make([]child, 0, len(metrics.TokenTypes))
	for i, c := range []metrics.Count{u.Input, u.Output, u.Reasoning, u.CachedInput, u.CacheWrite} { // the order of TokenTypes
		out = append(out, defined(metrics.Value{V: float64(c.N), Defined: c.Known}, metrics.TokenTypes[i])...)
	}
	return out
}

func verdicts(r *Result) []child {
	out := make([]child, 0, len(r.verdicts))
	for _, v := range r.verdicts {
		out = append(out, child{truth(v.Good), []string{v.SLO}})
	}
	return out
}
