package alerts

import (
	"fmt"
	"slices"
	"strings"
)

// silences are the windows in which a request must have ended, in seconds.
var silences = []struct {
	window  string
	seconds int
}{{"15m", 900}, {"1h", 3600}, {"2h", 7200}, {"6h", 21600}, {"1d", 86400}}

// absence is about what should be there and is not.
func (s *Site) absence() Group {
	return Group{
		File: "exporter", Name: "aiperf-absence", Interval: "1m",
		About: "What should be there and is not. Rules over nothing say nothing: these say so.",
		Rules: slices.Concat(
			family("Always on. Let it reach a receiver that raises an alarm when it stops: it tests the whole way to you.", s.watchdog()),
			s.exporterGone(), []Rule{s.shardMissing()}, s.targetGone(), s.explained(),
		),
	}
}

func (s *Site) watchdog() Rule {
	return s.alert(&alert{
		name: "AIPerfWatchdog", severity: none, expr: "vector(1)",
		summary:     "Prometheus evaluates the rules of aiperf-exporter",
		description: "This alert is always on.",
	})
}

func (s *Site) exporterGone() []Rule {
	return family("The only rules that have to know the job.",
		s.alert(&alert{
			name: "AIPerfExporterDown", severity: page, wait: "5m",
			expr:      fmt.Sprintf("max by ($job) (up{job=%q}) == 0", s.Job),
			dashboard: "aiperf-exporter", by: []string{"job"},
			summary:     "No exporter of the job {job} can be scraped",
			description: "Nothing is measured, and every other alert about targets is blind.",
		}),
		s.alert(&alert{
			name: "AIPerfExporterAbsent", severity: page, wait: "10m",
			expr:        fmt.Sprintf("absent(aiperf_exporter_build_info{job=%q})", s.Job),
			summary:     "Prometheus knows no exporter of the job {job}",
			description: "It is not scraped at all, or under another job: rules --job makes rules for that.",
		}),
		about("One of several, such as a shard that does not come back after a deployment: its targets are asked by nobody.", s.alert(&alert{
			name: "AIPerfExporterInstanceDown", severity: ticket, wait: "15m",
			expr: fmt.Sprintf(`
				min by ($exporter) (up{job=%[1]q}) == 0
				and on ($job)
					max by ($job) (up{job=%[1]q}) == 1`, s.Job),
			dashboard: "aiperf-exporter", by: []string{"job", "instance"},
			summary:     "The exporter {instance} cannot be scraped, others of its job can",
			description: "Targets that only it asks are not measured, and no other alert will say so for long.",
		})),
	)
}

// shardMissing needs one exporter of the job that says how many there are to be. While their number changes, those with the larger one count.
func (s *Site) shardMissing() Rule {
	return about("Exporters that share a load say how many they are, and which of them.", s.alert(&alert{
		name: "AIPerfShardMissing", severity: ticket, wait: "10m",
		expr: `
			max by ($job) (aiperf_exporter_shards)
				- count by ($job) (
					count by ($job, shard) (
						aiperf_exporter_shards == on ($job) group_left () max by ($job) (aiperf_exporter_shards)
					)
				)
				> 0`,
		dashboard: "aiperf-exporter", by: []string{"job"},
		summary:     "{value} of the exporters of the job {job} that share its load are missing",
		description: "Their part of every load is not sent, and a target whose load cannot be divided may not be asked at all.",
	}))
}

func (s *Site) targetGone() []Rule {
	const expected = "sum by ($workload) (avg_over_time(aiperf_load_target_rate[1h])) * 3600"
	const done = "sum by ($workload) (increase(aiperf_requests_total[1h]))"
	return []Rule{
		s.alert(&alert{
			name: "AIPerfTargetVanished", severity: ticket, wait: "10m",
			expr: `
				max by ($target) (aiperf_target_info offset 1h)
				unless
					max by ($target) (aiperf_target_info)
				unless on ($job)
					(time() - max by ($job) (aiperf_exporter_config_last_reload_success_timestamp_seconds) < 5400)
				unless on ($job)
					(max by ($job) (changes(aiperf_exporter_discovery_targets[90m])) > 0)`,
			dashboard: "aiperf-fleet", by: []string{"job"},
			summary:     "{target} is no longer asked, and nobody has changed the configuration",
			description: "An hour ago it was. The exporter that asked it is gone, or no longer scraped.",
		}),
		about("Fewer requests ended than the load asks for: by at least half, and by the lower tail of a Poisson distribution of that mean.\n"+
			"A Prometheus that knows less than an hour has not seen those that are missing.", s.alert(&alert{
			name: "AIPerfTargetUnderprobed", severity: ticket, wait: "10m",
			expr: `
				` + expected + `
					- ` + done + `
					+ clamp_min(` + done + `, 1e-9)
						* ln(clamp_min(` + done + `, 1e-9) / (` + expected + `))
					>= 7
				and
					` + done + ` < 0.5 * (` + expected + `)
				and
					time() - max by ($workload) (aiperf_target_start_timestamp_seconds) > 3600
				and
					max by ($workload) (aiperf_load_target_rate offset 1h) >= 0
				` + unlessPaused + `
				unless on ($target) (max by ($target) (max_over_time(aiperf_budget_exhausted[1h])) == 1)
				unless on ($target) (max by ($target) (max_over_time(aiperf_backoff_active[1h])) == 1)`,
			dashboard: "aiperf-target", by: levels["workload"][1:],
			summary:     "{target} gets less than half of the requests of the workload {workload} that it should",
			description: "Everything that counts requests decides later, or not at all. aiperf_arrivals_dropped_total says what became of them.",
		})),
		s.silent(),
		s.alert(&alert{
			name: "AIPerfSLOSeriesMissing", severity: ticket, wait: "10m",
			expr:      "max by ($slo) (aiperf_slo_objective_ratio) unless max by ($slo) (aiperf_slo_requests_total)",
			dashboard: "aiperf-target", by: levels["slo"][1:],
			summary:     "Nothing is counted for the SLO {slo} of the workload {workload} on {target}",
			description: "It has an objective and no requests, and so can never be missed.",
		}),
	}
}

// hanging is a request that is out and does not end, of a load that has no rate or of any other.
const hanging = `
	or
		time() - max by ($workload) (aiperf_last_completion_timestamp_seconds) > 900
	and
		sum by ($workload) (min_over_time(aiperf_inflight_requests{phase=~"prefill|decode"}[15m])) > 0
	unless
		time() - max by ($workload) (aiperf_last_completion_timestamp_seconds)
			< 5 * max_over_time(workload:aiperf_request_duration_seconds:mean1h[1d])`

func (s *Site) silent() Rule {
	silent := make([]string, len(silences))
	for i, w := range silences {
		silent[i] = fmt.Sprintf(`
		time() - max by ($workload) (aiperf_last_completion_timestamp_seconds) > %d
	and
		sum by ($workload) (avg_over_time(aiperf_load_target_rate[%s])) * %[1]d >= 7`, w.seconds, w.window)
	}
	return about("No request has ended although at least seven should have: that is chance with a probability of e^-7. Times in which the load is off do\n"+
		"not count. Where the server sets the rate nothing is expected, but a request that has been out for a quarter of an hour, and for five times as\n"+
		"long as usual, hangs.",
		s.alert(&alert{
			name: "AIPerfTargetSilent", severity: ticket, wait: "2m",
			expr:      "\t(" + strings.Join(silent, "\n\tor") + hanging + "\n\t)\n\t" + unlessPaused,
			dashboard: "aiperf-target", by: levels["workload"][1:],
			summary: "No request of the workload {workload} to {target} has ended for {duration}",
			description: "It is not paused, and at least seven should have ended, or one has been out for all that time, as aiperf_inflight_requests says. " +
				"Nothing is known of the target since then.",
		}))
}

func (s *Site) explained() []Rule {
	return family("States that explain why requests are missing. Of exporters that share a budget one may have spent its part before the others, and one without\n"+
		"a part of the load never does.",
		s.alert(&alert{
			name: "AIPerfBudgetExhausted", severity: info, wait: "15m",
			expr: `
				min by ($target) (
					aiperf_budget_exhausted == 1
						or
					aiperf_budget_exhausted and on ($target, instance) sum by ($target, instance) (increase(aiperf_arrivals_total[1h])) > 0
				) == 1`,
			dashboard: "aiperf-target", by: []string{"target"},
			summary:     "The budget of {target} is used up",
			description: "No request is sent until the next period begins. aiperf_budget_used says of what.",
		}),
		s.alert(&alert{
			name: "AIPerfBackoffActive", severity: info, wait: "15m",
			expr:      "max by ($target) (aiperf_backoff_active) == 1",
			dashboard: "aiperf-target", by: []string{"target"},
			summary:     "{target} has asked to be left alone",
			description: "Arrivals are dropped meanwhile. aiperf_retry_after_seconds is what it asked for.",
		}),
		s.alert(&alert{
			name: "AIPerfPausedLong", severity: info, wait: "0m",
			expr:      "min_over_time(target:aiperf_paused:bool[1d]) == 1 and target:aiperf_paused:bool offset 1d == 1",
			dashboard: "aiperf-target", by: []string{"target"},
			summary:     "{target} has been paused for a day",
			description: "No alert about it can fire while it is.",
		}),
	)
}
