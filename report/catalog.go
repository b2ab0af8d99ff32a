package report

import "github.com/aiperf-exporter/aiperf-exporter/metrics"

// definition is one figure: AIPerf's tag, heading and unit, and where its values come from: each request (values) or the run (scalar).
type definition struct {
	tag, header, unit string
	part              part
	of                population
	list              bool // a request has many values
	values            func(dst []float64, s *sample) []float64
	scalar            func(t *totals) (float64, bool)
}

// part is where a figure stands in the JSON file.
type part int

const (
	leading  part = iota // before the run's description
	trailing             // after it
	extra                // under "exporter"
)

// population says which requests a figure is computed from; warm-up is in none.
type population int

const (
	successes population = iota
	failures
	everyone
)

func (p population) has(outcome metrics.Outcome) bool {
	switch p {
	case successes:
		return outcome == metrics.Success
	case failures:
		return outcome == metrics.Failure
	case everyone:
	}
	return true
}

// catalog lists all figures in the order of the JSON file, the leading ones as AIPerf has them.
var catalog = []definition{
	{
		tag: "request_throughput", header: "Request Throughput", unit: "requests/sec",
		scalar: perSecond(func(t *totals) float64 { return float64(t.successes) }),
	},
	{
		tag: "request_latency", header: "Request Latency", unit: "ms",
		values: latency(func(m *measures) value { return m.RequestLatency }),
	},
	{
		tag: "request_count", header: "Request Count", unit: "requests",
		scalar: func(t *totals) (float64, bool) { return float64(t.successes), true },
	},
	{
		tag: "time_to_first_token", header: "Time to First Token", unit: "ms",
		values: latency(func(m *measures) value { return m.TTFT }),
	},
	{
		tag: "time_to_second_token", header: "Time to Second Token", unit: "ms",
		values: latency(func(m *measures) value { return m.TTST }),
	},
	{
		tag: "inter_token_latency", header: "Inter Token Latency", unit: "ms",
		values: latency(func(m *measures) value { return m.ITL }),
	},
	{
		tag: "output_token_throughput", header: "Output Token Throughput", unit: "tokens/sec",
		scalar: sumPerSecond("output_sequence_length"),
	},
	{
		tag: "output_token_throughput_per_user", header: "Output Token Throughput Per User", unit: "tokens/sec/user",
		values: figure(func(m *measures) value { return m.PerUserRate }),
	},
	{
		tag: "output_sequence_length", header: "Output Sequence Length", unit: "tokens",
		values: figure(func(m *measures) value { return m.OutputTokens }),
	},
	{
		tag: "input_sequence_length", header: "Input Sequence Length", unit: "tokens",
		values: figure(func(m *measures) value { return m.InputTokens }),
	},
	{tag: "goodput", header: "Goodput", unit: "requests/sec", scalar: goodput},
	{
		tag: "good_request_count", header: "Good Request Count", unit: "requests",
		scalar: func(t *totals) (float64, bool) { return float64(t.good), t.judged },
	},
	{tag: "output_token_count", header: "Output Token Count", unit: "tokens", values: visibleTokens},
	{
		tag: "reasoning_token_count", header: "Reasoning Token Count", unit: "tokens",
		values: figure(func(m *measures) value { return m.ReasoningTokens }),
	},
	{tag: "inter_chunk_latency", header: "Inter Chunk Latency", unit: "ms", list: true, values: chunkGaps},
	{tag: "total_output_tokens", header: "Total Output Tokens", unit: "tokens", scalar: sum("output_token_count")},
	{
		tag: "total_reasoning_tokens", header: "Total Reasoning Tokens", unit: "tokens",
		scalar: sum("reasoning_token_count"),
	},
	{
		tag: "benchmark_duration", header: "Benchmark Duration", unit: "sec",
		scalar: func(t *totals) (float64, bool) { return t.valid.seconds(), t.valid.any },
	},
	{tag: "total_isl", header: "Total Input Sequence Length", unit: "tokens", scalar: sum("input_sequence_length")},
	{tag: "total_osl", header: "Total Output Sequence Length", unit: "tokens", scalar: sum("output_sequence_length")},
	{
		tag: "error_request_count", header: "Error Request Count", unit: "requests",
		scalar: func(t *totals) (float64, bool) { return float64(t.failures), t.failures > 0 },
	},
	{
		tag: "error_isl", header: "Error Input Sequence Length", unit: "tokens", of: failures,
		values: figure(func(m *measures) value { return m.InputTokens }),
	},
	{tag: "total_error_isl", header: "Total Error Input Sequence Length", unit: "tokens", scalar: sum("error_isl")},

	{
		part: trailing, tag: "time_to_first_output_token", header: "Time to First Output Token", unit: "ms",
		values: latency(func(m *measures) value { return m.TTFO }),
	},
	{
		part: trailing, tag: "decode_duration", header: "Decode Duration", unit: "ms",
		values: latency(func(m *measures) value { return m.DecodeDuration }),
	},
	{
		part: trailing, tag: "e2e_output_token_throughput", header: "E2E Output Token Throughput", unit: "tokens/sec/user",
		values: figure(func(m *measures) value { return m.E2ERate }),
	},
	{
		part: trailing, tag: "prefill_throughput_per_user", header: "Prefill Throughput Per User", unit: "tokens/sec/user",
		values: figure(func(m *measures) value { return m.PrefillRate }),
	},
	{
		part: trailing, tag: "http_req_blocked", header: "HTTP Blocked", unit: "ms",
		values: connected(func(m *measures) float64 { return m.Phases.Blocked.V }),
	},
	{
		part: trailing, tag: "http_req_dns_lookup", header: "HTTP DNS Lookup", unit: "ms",
		values: connected(func(m *measures) float64 { return m.Phases.DNS.V }),
	},
	{part: trailing, tag: "http_req_connecting", header: "HTTP Connecting", unit: "ms", values: connected(connecting)},
	{
		part: trailing, tag: "http_req_sending", header: "HTTP Sending", unit: "ms",
		values: latency(func(m *measures) value { return m.Phases.Send }),
	},
	{
		part: trailing, tag: "http_req_waiting", header: "HTTP Waiting (TTFB)", unit: "ms",
		values: latency(func(m *measures) value { return m.Phases.Wait }),
	},
	{
		part: trailing, tag: "http_req_receiving", header: "HTTP Receiving", unit: "ms",
		values: latency(func(m *measures) value { return m.Phases.Receive }),
	},
	{
		part: trailing, tag: "http_req_duration", header: "HTTP Duration (excl. conn)", unit: "ms",
		values: connected(exchange),
	},
	{
		part: trailing, tag: "http_req_connection_overhead", header: "HTTP Connection Overhead", unit: "ms",
		values: connected(overhead),
	},
	{
		part: trailing, tag: "http_req_total", header: "HTTP Total Time", unit: "ms",
		values: connected(func(m *measures) float64 { return overhead(m) + exchange(m) }),
	},
	{part: trailing, tag: "http_req_connection_reused", header: "HTTP Connection Reused", unit: "ratio", values: reused},
	{
		part: trailing, tag: "http_req_data_sent", header: "HTTP Data Sent", unit: "KB",
		values: kibibytes(func(r *metrics.Record) int64 { return r.RequestBytes }),
	},
	{
		part: trailing, tag: "http_req_data_received", header: "HTTP Data Received", unit: "KB",
		values: kibibytes(func(r *metrics.Record) int64 { return r.ResponseBytes }),
	},
	{
		part: trailing, tag: "usage_prompt_tokens", header: "Usage Prompt Tokens", unit: "tokens",
		values: told(func(u *metrics.Usage) metrics.Count { return u.Input }),
	},
	{
		part: trailing, tag: "usage_prompt_cache_read_tokens", header: "Usage Prompt Cache Read Tokens", unit: "tokens",
		values: told(func(u *metrics.Usage) metrics.Count { return u.CachedInput }),
	},
	{
		part: trailing, tag: "usage_prompt_cache_write_tokens", header: "Usage Prompt Cache Write Tokens", unit: "tokens",
		values: told(func(u *metrics.Usage) metrics.Count { return u.CacheWrite }),
	},
	{
		part: trailing, tag: "usage_completion_tokens", header: "Usage Completion Tokens", unit: "tokens",
		values: told(func(u *metrics.Usage) metrics.Count { return u.Output }),
	},
	{
		part: trailing, tag: "usage_reasoning_tokens", header: "Usage Reasoning Tokens", unit: "tokens",
		values: told(func(u *metrics.Usage) metrics.Count { return u.Reasoning }),
	},
	{
		part: trailing, tag: "usage_total_tokens", header: "Usage Total Tokens", unit: "tokens",
		values: told(inputAndOutput),
	},
	{part: trailing, tag: "osl_mismatch_diff_pct", header: "OSL Mismatch Diff %", unit: "%", values: lengthErrorPercent},
	{
		part: trailing, tag: "osl_mismatch_count", header: "OSL Mismatch Count", unit: "requests",
		scalar: func(t *totals) (float64, bool) { return float64(t.wrong), t.lengths > 0 },
	},
	{
		part: trailing, tag: "completed_request_count", header: "Completed Requests (Success + Error)", unit: "requests",
		scalar: func(t *totals) (float64, bool) { return t.completed(), true },
	},
	{
		part: trailing, tag: "request_error_rate", header: "Request Error Rate", unit: "%",
		scalar: func(t *totals) (float64, bool) { return share(100*float64(t.failures), t.completed()) },
	},
	{
		part: trailing, tag: "context_overflow_count", header: "Context Overflow Count", unit: "requests",
		scalar: func(t *totals) (float64, bool) { return float64(t.overflows), t.failures > 0 },
	},
	{part: trailing, tag: "good_request_fraction", header: "GoodRequestFraction", unit: "ratio", scalar: goodFraction},
	{
		part: trailing, tag: "total_usage_prompt_tokens", header: "Total Usage Prompt Tokens", unit: "tokens",
		scalar: sum("usage_prompt_tokens"),
	},
	{
		part: trailing, tag: "total_usage_prompt_cache_read_tokens", header: "Total Usage Prompt Cache Read Tokens", unit: "tokens",
		scalar: sum("usage_prompt_cache_read_tokens"),
	},
	{
		part: trailing, tag: "total_usage_prompt_cache_write_tokens", header: "Total Usage Prompt Cache Write Tokens", unit: "tokens",
		scalar: sum("usage_prompt_cache_write_tokens"),
	},
	{
		part: trailing, tag: "overall_usage_prompt_cache_read_pct", header: "Overall Usage Prompt Cache Read %", unit: "%",
		scalar: cacheReadPercent,
	},
	{
		part: trailing, tag: "total_usage_completion_tokens", header: "Total Usage Completion Tokens", unit: "tokens",
		scalar: sum("usage_completion_tokens"),
	},
	{
		part: trailing, tag: "total_usage_reasoning_tokens", header: "Total Usage Reasoning Tokens", unit: "tokens",
		scalar: sum("usage_reasoning_tokens"),
	},
	{
		part: trailing, tag: "total_usage_total_tokens", header: "Total Usage Total Tokens", unit: "tokens",
		scalar: sum("usage_total_tokens"),
	},
	{
		part: trailing, tag: "total_token_throughput", header: "Total Token Throughput", unit: "tokens/sec",
		scalar: sumPerSecond("input_sequence_length", "output_sequence_length"),
	},
	{
		part: trailing, tag: "input_token_throughput", header: "Input Token Throughput", unit: "tokens/sec",
		scalar: sumPerSecond("input_sequence_length"),
	},
	{
		part: trailing, tag: "credit_to_start_latency", header: "Credit-to-Start Latency", unit: "ms", of: everyone,
		values: latency(func(m *measures) value { return m.DispatchDelay }),
	},
	{
		part: trailing, tag: "effective_latency", header: "Effective Latency (CO-aware)", unit: "ms",
		values: latency(func(m *measures) value { return m.EffectiveLatency }),
	},

	{
		part: extra, tag: "schedule_delay", header: "Schedule Delay", unit: "ms", of: everyone,
		values: latency(func(m *measures) value { return m.ScheduleDelay }),
	},
	{
		part: extra, tag: "time_to_first_event", header: "Time to First Event", unit: "ms",
		values: latency(func(m *measures) value { return m.FirstEvent }),
	},
	{
		part: extra, tag: "stream_setup_latency", header: "Stream Setup Latency", unit: "ms",
		values: latency(func(m *measures) value { return m.StreamSetup }),
	},
	{
		part: extra, tag: "http_req_tls_handshaking", header: "HTTP TLS Handshaking", unit: "ms",
		values: latency(func(m *measures) value { return m.Phases.TLS }),
	},
	{
		part: extra, tag: "error_duration", header: "Error Duration", unit: "ms", of: failures,
		values: latency(func(m *measures) value { return m.Total }),
	},
}
