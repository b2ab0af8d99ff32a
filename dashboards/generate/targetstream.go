package main

import (
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/dashboards/board"
)

func targetStreaming() []board.Panel {
	return []board.Panel{
		{
			Key: "itl-heat", Title: "Inter-token latency, all requests", W: 8, H: 8, Unit: board.Seconds, Form: board.Heat{},
			Help:    "Every request of the window by its mean time per token. A second band above the first is a server that switches between batch sizes.",
			Queries: []board.Query{{Legend: "{{le}}", Exemplars: true, Expr: heat(itl, "{A}")}},
		},
		{
			Key: "chunk-heat", Title: "Gaps between chunks", W: 8, H: 8, Unit: board.Seconds, Form: board.Heat{},
			Help:    "Every gap between two content events. Spots far above the band are stalls that a mean per request hides; most gaps at 0 mean that something on the way holds chunks back and sends them together.",
			Queries: []board.Query{{Legend: "{{le}}", Expr: heat("aiperf_inter_chunk_latency_seconds", "{A}")}},
		},
		{
			Key: "chunk-tokens", Title: "Tokens in a chunk, and gap to the second token", W: 8, H: 8, Unit: board.Count, Form: board.Lines{}, Min: new(0.0),
			Help: "Above 1 token in a chunk, gaps between chunks are not gaps between tokens. The gap to the second token (right axis) is long where the first one was sent early.",
			Queries: []board.Query{
				{
					Legend: "tokens in a chunk", Style: board.Style{Colour: board.Decode},
					Expr: ql(`sum(rate(aiperf_tokens_total{A,token_type="output"}[$window])) / (sum(rate(aiperf_content_events_total{A}[$window])) > 0)`),
				},
				{
					Legend: "second token p50", Style: board.Style{Colour: board.Residual, Unit: board.Seconds, Right: true},
					Expr: quantile(0.5, "aiperf_second_token_gap_seconds", "{A}", "", "$window"),
				},
			},
		},
		{
			Key: "effective", Title: "Latency as felt, and as sent", W: 12, H: 8, Unit: board.Seconds, Form: board.Lines{Log: true},
			Help: "p95 from the wanted instant to the end, beside p95 from the real start to the end. Where they part, requests had to wait for a free slot: a plain load generator would not see this part of an outage.",
			Queries: []board.Query{
				{Legend: "as felt (effective)", Style: board.Style{Colour: board.Client}, Expr: ql(`max(workload:aiperf_effective_latency_seconds:p95_${window}{A})`)},
				{Legend: "as sent", Style: board.Style{Colour: board.Server}, Expr: ql(`max(workload:aiperf_request_duration_seconds:p95_${window}{A})`)},
				{
					Legend: "mean as felt", Style: board.Style{Colour: board.Mean, Dashed: true},
					Expr: ql(`max(workload:aiperf_effective_latency_seconds:mean${window}{A})`),
				},
			},
			Empty: "fewer than 100 requests in the window",
		},
		{
			Key: "duration-heat", Title: "Duration of successful requests", W: 12, H: 8, Unit: board.Seconds, Form: board.Heat{},
			Help:    "From the start of a request to its last token. Follows the length of answers; compare it with output tokens below before calling the server slow.",
			Queries: []board.Query{{Legend: "{{le}}", Exemplars: true, Expr: heat("aiperf_request_duration_seconds", `{A,outcome="success"}`)}},
		},
	}
}

// phaseColours are those of the parts of a request, in its order.
func phaseColours() []board.Named {
	return board.Colours(
		"blocked", board.Colour("dark-yellow"), "dns", board.Colour("light-green"), "connect", board.Colour("green"), "tls", board.Colour("dark-green"),
		"send", board.Way, "wait", board.Server, "first token", board.Prefill, "decode", board.Decode,
	)
}

// headerPhases are the parts up to the header of the answer.
var headerPhases = []string{"blocked", "dns", "connect", "tls", "send", "wait"}

// phases are mean seconds by part. What happens only sometimes, such as connecting, is divided by all requests that were sent, so that parts add up.
func phases() []board.Query {
	part := func(names string) string {
		return ql(`(sum(histogram_sum(rate(aiperf_http_phase_seconds{A,phase=~"%[1]s"}[$window]))) or sum(rate(aiperf_http_phase_seconds_sum{A,phase=~"%[1]s"}[$window])))`+
			` / (sum(histogram_count(rate(aiperf_http_phase_seconds{A,phase="send"}[$window]))) > 0 or sum(rate(aiperf_http_phase_seconds_count{A,phase="send"}[$window])) > 0)`, names)
	}
	var out []board.Query
	for _, phase := range headerPhases {
		out = append(out, board.Query{Legend: phase, Expr: part(phase)})
	}
	return append(
		out,
		board.Query{Legend: "first token", Expr: `clamp_min((` + mean(ttft, "{A}", "", "$window") + `) - ` + part(strings.Join(headerPhases, "|")) + `, 0)`},
		board.Query{Legend: "decode", Expr: mean("aiperf_decode_duration_seconds", "{A}", "", "$window")},
	)
}

func targetWaterfall() []board.Panel {
	now := phases()
	for i := range now {
		now[i].Now = true
	}
	return []board.Panel{
		{
			Key: "phases", Title: "Mean parts of a request", W: 8, H: 9, Unit: board.Seconds, Form: board.Gauges{}, Base: board.Client, Min: new(0.0),
			Help:    "What a mean request of the window spends where: blocked (waiting for a connection) to send are ours and the network's; wait is the time to the header, and first token what comes after it: queue and prefill; decode is the stream.",
			Named:   phaseColours(),
			Queries: now,
		},
		{
			Key: "phases-course", Title: "Mean parts of a request over time", W: 16, H: 9, Unit: board.Seconds, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "The same, stacked over time: the part that grew is the part to look at. The page Correlation takes wait and first token apart with the server's own figures.",
			Named:   phaseColours(),
			Queries: phases(),
			Links:   []board.Link{{Title: "Client against server", UID: "aiperf-correlation", Choices: []board.Choice{{Variable: "target", Value: "$target"}}}},
		},
		{
			Key: "connections", Title: "Requests over a new connection", W: 8, H: 7, Unit: board.Share, Form: board.Lines{}, Min: new(0.0), Max: new(1.0),
			Help:    "Share of the requests that opened a connection: all where connection_reuse is off. With reuse, a rise means that somebody on the way closes connections, and each costs name lookup, TCP and TLS.",
			Queries: []board.Query{{Legend: "new", Expr: ql(`sum(rate(aiperf_http_connections_total{A,reused="false"}[$window])) / (sum(rate(aiperf_http_connections_total{A}[$window])) > 0)`)}},
		},
		{
			Key: "delay", Title: "Delay before a request is sent", W: 16, H: 7, Unit: board.Seconds, Form: board.Lines{Log: true},
			Help: "p90 of the time from the wanted instant to the start, waiting for a free slot included, and of what the exporter took to build the request. The first is a finding about the server or the load's limits, the second about the exporter.",
			Queries: []board.Query{
				{Legend: "wanted to started p90", Style: board.Style{Colour: board.P90}, Expr: quantile(0.9, "aiperf_schedule_delay_seconds", "{A}", "", "$window")},
				{Legend: "building p90", Style: board.Style{Colour: board.Mean}, Expr: quantile(0.9, "aiperf_dispatch_delay_seconds", "{A}", "", "$window")},
			},
		},
	}
}
