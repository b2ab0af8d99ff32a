package main

import "github.com/aiperf-exporter/aiperf-exporter/dashboards/board"

// sweepColours are those of the phases of the throughput over time.
func sweepColours() []board.Named {
	return board.Colours("prefill", board.Prefill, "decode", board.Decode, "total", board.Total, "queued", board.Queue)
}

// dropColours are those of the reasons for which arrivals are dropped: warm for a server that is too slow, purple for faults of the exporter, grey
// for what is intended.
func dropColours() []board.Named {
	return board.Colours(
		"in_flight", board.Worse, "queue_full", board.Bad, "queue_timeout", board.Colour("dark-orange"), "overlap", board.Warning,
		"scheduler_late", board.Colour("purple"), "global_limit", board.Colour("dark-purple"), "budget", board.Absent, "backoff", board.Colour("#b8b8b8"),
	)
}

// errorColours are those of error classes: purple for the way to the server, orange for time that ran out, red for what it refused, blue for answers
// that are not right, grey for our own.
func errorColours() []board.Named {
	return board.Colours(
		"dns", board.Colour("super-light-purple"), "connect", board.Colour("purple"), "tls", board.Colour("light-purple"), "timeout_connect", board.Colour("dark-purple"),
		"timeout_first_token", board.Colour("orange"), "timeout_idle", board.Colour("light-orange"), "timeout_total", board.Colour("dark-orange"),
		"http_3xx", board.Colour("super-light-red"), "http_4xx", board.Colour("light-red"), "http_429", board.Warning, "http_5xx", board.Bad,
		"stream_error", board.Colour("dark-red"), "truncated", board.Colour("dark-blue"), "parse", board.Colour("semi-dark-blue"), "empty", board.Colour("light-blue"),
		"content_check", board.Colour("blue"), "context_overflow", board.Colour("super-light-blue"), "response_too_large", board.Colour("#14B8A6"),
		"client_internal", board.Absent,
	)
}

func targetThroughput() []board.Panel {
	return []board.Panel{
		{
			Key: "effective-throughput", Title: "Effective throughput", W: 8, H: 8, Unit: board.TokensPerSecond, Form: board.Lines{}, Min: new(0.0), Named: sweepColours(),
			Help:    "Tokens per second over all of the time: what came out. For a slow probe it says how little was asked, not how fast the server is.",
			Queries: []board.Query{{Legend: "{{phase}}", Expr: ql(`sum by (phase) (workload:aiperf_phase_throughput_effective:tokens_per_second${window}{A})`)}},
		},
		{
			Key: "active-throughput", Title: "Active throughput", W: 8, H: 8, Unit: board.TokensPerSecond, Form: board.Lines{}, Min: new(0.0), Named: sweepColours(),
			Help:    "Tokens per second over the time in which something was in the phase: what the server does while there is work. This is the one to watch for probes.",
			Queries: []board.Query{{Legend: "{{phase}}", Expr: ql(`max by (phase) (workload:aiperf_phase_throughput_active:tokens_per_second${window}{A})`)}},
		},
		{
			Key: "user-speed", Title: "Speed that a user sees", W: 8, H: 8, Unit: board.TokensPerSecond, Form: board.Lines{}, Min: new(0.0),
			Help:    "Tokens per second of single requests, the inverse of the inter-token latency. Here the low quantiles are the slow users." + readQuantiles,
			Queries: userSpeed(),
		},
		{
			Key: "concurrency", Title: "Requests at the same time", W: 8, H: 7, Unit: board.Count, Form: board.Lines{}, Min: new(0.0), Named: sweepColours(),
			Help:    "Mean number of requests in each phase over the window. Prefill near 1 and more all the time means that requests wait for their first token longer than they should.",
			Queries: []board.Query{{Legend: "{{phase}}", Expr: ql(`sum by (phase) (workload:aiperf_phase_concurrency:mean${window}{A})`)}},
		},
		{
			Key: "duty", Title: "Share of the time with work", W: 8, H: 7, Unit: board.Share, Form: board.Lines{}, Min: new(0.0), Max: new(1.0), Named: sweepColours(),
			Help: "How much of the time something was in each phase: effective over active throughput. At 100 % the load is never idle.",
			Queries: []board.Query{{Legend: "{{phase}}", Expr: ql(
				`avg by (phase) (rate(aiperf_phase_active_seconds_total{A}[$window]) / on (A) group_left () (sum by (A) (rate(aiperf_sweep_settled_seconds_total{A}[$window])) > 0))`)}},
		},
		{
			Key: "finish", Title: "Why answers ended", W: 8, H: 7, Unit: board.Requests, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "Successful requests by the server's reason. stop and length are as asked; content_filter or a sudden change of the mix is another model or another template.",
			Queries: []board.Query{{Legend: "{{reason}}", Expr: ql(`sum by (reason) (rate(aiperf_finish_reasons_total{A}[$window])) > 0`)}},
		},
		{
			Key: "isl", Title: "Input tokens", W: 8, H: 8, Unit: board.Tokens, Form: board.Heat{},
			Help:    "Length of prompts. It is the load's doing: where it moves, times to first token move with it.",
			Queries: []board.Query{{Legend: "{{le}}", Expr: heat("aiperf_input_tokens", "{A}")}},
		},
		{
			Key: "osl", Title: "Output tokens", W: 8, H: 8, Unit: board.Tokens, Form: board.Heat{},
			Help:    "Length of answers, reasoning included. Shorter answers make durations look better and speeds noisier.",
			Queries: []board.Query{{Legend: "{{le}}", Expr: heat("aiperf_output_tokens", "{A}")}},
		},
		{
			Key: "sources", Title: "Where token counts come from", W: 8, H: 8, Unit: board.Requests, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help: "usage is the server's own count, tokenizer ours; events and dataset are estimates, with which speeds are estimates, too. Late tokens (right axis) came after the time they belong to and are in no histogram.",
			Queries: []board.Query{
				{Legend: "{{token_type}}: {{source}}", Expr: ql(`sum by (token_type, source) (rate(aiperf_token_source_total{A}[$window])) > 0`)},
				{
					Legend: "late tokens", Style: board.Style{Colour: board.Residual, Unit: board.TokensPerSecond, Right: true, Dashed: true},
					Expr: ql(`sum(rate(aiperf_sweep_late_tokens_total{A}[$window]))`),
				},
			},
		},
	}
}

// userSpeed is gated like all quantiles; of speeds the low ones are the bad ones, and need as many values below them.
func userSpeed() []board.Query {
	const speed = "aiperf_output_tokens_per_second_per_user"
	low := func(q float64) string {
		return quantile(q, speed, "{A}", "", "$window")
	}
	return []board.Query{
		{Legend: "p50", Style: board.Style{Colour: board.P50}, Expr: low(0.5)},
		{Legend: "p10", Style: board.Style{Colour: board.P90}, Expr: low(0.1)},
		{Legend: "p5", Style: board.Style{Colour: board.P95}, Expr: low(0.05)},
	}
}

func targetLoad() []board.Panel {
	return []board.Panel{
		{
			Key: "errors-classes", Title: "Failed requests by class", W: 8, H: 8, Unit: board.Share, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "Share of the requests of the window, by what went wrong. The exporter's page of the target shows single failures with their ids.",
			Named:   errorColours(),
			Queries: []board.Query{{Legend: "{{error_class}}", Expr: ql(`sum by (error_class) (workload:aiperf_request_errors:ratio${window}{A}) > 0`)}},
			Empty:   "no failures",
		},
		{
			Key: "codes", Title: "Answers by HTTP status", W: 8, H: 8, Unit: board.Requests, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "Answers per second by status code. 429: the server or a gateway limits us; 503: no capacity; 502 and 504: a proxy speaks, not the model server.",
			Named:   board.Colours("200", board.Good, "429", board.Warning, "500", board.Bad, "502", board.Page, "503", board.Worse, "504", board.Colour("light-red")),
			Queries: []board.Query{{Legend: "{{code}}", Expr: ql(`sum by (code) (rate(aiperf_http_responses_total{A}[$window])) > 0`)}},
		},
		{
			Key: "checks", Title: "Answers that are not as they should be", W: 8, H: 8, Unit: board.Count, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help: "Checks that failed, answers to fixed questions that changed, answers of another length than asked, in the window. Speed without right answers is worth nothing.",
			Queries: []board.Query{
				{Legend: "check {{check}}", Expr: ql(`sum by (check) (increase(aiperf_answer_check_failures_total{A}[$window]))`)},
				{Legend: "changed answer", Expr: ql(`sum(increase(aiperf_output_fingerprint_total{A,result="changed"}[$window]))`)},
				{Legend: "other length than asked", Expr: ql(`sum(increase(aiperf_osl_mismatch_total{A}[$window]))`)},
			},
			Empty: "no checks are configured",
		},
		{
			Key: "arrivals", Title: "Wanted, sent, finished", W: 12, H: 8, Unit: board.Requests, Form: board.Lines{}, Min: new(0.0),
			Help: "What the load wants, what was sent, what came back. Sent below wanted: requests are dropped. Finished below sent: they pile up in the server.",
			Queries: []board.Query{
				{Legend: "load's rate", Style: board.Style{Colour: board.Absent, Dashed: true}, Expr: ql(`sum(aiperf_load_target_rate{A})`)},
				{Legend: "wanted", Style: board.Style{Colour: board.Warning}, Expr: ql(`sum(rate(aiperf_arrivals_total{A}[$window]))`)},
				{Legend: "sent", Style: board.Style{Colour: board.Client}, Expr: ql(`sum(rate(aiperf_arrivals_sent_total{A}[$window]))`)},
				{Legend: "finished", Style: board.Style{Colour: board.Good}, Expr: ql(`sum(rate(aiperf_requests_total{A}[$window]))`)},
			},
		},
		{
			Key: "dropped", Title: "Arrivals that were never sent", W: 6, H: 8, Unit: board.Share, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "Share of the wanted requests, by reason. in_flight, queue_full, queue_timeout and overlap: the server is too slow for the load, they count as bad. budget and backoff are intended.",
			Named:   dropColours(),
			Queries: []board.Query{{Legend: "{{reason}}", Expr: ql(`sum by (reason) (workload:aiperf_arrivals_dropped:ratio${window}{A}) > 0`)}},
			Empty:   "nothing dropped",
		},
		{
			Key: "inflight", Title: "Requests under way", W: 6, H: 8, Unit: board.Count, Form: board.Lines{Stacked: true}, Min: new(0.0), Named: sweepColours(),
			Help:    "Requests now: queued here, waiting for the first token, streaming. Many in prefill: the server queues them.",
			Queries: []board.Query{{Legend: "{{phase}}", Expr: ql(`sum by (phase) (aiperf_inflight_requests{A})`)}},
		},
	}
}

func targetPast() []board.Panel {
	const rule = "workload:" + ttft
	return []board.Panel{
		{
			Key: "past", Title: "Median time to first token now, a day and a week ago", W: 12, H: 8, Unit: board.Seconds, Form: board.Lines{Log: true},
			Help: "Medians of six hours. Equal lines: as always at this time of day. The first above both: slower than its own past, whatever the SLO says.",
			Queries: []board.Query{
				{Legend: "now", Style: board.Style{Colour: board.Client}, Expr: ql(`exp(max(%s:ln_median6h{A}))`, rule)},
				{Legend: "a day ago", Style: board.Style{Colour: board.Server, Dashed: true}, Expr: ql(`exp(max(%s:ln_median6h{A} offset 1d))`, rule)},
				{Legend: "a week ago", Style: board.Style{Colour: board.Absent, Dashed: true}, Expr: ql(`exp(max(%s:ln_median6h{A} offset 7d))`, rule)},
			},
			Empty: "fewer than 60 requests in 6 h",
		},
		{
			Key: "past-band", Title: "Median against its usual range", W: 6, H: 8, Unit: board.Seconds, Form: board.Lines{Log: true},
			Help: "The band is where the median of this hour was on 19 of 20 of the last 14 days. Outside for hours: something changed.",
			Queries: []board.Query{
				{Legend: "usual, upper end", Style: board.Style{Colour: board.Absent, Band: "usual, lower end"}, Expr: ql(`exp(max(%[1]s:ln_median6h_base14d{A} + 2 * %[1]s:ln_median6h_sd14d{A}))`, rule)},
				{Legend: "usual, lower end", Style: board.Style{Colour: board.Absent}, Expr: ql(`exp(max(%[1]s:ln_median6h_base14d{A} - 2 * %[1]s:ln_median6h_sd14d{A}))`, rule)},
				{Legend: "now", Style: board.Style{Colour: board.Client}, Expr: ql(`exp(max(%s:ln_median6h{A}))`, rule)},
			},
			Empty: "needs 7 days",
		},
		{
			Key: "regression", Title: "Slower than the last 14 days?", W: 6, H: 8, Unit: board.Plain, Form: board.Lines{Steps: true},
			Steps: []board.Step{{From: 3, Colour: board.Warning}, {From: 3.7, Colour: board.Bad}},
			Help:  "Distance from the usual median of this hour, in usual day-to-day differences. A ticket needs 3.7 and a tenth more time, for an hour.",
			Queries: []board.Query{
				{Legend: "first token", Style: board.Style{Colour: board.Client}, Expr: ql(`max(%s:regression_t14d{A})`, rule)},
				{Legend: "time per token", Style: board.Style{Colour: board.Server}, Expr: ql(`max(workload:%s:regression_t14d{A})`, itl)},
			},
			Empty: "needs 7 days",
		},
	}
}
