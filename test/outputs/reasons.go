package main

import "strings"

// explanation is why a place may differ.
type explanation struct {
	field string // as in difference; a * stands for anything
	why   string
}

// Reasons that several places have.
const (
	overTime   = "over time, not over requests: what the series of the daemon are for (docs/throughput.md)"
	adjusted   = "percentiles in which a failure lasts for ever: here failures are in the SLO and in request_error_rate"
	itsLibrary = "reads and writes of AIPerf's HTTP library"
	itsOptions = "an option that only AIPerf has"
	oneKey     = "what AIPerf has no place for stands under one key"
	zone       = "here with a zone: a time without one is another in each country"
	itsIndex   = "a number within AIPerf's plan of phases and conversations"
)

// reasons are all that are accepted.
var reasons = []explanation{
	{"json aiperf_version", "no reader may take our file for one of AIPerf: generator stands in its place"},
	{"json generator.*", "stands in the place of aiperf_version"},
	{"json exporter.*", oneKey},
	{"json start_time", zone},
	{"json end_time", zone},
	{"json telemetry_data.summary.*_time", zone},
	{"json active_*", overTime},
	{"json effective_*", overTime},
	{"json tokens_in_flight", overTime},
	{"csv block 1 Active *", overTime},
	{"csv block 1 Effective *", overTime},
	{"csv block 1 Tokens In Flight (tokens)", overTime},
	{"json adj_*", adjusted},
	{"csv block 1 * (error-adjusted) (ms)", adjusted},
	{"json http_req_chunks_*", itsLibrary},
	{"csv block 1 HTTP Chunks *", itsLibrary},
	{"jsonl success.metrics.http_req_chunks_*", itsLibrary},
	{"json input_config.artifacts.*", itsOptions},
	{"json input_config.datasets[].*", itsOptions},
	{"json input_config.endpoint.use_server_token_count", "the server's count is always taken if there is one"},
	{"json input_config.gpu_telemetry.*", itsOptions},
	{"json input_config.mlflow", itsOptions},
	{"json input_config.network_latency.*", itsOptions},
	{"json input_config.otel", itsOptions},
	{"json input_config.runtime.*", itsOptions},
	{"json input_config.server_metrics.*", itsOptions},
	{"json input_config.tokenizer.*", itsOptions},
	{"json input_config.wandb", itsOptions},
	{"csv, numbers", "two decimals turn a small figure into 0.00"},
	{"jsonl *.exporter.*", oneKey},
	{"jsonl *.metadata.conversation_id", itsIndex},
	{"jsonl *.metadata.phase_index", itsIndex},
	{"jsonl *.metadata.profiling_index", itsIndex},
	{"jsonl failure.metadata.request_ack_ns", "a refusal has a header, too"},
	{"jsonl failure.metrics", "AIPerf has no figures of failures here"},
	{"jsonl *.metrics.credit_to_start_latency", "in AIPerf only in the summary"},
	{"jsonl success.metrics.effective_latency", "in AIPerf only in the summary"},
}

// reason is why a place differs; "" = nobody knows.
func reason(field string) string {
	for i := range reasons {
		if reasons[i].holds(field) {
			return reasons[i].why
		}
	}
	return ""
}

func (e *explanation) holds(field string) bool {
	parts := strings.Split(e.field, "*")
	last := len(parts) - 1
	if last == 0 {
		return field == e.field
	}
	rest, ok := strings.CutPrefix(field, parts[0])
	for _, part := range parts[1:last] {
		var found bool
		_, rest, found = strings.Cut(rest, part)
		ok = ok && found
	}
	return ok && strings.HasSuffix(rest, parts[last])
}

// unneeded are the reasons of differences that there are not.
func unneeded(all []difference) []explanation {
	var out []explanation
	for i := range reasons {
		needed := false
		for _, d := range all {
			needed = needed || reasons[i].holds(d.field)
		}
		if !needed {
			out = append(out, reasons[i])
		}
	}
	return out
}
