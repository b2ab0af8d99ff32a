package main

import (
	"github.com/aiperf-exporter/aiperf-exporter/dashboards/board"
)

// target answers: what is wrong with this one, since when, and in which part of a request?
func target() *board.Dashboard {
	return &board.Dashboard{
		UID: "aiperf-target", Title: "aiperf / Target", From: "now-6h", Target: true,
		Help:      "What does a user of this endpoint feel, since when, and in which part of a request does the time go?",
		Variables: []board.Variable{job(), oneTarget(), models(), workloads(), slos(), window("1h", "5m")},
		First:     append(targetNumbers(), targetFirst()...),
		Rows: []board.Row{
			{Key: "slo", Title: "SLO and budget", Panels: targetSLO()},
			{Key: "streaming", Title: "Streaming", Panels: targetStreaming()},
			{Key: "waterfall", Title: "Where the time of a request goes", Panels: targetWaterfall()},
			{Key: "throughput", Title: "Throughput and tokens", Panels: targetThroughput()},
			{Key: "load", Title: "Errors and load", Panels: targetLoad()},
			{Key: "past", Title: "Own past", Panels: targetPast()},
		},
	}
}

const (
	ttft = "aiperf_time_to_first_token_seconds"
	itl  = "aiperf_inter_token_latency_seconds"
)

// targetNumbers are eight numbers in one line, worst of the chosen SLOs.
func targetNumbers() []board.Panel {
	number := func(key, title, help string, unit board.Unit, expr string) board.Panel {
		return board.Panel{
			Key: key, Title: title, Help: help, W: 3, H: 4, Unit: unit, Form: board.Number{}, Base: "text",
			Queries: []board.Query{{Now: true, Expr: ql("%s", expr)}},
		}
	}
	out := []board.Panel{
		number("goodput", "Goodput, 1 h", "Share of the requests of the last hour that met the SLO; the worst of the chosen SLOs. Judge it by the burn rate beside it: 98 % is fine for one objective and a disaster for another.",
			board.Share, `min(slo:aiperf_goodput:ratio1h{S})`),
		number("burn", "Burn rate, 1 h", "How fast the error budget is spent: at 1 it lasts its window exactly, at 14.4 a month's budget lasts two days.",
			board.Times, `max(slo:aiperf_burn_rate:ratio1h{S})`),
		number("evidence", "Evidence, 1 h", "How sure it is that the SLO is broken: E nats mean that chance alone would do this with a probability below e^-E. Tickets need 7 (0.1 %), pages 9.",
			board.Nats, `max(slo:aiperf_breach_evidence:nats1h{S})`),
		number("n", "Requests, 1 h", "Requests that count for the SLO in the last hour. Few of them are why quantiles are missing: p50 needs 10 in its window, p90 50, p95 100, p99 500.",
			board.Count, `max(slo:aiperf_slo_requests:increase1h{S})`),
		number("errors", "Errors, 1 h", "Share of the requests of the last hour that failed; what kind of failure is in the row Errors and load.",
			board.Share, `max(workload:aiperf_requests_error:ratio1h{A})`),
		number("ttft95", "TTFT p95, 1 h", "19 of 20 users saw the first token sooner than this. Needs 100 requests in the hour.",
			board.Seconds, `max(workload:aiperf_time_to_first_token_seconds:p95_1h{A})`),
		number("itl50", "ITL p50, 1 h", "Half of the requests had a mean time per token below this. Needs 10 requests in the hour.",
			board.Seconds, `max(workload:aiperf_inter_token_latency_seconds:p50_1h{A})`),
		number("age", "Last success", "Time since the last request that succeeded. Compare it with the rate of the load: a canary of one a minute is late after two.",
			board.Seconds, `time() - max(aiperf_last_success_timestamp_seconds{A} > 0)`),
	}
	out[1].Base, out[1].Steps = board.Good, board.BurnSteps()
	out[2].Base, out[2].Steps = board.Good, evidenceSteps()
	out[4].Steps = board.ShareSteps(0.01, 0.05)
	out[5].Empty, out[6].Empty, out[7].Empty = "n < 100", "n < 10", "never"
	out[7].Steps = []board.Step{{From: 900, Colour: board.Worse}}
	return out
}

// recordedQuantiles are those that the rules record, the gate of samples included, and the limits of the SLOs.
func recordedQuantiles(histogram, sloMetric string) []board.Query {
	out := make([]board.Query, 0, 6)
	for _, q := range []struct {
		name   string
		colour board.Colour
	}{{"p50", board.P50}, {"p90", board.P90}, {"p95", board.P95}, {"p99", board.P99}} {
		out = append(out, board.Query{
			Legend: q.name, Style: board.Style{Colour: q.colour},
			Expr: ql(`max(workload:%s:%s_${window}{A})`, histogram, q.name),
		})
	}
	out = append(out, board.Query{
		Legend: "mean", Style: board.Style{Colour: board.Mean, Dashed: true}, Expr: ql(`max(workload:%s:mean${window}{A})`, histogram),
	})
	if sloMetric == "" {
		return out
	}
	return append(out, board.Query{
		Legend: "limit of {{slo}}", Style: board.Style{Colour: board.Bad, Dashed: true},
		Expr: ql(`max by (slo) (aiperf_slo_threshold{S,metric="%s"})`, sloMetric),
	})
}

const readQuantiles = " A line is missing while the window holds too few requests for it (p50 10, p90 50, p95 100, p99 500); it is not 0."

func targetFirst() []board.Panel {
	return []board.Panel{
		{
			Key: "ttft", Title: "Time to first token", W: 12, H: 8, Unit: board.Seconds, Form: board.Lines{Log: true},
			Help:    "Quantiles over the window, and the limit of the SLO. All lines up: the server is slow. Only p99 up: some requests wait, look at the queue." + readQuantiles,
			Queries: recordedQuantiles(ttft, "time_to_first_token"),
		},
		{
			Key: "ttft-heat", Title: "Time to first token, all requests", W: 12, H: 8, Unit: board.Seconds, Form: board.Heat{},
			Help:    "Every request of the window by its time to first token; two bands are two kinds of requests, which a quantile cannot show. A dot is one request: its id, and its trace if its span was sampled.",
			Queries: []board.Query{{Legend: "{{le}}", Exemplars: true, Expr: heat(ttft, "{A}")}},
		},
		{
			Key: "outcomes", Title: "Requests by outcome", W: 12, H: 6, Unit: board.Requests, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "Finished requests per second over the window, successes and failures. The height is what the load asked for; a fall of the whole is a load that cannot be carried.",
			Named:   board.Colours("success", board.Good, "error", board.Bad, "cancelled", board.Absent),
			Queries: []board.Query{{Legend: "{{outcome}}", Expr: ql(`sum by (outcome) (workload:aiperf_requests:rate${window}{A})`)}},
		},
		{
			Key: "bad-run", Title: "Bad requests in a row", W: 6, H: 6, Unit: board.Plain, Form: board.Lines{Bars: true}, Min: new(0.0),
			Help:    "Requests since the last good one. It moves with every request, before any rule: a bar that grows is an outage that begins.",
			Queries: []board.Query{{Legend: "{{slo}}", Expr: ql(`max by (slo) (aiperf_slo_consecutive_bad_requests{S})`)}},
			Empty:   "no SLO",
		},
		{
			Key: "itl", Title: "Inter-token latency", W: 6, H: 6, Unit: board.Seconds, Form: board.Lines{Log: true},
			Help:    "Mean time per token of a request, as quantiles over the window, and the limit of the SLO." + readQuantiles,
			Queries: recordedQuantiles(itl, "inter_token_latency"),
		},
	}
}
