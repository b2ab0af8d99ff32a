package main

import "github.com/aiperf-exporter/aiperf-exporter/dashboards/board"

// fleet answers: which of my endpoints is unhealthy now?
func fleet() *board.Dashboard {
	return &board.Dashboard{
		UID: "aiperf-fleet", Title: "aiperf / Fleet", From: "now-1h", Target: true,
		Help:      "Which of my inference endpoints is unhealthy now, and is that proved? A line leads to the target's own page.",
		Variables: []board.Variable{job(), targets(), models(), workloads(), slos()},
		First:     append(fleetNumbers(), fleetTable()),
		Rows: []board.Row{
			{Key: "history", Title: "Since when", Panels: fleetHistory()},
			{Key: "wrong", Title: "What is wrong", Panels: fleetWrong()},
			{Key: "limits", Title: "Limits and money", Panels: fleetLimits()},
		},
	}
}

func fleetNumbers() []board.Panel {
	return []board.Panel{
		{
			Key: "paging", Title: "Paging now", W: 6, H: 4, Unit: board.Plain, Form: board.Number{Filled: true},
			Help:  "Alerts of severity page that fire for the chosen targets. 0 is good; otherwise the lines marked down or broken below are the reason.",
			Steps: []board.Step{{From: 1, Colour: board.Page}}, Empty: "no rules loaded",
			Queries: []board.Query{{Now: true, Expr: ql(`count(ALERTS{alertname=~"AIPerf.*",severity="page",alertstate="firing",job=~"$job",target=~"$target|"}) or vector(0)`)}},
		},
		{
			Key: "violating", Title: "SLO broken, proved", W: 6, H: 4, Unit: board.Plain, Form: board.Number{Filled: true},
			Help:  "Targets whose bad requests of the last hour or six hours cannot be chance (evidence of 7 nats: less than one in a thousand). A single failure never counts.",
			Steps: []board.Step{{From: 1, Colour: board.Bad}},
			Queries: []board.Query{{Now: true, Expr: ql(
				`count(count by (T) (slo:aiperf_breach_evidence:nats1h{S} >= 7 or slo:aiperf_breach_evidence:nats6h{S} >= 7)) or vector(0)`)}},
		},
		{
			Key: "probed", Title: "Targets probed, of those configured", W: 6, H: 4, Unit: board.Plain, Form: board.Number{Names: true}, Base: "text",
			Help: "Targets that finished a request in the last 15 minutes, beside all that are configured. A gap is a target nobody measures: paused, out of budget, or stuck.",
			Queries: []board.Query{
				{Now: true, Legend: "probed", Expr: ql(`count(count by (T) (increase(aiperf_requests_total{A}[15m]) > 0)) or vector(0)`)},
				{Now: true, Legend: "configured", Expr: ql(`count(count by (T) (aiperf_target_info{A}))`)},
			},
			Empty: "no targets",
		},
		{
			Key: "trust", Title: "Can the exporter be trusted?", W: 6, H: 4, Unit: board.Plain, Form: board.Number{Names: true},
			Help:  "suspect: the exporter or its host was at fault within the last seconds, so look at the Exporter page before blaming a server. The error bar is what measured instants may be wrong by (p99 of the null target).",
			Words: []board.Word{board.Is(0, "trusted", board.Good), board.Is(1, "suspect", board.Bad)},
			Empty: "no exporter is scraped",
			Queries: []board.Query{
				{Now: true, Legend: "exporter", Expr: ql(`max(job:aiperf_suspect:bool{J} or aiperf_exporter_suspect{J})`)},
				{Now: true, Legend: "error bar", Expr: ql(`max(aiperf_selftest_error_bar_seconds{J})`), Style: board.Style{Unit: board.Seconds, Colour: "text"}},
			},
		},
	}
}

// lines has the value 1 for each SLO of a target, and for a target without one.
const lines = `(0 * max by (S) (aiperf_slo_objective_ratio{S}) + 1 or label_replace(max by (A) (aiperf_target_info{A}) unless on (A) max by (A) (aiperf_slo_objective_ratio{A}), "slo", "none", "", ""))`

// onLines puts what is known of a target on all its lines.
func onLines(expr string) string {
	return ql(`%s * on (A) group_left () (%s)`, lines, expr)
}

// Verdicts about a line, the worse the greater.
var verdicts = []board.Word{
	board.Is(0, "ok", board.Good),
	board.Is(1, "no SLO", board.Absent),
	board.Is(2, "too few", board.Absent),
	board.Is(3, "paused", board.Absent),
	board.Is(4, "budget", board.Absent),
	board.Is(5, "back-off", board.Warning),
	board.Is(6, "silent", board.Warning),
	board.Is(7, "violating", board.Worse),
	board.Is(8, "broken", board.Bad),
	board.Is(9, "down", board.Page),
}

// verdict is the first that holds. A pause excuses everything; what is proved comes before what is missing.
func verdict() string {
	return ql(`3 * (%[1]s and on (T) target:aiperf_paused:bool{T} == 1)`+
		` or 9 * (%[1]s and on (S) (slo:aiperf_outage_evidence:nats5m{S} >= 3 or slo:aiperf_run_evidence:nats{S} >= 16 and on (S) slo:aiperf_bad_run:requests{S} >= 3))`+
		` or 8 * (%[1]s and on (S) (slo:aiperf_breach_evidence:nats1h{S} >= 9 and slo:aiperf_burn_rate:ratio1h{S} >= slo:aiperf_page_floor:burn1h{S}))`+
		` or 7 * (%[1]s and on (S) (slo:aiperf_breach_evidence:nats1h{S} >= 7 or slo:aiperf_breach_evidence:nats6h{S} >= 7))`+
		` or 5 * (%[1]s and on (A) max by (A) (aiperf_backoff_active{A}) == 1)`+
		` or 4 * (%[1]s and on (A) max by (A) (aiperf_budget_exhausted{A}) == 1 unless on (A) sum by (A) (increase(aiperf_requests_total{A}[15m])) > 0)`+
		` or 6 * (%[1]s unless on (A) sum by (A) (increase(aiperf_requests_total{A}[15m])) > 0)`+
		` or 2 * (%[1]s and on (S) slo:aiperf_slo_requests:increase3d{S} * slo:aiperf_budget:ratio{S} < 3)`+
		` or 0 * (%[1]s and on (S) slo:aiperf_slo_requests:increase3d{S})`+
		` or %[1]s`, lines)
}

func fleetTable() board.Panel {
	share := `sum by (A) (rate(aiperf_phase_tokens_total{A,phase="decode"}[1h])) / (sum by (A) (rate(aiperf_phase_request_seconds_total{A,phase="decode"}[1h])) > 0)`
	asks := func(exprs ...string) (out []board.Query) {
		for _, e := range exprs {
			out = append(out, board.Query{Now: true, Expr: e})
		}
		return out
	}
	return board.Panel{
		Key: "targets", Title: "Targets, worst first", W: 24, H: 14, Unit: board.Plain, Empty: "no targets",
		Help: "One line for each SLO of each target, over the last hour. down: most requests fail; broken: the budget burns fast and that is proved; violating: proved, but slower; silent: no request finished for 15 minutes; budget: the same, since it is spent; back-off: held back; too few: the traffic of three days cannot prove a breach. Click a target for its own page.",
		Queries: asks(
			verdict(),
			ql(`max by (S) (slo:aiperf_goodput:ratio1h{S})`),
			ql(`max by (S) (slo:aiperf_burn_rate:ratio1h{S})`),
			ql(`max by (S) (slo:aiperf_breach_evidence:nats1h{S})`),
			ql(`max by (S) (slo:aiperf_slo_requests:increase1h{S})`),
			ql(`max by (S) (aiperf_slo_consecutive_bad_requests{S})`),
			onLines(`workload:aiperf_requests_error:ratio1h{A}`),
			onLines(`workload:aiperf_time_to_first_token_seconds:p95_1h{A}`),
			onLines(`workload:aiperf_inter_token_latency_seconds:p50_1h{A}`),
			onLines(share),
			onLines(`time() - max by (A) (aiperf_last_success_timestamp_seconds{A} > 0)`),
		),
		Form: board.Table{Sorted: "Status", Columns: []board.Column{
			{Title: "Status", Query: 1, Unit: board.Plain, Width: 80, Words: verdicts, Fill: true},
			{Title: "Target", Label: "target", Links: []board.Link{{Title: "Open ${__value.text}", UID: "aiperf-target", Choices: []board.Choice{
				{Variable: "target", Value: "${__value.raw}"}, {Variable: "job", Value: "${__data.fields.Job}"}, {Variable: "slo", Value: "${__data.fields.SLO}"},
			}}}},
			{Title: "Model", Label: "model", Width: 145},
			{Title: "Workload", Label: "workload", Width: 80},
			{Title: "SLO", Label: "slo", Width: 85},
			{Title: "Goodput", Query: 2, Unit: board.Share, Width: 105, Bar: true, Base: board.Client},
			{Title: "Burn", Query: 3, Unit: board.Times, Width: 75, Base: board.Good, Steps: board.BurnSteps()},
			{Title: "Evidence", Query: 4, Unit: board.Plain, Decimals: new(1.0), Width: 75, Base: board.Good, Steps: evidenceSteps()},
			{Title: "Requests", Query: 5, Unit: board.Count, Width: 80},
			{Title: "Bad run", Query: 6, Unit: board.Plain, Width: 75, Base: "text", Steps: []board.Step{{From: 3, Colour: board.Worse}}},
			{Title: "Errors", Query: 7, Unit: board.Share, Decimals: new(1.0), Width: 70},
			{Title: "TTFT p95", Query: 8, Unit: board.Seconds, Width: 85, Empty: "n < 100"},
			{Title: "ITL p50", Query: 9, Unit: board.Seconds, Width: 80, Empty: "n < 10"},
			{Title: "Tok/s/user", Query: 10, Unit: board.Tokens, Decimals: new(1.0), Width: 85},
			{Title: "Last success", Query: 11, Unit: board.Seconds, Width: 98, Base: "text", Steps: []board.Step{{From: 900, Colour: board.Worse}}, Empty: "never"},
			{Title: "Job", Label: "job", Hidden: true},
		}},
	}
}

// evidenceSteps are the limits at which an alert takes the evidence for a proof.
func evidenceSteps() []board.Step {
	return []board.Step{{From: 7, Colour: board.Worse}, {From: 9, Colour: board.Bad}}
}

// bands name how fast a budget burns: so many steps are reached.
var bands = []board.Word{
	board.Is(0, "within budget", board.Good),
	board.Is(1, "over budget", board.Warning),
	board.Is(2, "fast", board.Worse),
	board.Is(3, "very fast", board.Bad),
}

func fleetHistory() []board.Panel {
	return []board.Panel{{
		Key: "burn", Title: "Health of each target", W: 24, H: 8, Unit: board.Plain, Form: board.States{}, Words: bands,
		Help: "Burn rate of 30 minutes, the worst SLO of each target: over budget from 1, fast from 6, very fast from 14.4. A band that begins for all targets at once points at the exporter or the network.",
		Queries: []board.Query{{Legend: "{{target}}", Expr: ql(
			`max by (target) ((slo:aiperf_burn_rate:ratio30m{S} >= bool 1) + (slo:aiperf_burn_rate:ratio30m{S} >= bool 6) + (slo:aiperf_burn_rate:ratio30m{S} >= bool 14.4))`)}},
	}}
}

func fleetWrong() []board.Panel {
	return []board.Panel{
		{
			Key: "errors", Title: "Failed requests by class", W: 12, H: 8, Unit: board.Share, Form: board.Lines{Table: true}, Min: new(0.0),
			Help:    "Share of the requests of the last 5 minutes that failed, by error class. A timeout class is a slow or hung server, http_5xx its fault, connect and dns the way to it.",
			Queries: []board.Query{{Legend: "{{target}} {{error_class}}", Expr: ql(`sum by (target, error_class) (workload:aiperf_request_errors:ratio5m{A}) > 0`)}},
			Empty:   "no failures",
		},
		{
			Key: "drops", Title: "Arrivals that were never sent", W: 12, H: 8, Unit: board.Share, Form: board.Lines{Table: true}, Min: new(0.0),
			Help:    "Share of the wanted requests that were dropped, by reason. in_flight and queue reasons: the server is too slow for the load. budget and backoff: intended. scheduler_late and global_limit: the exporter's own fault.",
			Queries: []board.Query{{Legend: "{{target}} {{reason}}", Expr: ql(`sum by (target, reason) (workload:aiperf_arrivals_dropped:ratio5m{A}) > 0`)}},
			Empty:   "nothing dropped",
		},
		{
			Key: "ttft", Title: "Mean time to first token", W: 12, H: 8, Unit: board.Seconds, Form: board.Lines{Log: true, Table: true},
			Help:    "Mean of 5 minutes for each target, to see who moved and whether others moved with it. Quantiles are on the target's page.",
			Queries: []board.Query{{Legend: "{{target}}", Expr: ql(`max by (target) (target:aiperf_time_to_first_token_seconds:mean5m{T})`)}},
		},
		{
			Key: "unexplained", Title: "Time to first token that the server does not explain", W: 12, H: 8, Unit: board.Seconds, Form: board.Lines{Table: true},
			Help:    "What is left of the client's mean after the server's own time and the way to it: network, gateway, a proxy that buffers. Where this is what grew, it is not the model server.",
			Queries: []board.Query{{Legend: "{{target}}", Expr: ql(`max by (target) (target:aiperf_ttft_unexplained_seconds:mean5m{T})`)}},
			Empty:   "no server metrics are scraped",
		},
	}
}

func fleetLimits() []board.Panel {
	return []board.Panel{
		{
			Key: "budgets", Title: "Budgets used", W: 12, H: 8, Unit: board.Share, Form: board.Gauges{}, Min: new(0.0), Max: new(1.0), Steps: board.ShareSteps(0.8, 1),
			Help:    "What each target has spent in the running hour or day, of what it may. At 100 % it is no longer probed until the period ends.",
			Queries: []board.Query{{Now: true, Legend: "{{target}} {{kind}} a {{period}}", Expr: ql(`sum by (target, kind, period) (aiperf_budget_used{A}) / (sum by (target, kind, period) (aiperf_budget_limit{A}) > 0)`)}},
			Empty:   "no budgets are configured",
		},
		{
			Key: "spend", Title: "What the probes cost per hour", W: 12, H: 8, Unit: board.Count, Form: board.Lines{Table: true}, Min: new(0.0),
			Help:    "Price of this exporter's own requests of the last hour where a vendor asks for tokens, in the currency of the configuration.",
			Queries: []board.Query{{Legend: "{{target}} ({{currency}})", Expr: ql(`sum by (target, currency) (target:aiperf_token_spend_per_hour:rate1h{T})`)}},
			Empty:   "no prices are configured",
		},
	}
}
