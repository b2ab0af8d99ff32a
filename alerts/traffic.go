package alerts

import "slices"

// settled is the time over which the phases of a workload are known, of all exporters that share it. Their clocks run side by side, so times are not
// added up; but where one has taken the place of another, each has a part of the window.
const settled = `(
	clamp_max(sum by ($workload) (rate(aiperf_sweep_settled_seconds_total[{w}])), 1)
		> avg by ($workload) (rate(aiperf_sweep_settled_seconds_total[{w}]))
		or
	avg by ($workload) (rate(aiperf_sweep_settled_seconds_total[{w}])) > 0
)`

// finished is the rate of requests that succeeded or failed.
const finished = `(sum by ($workload) (rate(aiperf_requests_total{outcome=~"success|error"}[{w}])) > 0)`

func (s *Site) traffic() Group {
	g := Group{
		File: "traffic", Name: "aiperf-traffic", Interval: "30s",
		About: "What is sent, what fails, what is not sent, and how fast answers come.",
	}
	for _, window := range []string{"5m", "1h"} {
		g.Rules = append(g.Rules, family("The last "+window+".",
			s.record(over(window, "workload:aiperf_requests:rate{w}"), over(window, "sum by ($workload, outcome) (rate(aiperf_requests_total[{w}]))")),
			s.record(over(window, "workload:aiperf_request_errors:ratio{w}"), over(window, `
				sum by ($workload, error_class) (rate(aiperf_request_errors_total[{w}]))
					/ on ($workload) group_left () `+finished)),
			s.record(over(window, "workload:aiperf_requests_error:ratio{w}"), over(window, `
				sum by ($workload) (rate(aiperf_requests_total{outcome="error"}[{w}]))
					/ `+finished)),
			s.record(over(window, "workload:aiperf_phase_throughput_effective:tokens_per_second{w}"), over(window, `
				sum by ($workload, phase) (rate(aiperf_phase_tokens_total[{w}]))
					/ on ($workload) group_left () `+indented(settled, "\t\t\t\t\t"))),
			s.record(over(window, "workload:aiperf_phase_throughput_active:tokens_per_second{w}"), over(window, `
				sum by ($workload, phase) (rate(aiperf_phase_tokens_total[{w}]))
					/ (sum by ($workload, phase) (rate(aiperf_phase_active_seconds_total[{w}])) > 0)`)),
			s.record(over(window, "workload:aiperf_phase_concurrency:mean{w}"), over(window, `
				sum by ($workload, phase) (rate(aiperf_phase_request_seconds_total[{w}]))
					/ on ($workload) group_left () `+indented(settled, "\t\t\t\t\t"))),
			s.record(over(window, "workload:aiperf_arrivals_dropped:ratio{w}"), over(window, `
				sum by ($workload, reason) (rate(aiperf_arrivals_dropped_total[{w}]))
					/ on ($workload) group_left () (sum by ($workload) (rate(aiperf_arrivals_total[{w}])) > 0)`)),
		)...)
	}
	g.Rules = append(g.Rules, family("Paused wherever it is asked from: then nobody sends, and nothing can be said of the target.",
		s.record("target:aiperf_paused:bool", "min by ($target) (aiperf_load_paused) > bool 0"))...)
	g.Rules = append(g.Rules, family("Arrivals that could not be sent because earlier ones hold every slot.", s.arrivalsDropped())...)
	return g
}

func (s *Site) arrivalsDropped() Rule {
	return s.alert(&alert{
		name: "AIPerfArrivalsDropped", severity: ticket, wait: "5m",
		expr: `
			sum by ($workload, reason) (rate(aiperf_arrivals_dropped_total{reason=~"in_flight|queue_full|queue_timeout|overlap"}[30m]))
				/ on ($workload) group_left () (sum by ($workload) (rate(aiperf_arrivals_total[30m])) > 0)
				> 0.05
			and
				sum by ($workload, reason) (increase(aiperf_arrivals_dropped_total[30m])) >= 3
			and
				sum by ($workload, reason) (increase(aiperf_arrivals_dropped_total[10m])) > 0
			` + unlessPaused,
		dashboard: "aiperf-target", by: levels["workload"][1:],
		summary:     "Requests of the workload {workload} to {target} are not sent: {reason}",
		description: "{percent} of the arrivals of the last 30 minutes were dropped. The server is slower than the load assumes, or the limit is too low.",
	})
}

// exporter is what the exporters find wrong with themselves.
func (s *Site) exporter() Group {
	const late = "exporter:aiperf_scheduler_wakeup_delay_seconds:late5m"
	suspect := func(cause, expr string) Rule {
		r := s.record("exporter:aiperf_suspect:bool", expr)
		r.Labels = []Pair{{"cause", cause}}
		return r
	}
	return Group{
		File: "exporter", Name: "aiperf-exporter", Interval: "30s",
		About: "Whether the exporters can be trusted. Only what a server cannot bring about counts: full slots and late starts are findings about the server.",
		Rules: slices.Concat(family("Load schedulers that woke up more than 0.1 s late, and that more often than once in a hundred times.",
			s.record(late, `
				histogram_count(sum by ($exporter) (increase(aiperf_scheduler_wakeup_delay_seconds[5m])))
					* histogram_fraction(0.1, Inf, sum by ($exporter) (rate(aiperf_scheduler_wakeup_delay_seconds[5m])))
					or
				sum by ($exporter) (increase(aiperf_scheduler_wakeup_delay_seconds_count[5m]))
					- sum by ($exporter) (increase(aiperf_scheduler_wakeup_delay_seconds_bucket{le="0.1"}[5m]))`),
			suspect("wakeup", `
				(`+late+` > bool 1.5)
					* (
						`+late+`
							/ (
								histogram_count(sum by ($exporter) (increase(aiperf_scheduler_wakeup_delay_seconds[5m])))
									or
								sum by ($exporter) (increase(aiperf_scheduler_wakeup_delay_seconds_count[5m]))
							)
							> bool 0.01
					)`),
		), family("Arrivals dropped for reasons of the exporter's own, processor time denied, the null target's error, goroutines that wait to run.",
			suspect("drops", `
				(sum by ($exporter) (increase(aiperf_arrivals_dropped_total{reason=~"scheduler_late|global_limit"}[5m])) > bool 1.5)
					* (
						sum by ($exporter) (rate(aiperf_arrivals_dropped_total{reason=~"scheduler_late|global_limit"}[5m]))
							/ sum by ($exporter) (rate(aiperf_arrivals_total[5m]))
							> bool 0.02
					)`),
			suspect("cpu_throttled", "sum by ($exporter) (rate(aiperf_exporter_cpu_throttled_seconds_total[5m])) > bool 0.05"),
			suspect("selftest", `max by ($exporter) (avg_over_time(aiperf_exporter_suspect{cause="selftest"}[5m])) > bool 0.5`),
			suspect("go_scheduler", `max by ($exporter) (avg_over_time(aiperf_exporter_suspect{cause="go_scheduler"}[5m])) > bool 0.5`),
		), s.trust()),
	}
}

// trust is what follows from the causes.
func (s *Site) trust() []Rule {
	rules := family("A target is suspect where an exporter that asks it is.",
		s.record("job:aiperf_suspect:bool", "max by ($job) (exporter:aiperf_suspect:bool)"),
		s.record("target:aiperf_suspect:bool", `
			max by ($target) (
				max by ($target, instance) (aiperf_target_info)
					* on ($exporter) group_left () max by ($exporter) (exporter:aiperf_suspect:bool)
			)`),
		s.alert(&alert{
			name: "AIPerfGeneratorSuspect", severity: ticket, wait: "2m", keep: "15m",
			expr:      "max by ($exporter, cause) (exporter:aiperf_suspect:bool) == 1",
			dashboard: "aiperf-exporter", by: []string{"job", "instance"},
			summary:     "The exporter {instance} does not measure rightly: {cause}",
			description: "Its host or its limits hold it back. Figures of that time are too high or too few; alerts about SLOs of its targets are held back.",
		}),
		s.alert(&alert{
			name: "AIPerfMeasurementSuspect", severity: info, wait: "1m", keep: "15m",
			expr:      "target:aiperf_suspect:bool == 1",
			dashboard: "aiperf-target", by: []string{"target"},
			summary:     "Figures of {target} are in doubt: an exporter that asks it is suspect",
			description: "Alerts about its SLOs and its own past are held back meanwhile, one about an outage is not. AIPerfGeneratorSuspect says why.",
		}),
	)
	return append(rules, family("The exporters' own plumbing.",
		s.alert(&alert{
			name: "AIPerfConfigReloadFailed", severity: ticket, wait: "5m",
			expr:      "max by ($exporter) (aiperf_exporter_config_last_reload_successful) == 0",
			dashboard: "aiperf-exporter", by: []string{"job", "instance"},
			summary:     "The exporter {instance} refuses its new configuration",
			description: "It goes on with the one before. A restart would fail.",
		}),
		s.alert(&alert{
			name: "AIPerfScrapeFailing", severity: ticket, wait: "5m",
			expr: `
				max by ($target, collector) (time() - aiperf_scrape_last_success_timestamp_seconds) > 300
				and
					sum by ($target, collector) (increase(aiperf_scrape_errors_total[15m])) > 0
				` + unlessPaused,
			dashboard: "aiperf-exporter", by: []string{"job"},
			summary:     "Collector {collector} has read nothing of {target} for {duration}",
			description: "Series of the server or the GPUs are missing since then. aiperf_scrape_errors_total says why.",
		}),
		s.alert(&alert{
			name: "AIPerfOTLPFailing", severity: ticket, wait: "15m",
			expr: `
				sum by ($exporter) (increase(aiperf_exporter_otlp_errors_total[15m])) > 3
				and
					sum by ($exporter) (increase(aiperf_exporter_otlp_errors_total[5m])) > 0`,
			dashboard: "aiperf-exporter", by: []string{"job", "instance"},
			summary:     "The exporter {instance} cannot send over OTLP",
			description: "{value} attempts failed in 15 minutes. aiperf_exporter_otlp_errors_total says why.",
		}),
	)...)
}
