package main

import "github.com/aiperf-exporter/aiperf-exporter/dashboards/board"

// windows are those of the rules about SLOs, the shortest first.
var windows = []string{"5m", "30m", "1h", "2h", "6h", "1d", "3d"}

// evidenceWindows are those for which evidence is kept.
var evidenceWindows = []string{"30m", "1h", "6h", "1d", "3d"}

// windowColours get darker with length.
var windowColours = map[string]board.Colour{
	"5m": "super-light-blue", "30m": "light-blue", "1h": "blue", "2h": "semi-dark-blue", "6h": "purple", "1d": "semi-dark-purple", "3d": "dark-purple",
}

// eachWindow asks the same for several windows.
func eachWindow(list []string, format string) (out []board.Query) {
	for _, w := range list {
		out = append(out, board.Query{Legend: w, Expr: ql(format, w), Style: board.Style{Colour: windowColours[w]}})
	}
	return out
}

func targetSLO() []board.Panel {
	return []board.Panel{
		{
			Key: "burn-windows", Title: "Burn rate by window", W: 12, H: 8, Unit: board.Times, Form: board.Lines{Log: true, Steps: true}, Min: new(0.1),
			Steps:   board.BurnSteps(),
			Help:    "How fast the budget is spent, over windows of growing length; the worst of the chosen SLOs. Short above long: it has just begun. Long above short: it is over, the budget is gone. Lines at 1, 6 and 14.4.",
			Queries: eachWindow(windows, `max(slo:aiperf_burn_rate:ratio%s{S})`),
			Empty:   "no SLO, or no requests",
		},
		{
			Key: "evidence-windows", Title: "Evidence that the SLO is broken", W: 12, H: 8, Unit: board.Nats, Form: board.Lines{Steps: true}, Min: new(0.0),
			Steps:   evidenceSteps(),
			Help:    "Grows with every bad request that chance does not explain. A ticket needs 7 nats, a page 9, each besides a burn rate above its floor; so nothing fires before a line crosses these.",
			Queries: eachWindow(evidenceWindows, `max(slo:aiperf_breach_evidence:nats%s{S})`),
			Empty:   "no SLO, or no requests",
		},
		{
			Key: "goodput-windows", Title: "Goodput against the objective", W: 10, H: 8, Unit: board.Share, Form: board.Lines{}, Max: new(1.0),
			Help: "Share of requests that met the SLO; below the dashed line the objective is missed over that window.",
			Queries: append(eachWindow([]string{"30m", "6h", "3d"}, `min(slo:aiperf_goodput:ratio%s{S})`), board.Query{
				Legend: "objective of {{slo}}", Style: board.Style{Colour: board.Bad, Dashed: true}, Expr: ql(`max by (slo) (aiperf_slo_objective_ratio{S})`),
			}),
			Empty: "no SLO, or no requests",
		},
		{
			Key: "violations", Title: "Which limit was broken", W: 10, H: 8, Unit: board.Count, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "Successful requests of the window that broke a limit, by measure. time_to_first_token: queue, prefill or the way; inter_token_latency: batch size or the way. Failed requests are not here.",
			Queries: []board.Query{{Legend: "{{slo}} {{metric}}", Expr: ql(`sum by (slo, metric) (increase(aiperf_slo_metric_violations_total{S}[$window]))`)}},
			Empty:   "no limits",
		},
		{
			Key: "budget-left", Title: "Budget left, 30 d", W: 4, H: 8, Unit: board.Share, Decimals: new(0.0), Form: board.Number{Names: true}, Base: board.Bad,
			Steps: []board.Step{{From: 0, Colour: board.Warning}, {From: 0.5, Colour: board.Good}},
			Help:  "What is left of the error budget of the last 30 days, or of the time since the first scrape. Below 0 the objective of these 30 days is missed already.",
			Queries: []board.Query{{Now: true, Legend: "{{slo}}", Expr: ql(
				`1 - (1 - sum by (slo) (increase(aiperf_good_requests_total{S}[30d])) / (sum by (slo) (increase(aiperf_slo_requests_total{S}[30d])) > 0)) / (1 - max by (slo) (aiperf_slo_objective_ratio{S}))`)}},
			Empty: "no SLO",
		},
	}
}
