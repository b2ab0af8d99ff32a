package main

import "strings"

// reasons are questions that have no answer in this test, by page, panel and perhaps letter; with the form of histograms before it, in that form only.
var reasons = map[string]string{
	"native rules: workload:aiperf_time_to_first_token_seconds:p95_adjusted1h": "a native histogram has no bucket for what never came",
	"rules: workload:aiperf_time_to_first_token_seconds:ln_median6h_base14d":   sevenDays,
	"rules: workload:aiperf_time_to_first_token_seconds:ln_median6h_sd14d":     sevenDays,
	"rules: workload:aiperf_time_to_first_token_seconds:regression_t14d":       sevenDays,
	"rules: workload:aiperf_inter_token_latency_seconds:ln_median6h_base14d":   sevenDays,
	"rules: workload:aiperf_inter_token_latency_seconds:ln_median6h_sd14d":     sevenDays,
	"rules: workload:aiperf_inter_token_latency_seconds:regression_t14d":       sevenDays,
	"rules: vantage:aiperf_slo_requests:increase5m":                            nowhere,
	"rules: vantage:aiperf_bad_requests:increase5m":                            nowhere,
	"rules: vantage:aiperf_outage_evidence:nats5m":                             nowhere,
	"rules: vantage:aiperf_slo_requests:increase30m":                           nowhere,
	"rules: vantage:aiperf_bad_requests:increase30m":                           nowhere,
	"rules: vantage:aiperf_outage_evidence:nats30m":                            nowhere,
	"rules: vantage:aiperf_outage:bool":                                        nowhere,
	"rules: fleet:aiperf_vantages:count":                                       nowhere,
	"rules: fleet:aiperf_vantages_bad:ratio":                                   nowhere,
	"rules: vantage:aiperf_time_to_first_token_seconds:p50_5m":                 nowhere,
	"rules: vantage:aiperf_time_to_first_token_seconds:p50_excess_5m":          nowhere,
	"rules: vantage:aiperf_time_to_first_token_seconds:p50_1h":                 nowhere,
	"rules: vantage:aiperf_time_to_first_token_seconds:p50_excess_1h":          nowhere,
	"aiperf-target: Median time to first token now, a day and a week ago B":    "needs a day",
	"aiperf-target: Median time to first token now, a day and a week ago C":    "needs a week",
	"aiperf-target: Median against its usual range A":                          sevenDays,
	"aiperf-target: Median against its usual range B":                          sevenDays,
	"aiperf-target: Slower than the last 14 days?":                             sevenDays,
	"aiperf-correlation: Engine asleep, replicas mixed A":                      "neither server can sleep",
	"aiperf-exporter: Loads of the configuration B":                            "the configuration has no secrets",
	"aiperf-exporter: Looks that failed B":                                     "files of targets can be read",
	"aiperf-exporter: OTLP exports":                                            "OTLP is off",
	"aiperf-exporter: Data points and spans over OTLP":                         "OTLP is off",
	"aiperf-exporter: Since the last export":                                   "OTLP is off",
	"aiperf-gpu: Share of the time held back":                                  "the driver's counters stand still",
	"aiperf-gpu: Memory and tensor units at work A":                            "the driver tells no DRAM activity",
	"aiperf-correlation: event Server restarts":                                restarts,
	"aiperf-correlation: event Model changes":                                  restarts,
	"aiperf-correlation: event Exporter starts":                                restarts,
	"aiperf-exporter: event Server restarts":                                   restarts,
	"aiperf-exporter: event Model changes":                                     restarts,
	"aiperf-exporter: event Exporter starts":                                   restarts,
	"aiperf-fleet: event Server restarts":                                      restarts,
	"aiperf-fleet: event Model changes":                                        restarts,
	"aiperf-fleet: event Exporter starts":                                      restarts,
	"aiperf-gpu: event Server restarts":                                        restarts,
	"aiperf-gpu: event Model changes":                                          restarts,
	"aiperf-gpu: event Exporter starts":                                        restarts,
	"aiperf-target: event Server restarts":                                     restarts,
	"aiperf-target: event Model changes":                                       restarts,
	"aiperf-target: event Exporter starts":                                     restarts,
}

// absent is what queries of pages for people have no answer to here, by what they read.
var absent = map[string]string{
	"offset 1h":                   "needs an hour",
	"offset 1d":                   "needs a day",
	"ln_median6h_base14d":         sevenDays,
	"regression_t14d":             sevenDays,
	"aiperf_exporter_otlp_":       "OTLP is off",
	"aiperf_server_engine_asleep": "neither server can sleep",
	"aiperf_rate_limit_remaining": "no server tells what is left of a quota",
}

const (
	restarts  = "nothing is restarted, or serves another model"
	sevenDays = "needs 7 days"
	nowhere   = "no exporter has the label vantage"
)

// excuse is the reason for an empty answer, "" if there is none.
func excuse(q *question, form string, used map[string]bool) string {
	for _, name := range []string{q.name(), strings.TrimSuffix(q.name(), " "+q.ref), form + " " + q.name()} {
		if reason, ok := reasons[name]; ok {
			used[name] = true
			return reason
		}
	}
	var found string
	for text, reason := range absent {
		if q.plain && strings.Contains(q.expr, text) {
			used[text], found = true, reason
		}
	}
	return found
}
