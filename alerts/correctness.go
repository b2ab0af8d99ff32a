package alerts

import "slices"

// tolerated is the share of wrong answers that is no finding: those that a canary expects do not fail at random.
const tolerated = "0.01"

// correctness is about what answers say, not how fast.
func (s *Site) correctness() Group {
	const judged = "workload:aiperf_requests_judged:increase1h"
	wrong := func(name, classes string) []Rule {
		bad := "workload:aiperf_" + name + ":increase1h"
		return []Rule{
			s.record(bad, `sum by ($workload) (increase(aiperf_request_errors_total{error_class=~"`+classes+`"}[1h]))`),
			s.record("workload:aiperf_"+name+"_evidence:nats1h", evidence(judged, bad, tolerated)),
		}
	}
	rules := family("Evidence, as for SLOs, that more than one request in a hundred has a wrong answer or a broken stream.",
		s.record(judged, `sum by ($workload) (increase(aiperf_requests_total{outcome=~"success|error"}[1h]))`))
	return Group{
		File: "correctness", Name: "aiperf-correctness", Interval: "1m",
		About: "Fast and wrong: answers that fail their checks, streams that break off, answers and models that have changed.",
		Rules: slices.Concat(rules, wrong("wrong_answers", "content_check"), wrong("broken_streams", "truncated|stream_error|empty|parse"), s.wrongAnswers()),
	}
}

func (s *Site) wrongAnswers() []Rule {
	wrong := func(a alert) Rule {
		a.dashboard, a.by = "aiperf-target", levels["workload"][1:]
		return s.alert(&a)
	}
	const of = " of "
	judged := s.now("workload", "workload:aiperf_requests_judged:increase1h") + " in an hour"
	return []Rule{
		wrong(alert{
			name: "AIPerfResponseCheckFailing", severity: page, wait: "1m", keep: "30m",
			expr: `
				workload:aiperf_wrong_answers_evidence:nats1h >= 7
				and
					workload:aiperf_wrong_answers:increase1h >= 3
				` + unlessPaused,
			summary: "Answers of {target} to the workload {workload} are wrong",
			description: s.now("workload", "workload:aiperf_wrong_answers:increase1h") + of + judged +
				" did not pass their checks. aiperf_answer_check_failures_total says which.",
		}),
		wrong(alert{
			name: "AIPerfStreamsTruncated", severity: ticket, wait: "1m", keep: "30m",
			expr: `
				workload:aiperf_broken_streams_evidence:nats1h >= 7
				and
					workload:aiperf_broken_streams:increase1h >= 3
				` + unlessPaused,
			summary: "Answers of {target} to the workload {workload} break off, are empty or no answers at all",
			description: s.now("workload", "workload:aiperf_broken_streams:increase1h") + of + judged +
				". aiperf_request_errors_total says how.",
		}),
		wrong(alert{
			name: "AIPerfOutputDrift", severity: ticket, wait: "10m",
			expr: `
				sum by ($workload) (increase(aiperf_output_fingerprint_total{result="changed"}[6h]))
					/ (sum by ($workload) (increase(aiperf_output_fingerprint_total[6h])) > 0)
					> 0.5
				and
					sum by ($workload) (increase(aiperf_output_fingerprint_total{result="changed"}[6h])) >= 3
				` + unlessPaused,
			summary:     "{target} answers the fixed questions of the workload {workload} differently than before",
			description: "{percent} of the answers of six hours: another model, quantization, template or engine.",
		}),
		about("From one model to another: what is not known yet is 0.", s.alert(&alert{
			name: "AIPerfModelChanged", severity: info, wait: "0m",
			expr:      "max by ($target) (changes((aiperf_target_served_model_hash > 0)[1h:1m])) > 0",
			dashboard: "aiperf-target", by: []string{"target"},
			summary:     "{target} serves another model, or the same in another configuration",
			description: "As the server itself says, {value} times in the last hour.",
		})),
	}
}
