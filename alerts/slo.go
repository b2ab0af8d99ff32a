package alerts

import "slices"

// Windows over which requests are counted. Those of a slow canary are too few in a short window to prove anything: a longer one takes over.
var (
	fastWindows = []string{"5m", "30m", "1h"}
	slowWindows = []string{"2h", "6h", "1d", "3d"}
	// provingWindows are those in which a breach is proved, outageWindows an outage.
	provingWindows = []string{"30m", "1h", "6h", "1d", "3d"}
	outageWindows  = []string{"5m", "30m"}
)

const (
	unlessPaused  = "unless on ($target) (target:aiperf_paused:bool == 1)"
	unlessSuspect = "unless on ($target) (target:aiperf_suspect:bool == 1)"
	// unlessOutage holds a page about the budget back while an outage is told, and afterwards unless it goes on.
	unlessOutage = `unless on ($slo) (
	ALERTS{alertname="AIPerfTargetDown", alertstate="firing"}
		or
	max_over_time(ALERTS{alertname="AIPerfTargetDown", alertstate="firing"}[30m]) unless on ($slo) slo:aiperf_burn_rate:ratio5m > 1
)`
)

// evidence says how far b bad requests of n are from a share of p, in nats: n times the Kullback-Leibler divergence of b/n from p, and 0 where
// b/n is not above p. If the true share is at most p, that many or more are bad with a probability of at most e to the minus this, for every
// n, b and p: so 4 requests are judged as rightly as 4 million. No series where there are no requests; the clamps keep 0 times ln 0 at 0.
func evidence(n, b, p string) string {
	return `0 * (` + n + ` > 0)
	+ (` + b + ` > bool ` + n + ` * ` + p + `)
	* (
		clamp_min(` + b + `, 1e-9) * ln(clamp_min(` + b + `, 1e-9) / (` + n + ` * ` + p + `))
		+ clamp_min(` + n + ` - ` + b + `, 1e-9) * ln(clamp_min(` + n + ` - ` + b + `, 1e-9) / (` + n + ` * (1 - ` + p + `)))
	)`
}

// counted are the rules that count the requests of a window.
func (s *Site) counted(window string) []Rule {
	const requests, bad = "slo:aiperf_slo_requests:increase{w}", "slo:aiperf_bad_requests:increase{w}"
	rules := []Rule{
		s.record(over(window, requests), over(window, "sum by ($slo) (increase(aiperf_slo_requests_total[{w}]))")),
		s.record(over(window, bad), over(window, "clamp_min(slo:aiperf_slo_requests:increase{w} - sum by ($slo) (increase(aiperf_good_requests_total[{w}])), 0)")),
		s.record(over(window, "slo:aiperf_bad_requests:ratio{w}"), over(window, bad+" / ("+requests+" > 0)")),
		s.record(over(window, "slo:aiperf_goodput:ratio{w}"), over(window, "1 - slo:aiperf_bad_requests:ratio{w}")),
		s.record(over(window, "slo:aiperf_burn_rate:ratio{w}"), over(window, "slo:aiperf_bad_requests:ratio{w} / slo:aiperf_budget:ratio")),
	}
	if slices.Contains(provingWindows, window) {
		rules = append(rules, s.record(over(window, "slo:aiperf_breach_evidence:nats{w}"),
			over(window, "("+bad+" >= bool 2.5)\n\t* (\n\t\t"+indented(evidence(requests, bad, "slo:aiperf_budget:ratio"), "\t\t")+"\n\t)")))
	}
	if slices.Contains(outageWindows, window) {
		rules = append(rules, s.record(over(window, "slo:aiperf_outage_evidence:nats{w}"),
			over(window, evidence(requests, bad, "clamp_min(slo:aiperf_budget:ratio, 0.5)"))))
	}
	return rules
}

// config is what the configuration of the exporters says.
func (s *Site) config() Group {
	return Group{
		File: "slo", Name: "aiperf-config", Interval: "1m",
		About: "What the configuration asks for: the share of requests that may be bad, and the burn rates that are worth a page. A burn rate of 1 uses the\n" +
			"budget up in exactly the window of the SLO; the floors are 2 % of it in an hour (14.4 for 30 days) and 5 % in six hours (6).",
		Rules: []Rule{
			s.record("slo:aiperf_budget:ratio", "1 - max by ($slo) (aiperf_slo_objective_ratio)"),
			s.record("slo:aiperf_page_floor:burn1h", "clamp_min(0.02 * max by ($slo) (aiperf_slo_window_seconds) / 3600, 2)"),
			s.record("slo:aiperf_page_floor:burn6h", "clamp_min(0.05 * max by ($slo) (aiperf_slo_window_seconds) / 21600, 2)"),
			about("A counter for programs that want one, such as Pyrra. It keeps its instance: sums of counters do not survive a restart of one.",
				s.record("exporter:aiperf_bad_requests:total", "aiperf_slo_requests_total - aiperf_good_requests_total")),
		},
	}
}

// outage is what is looked at most often.
func (s *Site) outage() Group {
	return Group{
		File: "slo", Name: "aiperf-outage", Interval: "15s",
		About: "Outages. Bad requests one after the other are the fastest proof: k of them have a probability of budget^k.",
		Rules: slices.Concat(
			family("The run of bad requests that goes on now. Where n exporters share a target and each sees m bad ones in a row, chance does that with a\n"+
				"probability of budget^(n*m), and a good answer to any of them ends it. Those that have not asked for an hour have nothing to say: a shard may have\n"+
				"no part of a load.",
				s.record("slo:aiperf_bad_run:requests", `
					min by ($slo) (aiperf_slo_consecutive_bad_requests and increase(aiperf_slo_requests_total[1h]) > 0)
						* count by ($slo) (aiperf_slo_consecutive_bad_requests and increase(aiperf_slo_requests_total[1h]) > 0)`),
				s.record("slo:aiperf_run_evidence:nats", "slo:aiperf_bad_run:requests * -ln(slo:aiperf_budget:ratio)"),
			),
			family("Most requests fail or miss the SLO: by a run of bad ones, by the last 5 minutes, or for slow canaries by the last 30. The run is longer than the\n"+
				"requests of the last minute, so an outage of a minute is no reason: what that needs is known from one scrape, and nothing waits any longer. A run from\n"+
				"before a pause is not one of now.",
				s.alert(&alert{
					name: "AIPerfTargetDown", severity: page, keep: "10m",
					expr: `
						(
								slo:aiperf_run_evidence:nats >= 16
							and
								slo:aiperf_bad_run:requests >= 3
							and
								min by ($slo) (
									aiperf_slo_consecutive_bad_requests - (aiperf_slo_requests_total - aiperf_slo_requests_total offset 1m)
										and increase(aiperf_slo_requests_total[1h]) > 0
								) > 0
							unless on ($target)
								(max_over_time(target:aiperf_paused:bool[5m]) == 1)
						or
							slo:aiperf_outage_evidence:nats5m >= 3
						or
								slo:aiperf_outage_evidence:nats30m >= 4
							and
								slo:aiperf_bad_requests:ratio5m > 0.5
						)
						` + unlessPaused,
					dashboard: "aiperf-target", by: levels["slo"][1:],
					summary: "{target} is down: most requests of the workload {workload} to {model} fail or miss the SLO {slo}",
					description: "Bad requests: " + s.now("slo", "slo:aiperf_bad_requests:increase5m") + " of " +
						s.now("slo", "slo:aiperf_slo_requests:increase5m") + " in 5 minutes, " +
						s.now("slo", "slo:aiperf_bad_requests:increase30m") + " of " +
						s.now("slo", "slo:aiperf_slo_requests:increase30m") + " in 30.",
				}),
			),
		),
	}
}

func (s *Site) sloFast() Group {
	g := Group{
		File: "slo", Name: "aiperf-slo-fast", Interval: "30s",
		About: "Requests, bad ones, their share, the burn rate and the evidence for a breach or an outage, over short windows. Evidence is counted in nats: a target\n" +
			"that keeps its objective shows E nats or more with a probability of at most e^-E, however many or few the requests are.",
	}
	for _, window := range fastWindows {
		g.Rules = append(g.Rules, family("The last "+window+".", s.counted(window)...)...)
	}
	g.Rules = append(g.Rules, family("A breach needs proof (evidence) and size (burn rate), and must still go on (the short window).", s.burnPage(), s.burnTicket())...)
	return g
}

func (s *Site) sloSlow() Group {
	g := Group{
		File: "slo", Name: "aiperf-slo-slow", Interval: "2m",
		About: "The same over long windows, which cost more and move less.",
	}
	for _, window := range slowWindows {
		g.Rules = append(g.Rules, family("The last "+window+".", s.counted(window)...)...)
	}
	g.Rules = append(g.Rules, family("An estimate for panels, as if the whole window had been like the last three days; the exact one needs the window's own range.",
		s.record("slo:aiperf_budget_remaining:ratio",
			"1 - slo:aiperf_burn_rate:ratio3d * 259200 / max by ($slo) (aiperf_slo_window_seconds)"))...)
	g.Rules = append(g.Rules, family("Three days of requests in which the budget allows fewer than 3 bad ones: this canary cannot prove a small breach of this SLO.",
		s.alert(&alert{
			name: "AIPerfSLOUndecidable", severity: info, wait: "1h",
			expr: `
				slo:aiperf_slo_requests:increase3d * slo:aiperf_budget:ratio < 3
				and on ($target)
					(time() - max by ($target) (aiperf_target_start_timestamp_seconds) > 259200)
				` + unlessPaused,
			dashboard: "aiperf-target", by: levels["slo"][1:],
			summary: "{target} is asked too seldom to decide the SLO {slo} of the workload {workload}",
			description: "In three days the budget of the SLO allows {value} bad requests. A small breach takes longer than that to prove: " +
				"send more requests, or choose a lower objective.",
		}))...)
	return g
}

func (s *Site) burnPage() Rule {
	return s.alert(&alert{
		name: "AIPerfSLOBurnPage", severity: page, wait: "1m", keep: "15m",
		expr: `
			(
					slo:aiperf_breach_evidence:nats30m >= 9
				and
					slo:aiperf_burn_rate:ratio30m >= slo:aiperf_page_floor:burn1h
				and
					slo:aiperf_burn_rate:ratio5m > 1
			or
					slo:aiperf_breach_evidence:nats1h >= 9
				and
					slo:aiperf_burn_rate:ratio1h >= slo:aiperf_page_floor:burn1h
				and
					slo:aiperf_burn_rate:ratio5m > 1
			or
					slo:aiperf_breach_evidence:nats6h >= 9
				and
					slo:aiperf_burn_rate:ratio6h >= slo:aiperf_page_floor:burn6h
				and
					slo:aiperf_burn_rate:ratio30m > 1
			)
			` + unlessPaused + `
			` + unlessSuspect + `
			` + indented(unlessOutage, "\t\t\t"),
		dashboard: "aiperf-target", by: levels["slo"][1:],
		summary: "{target} burns the budget of the SLO {slo} of the workload {workload} fast",
		description: "Burn rate " + s.now("slo", "slo:aiperf_burn_rate:ratio1h") + " in the last hour (" +
			s.now("slo", "slo:aiperf_bad_requests:increase1h") + " bad of " +
			s.now("slo", "slo:aiperf_slo_requests:increase1h") + "), " +
			s.now("slo", "slo:aiperf_burn_rate:ratio6h") + " in the last six. Proved by {value} nats: a target that keeps its objective " +
			"shows so much with a probability below e^-9, one in 8000.",
	})
}

func (s *Site) burnTicket() Rule {
	return s.alert(&alert{
		name: "AIPerfSLOBurnTicket", severity: ticket, wait: "5m", keep: "30m",
		expr: `
			(
					slo:aiperf_breach_evidence:nats1h >= 7
				and
					slo:aiperf_burn_rate:ratio1h >= 4
				and
					slo:aiperf_burn_rate:ratio30m > 1
			or
					slo:aiperf_breach_evidence:nats6h >= 7
				and
					slo:aiperf_burn_rate:ratio6h >= 2
				and
					slo:aiperf_burn_rate:ratio30m > 1
			or
					slo:aiperf_breach_evidence:nats1d >= 7
				and
					slo:aiperf_burn_rate:ratio1d >= 1.5
				and
					slo:aiperf_burn_rate:ratio2h > 1
			or
					slo:aiperf_breach_evidence:nats3d >= 7
				and
					slo:aiperf_burn_rate:ratio6h > 1
			)
			` + unlessPaused + `
			` + unlessSuspect,
		dashboard: "aiperf-target", by: levels["slo"][1:],
		summary: "{target} does not keep the SLO {slo} of the workload {workload}",
		description: "Burn rate " + s.now("slo", "slo:aiperf_burn_rate:ratio6h") + " in the last six hours (" +
			s.now("slo", "slo:aiperf_bad_requests:increase6h") + " bad of " +
			s.now("slo", "slo:aiperf_slo_requests:increase6h") + "), " +
			s.now("slo", "slo:aiperf_burn_rate:ratio3d") + " in three days. Proved by {value} nats: a target that keeps its objective " +
			"shows so much with a probability below e^-7, one in 1000.",
	})
}
