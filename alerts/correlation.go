package alerts

import "fmt"

// worked is how much servers did: added up for each exporter and kind of server, of which the largest is taken, since exporters that share a load read
// the same servers, and a front end counts what the engine behind it does.
func worked(series, window string) string {
	return fmt.Sprintf("max by ($target) (sum by ($target, instance, server) (rate(%s[%s])))", series, window)
}

// share is a part of what servers did, likewise.
func share(part, whole, window string) string {
	return fmt.Sprintf(`
		max by ($target) (
			sum by ($target, instance, server) (rate(%s[%[3]s]))
				/ (sum by ($target, instance, server) (rate(%[2]s[%[3]s])) > 0)
		)`, part, whole, window)
}

// servers is the mean of a histogram that servers have.
func servers(histogram string) string { return share(histogram+"_sum", histogram+"_count", "5m") }

// mean is that of a histogram of ours in either form, by a level.
func mean(level, histogram, selector, window string) string {
	return fmt.Sprintf(`
		histogram_sum(sum by (%[1]s) (rate(%[2]s%[3]s[%[4]s])))
			/ (histogram_count(sum by (%[1]s) (rate(%[2]s%[3]s[%[4]s]))) > 0)
			or
		sum by (%[1]s) (rate(%[2]s_sum%[3]s[%[4]s]))
			/ (sum by (%[1]s) (rate(%[2]s_count%[3]s[%[4]s])) > 0)`, level, histogram, selector, window)
}

func (s *Site) clientAndServer() Group {
	const ttft, itl = "aiperf_time_to_first_token_seconds", "aiperf_inter_token_latency_seconds"
	return Group{
		File: "correlation", Name: "aiperf-client-and-server",
		Rules: []Rule{
			s.record("target:aiperf_time_to_first_token_seconds:mean5m", mean("$target", ttft, "", "5m")),
			s.record("target:aiperf_server_time_to_first_token_seconds:mean5m", servers("aiperf_server_time_to_first_token_seconds")),
			about("What the way to the server costs this exporter: waiting for a connection, name lookup, TCP, TLS, writing the request.",
				s.record("target:aiperf_request_way_seconds:mean5m", `
					sum by ($target) (histogram_sum(rate(aiperf_http_phase_seconds{phase=~"blocked|dns|connect|tls|send"}[5m])))
						/ (sum by ($target) (histogram_count(rate(aiperf_http_phase_seconds{phase="send"}[5m]))) > 0)
						or
					sum by ($target) (rate(aiperf_http_phase_seconds_sum{phase=~"blocked|dns|connect|tls|send"}[5m]))
						/ (sum by ($target) (rate(aiperf_http_phase_seconds_count{phase="send"}[5m])) > 0)`)),
			about("What the server's own clock does not see: the network, TLS, gateways and proxies, and its front end before it starts the clock.",
				s.record("target:aiperf_ttft_residual_seconds:mean5m",
					"target:aiperf_time_to_first_token_seconds:mean5m - target:aiperf_server_time_to_first_token_seconds:mean5m")),
			about("What is left of that when this exporter's own way to the server is taken off: nobody has measured where it went.",
				s.record("target:aiperf_ttft_unexplained_seconds:mean5m", "target:aiperf_ttft_residual_seconds:mean5m - target:aiperf_request_way_seconds:mean5m")),
			s.record("target:aiperf_server_queue_share:ratio5m",
				servers("aiperf_server_queue_seconds")+"\n\t\t\t/ target:aiperf_server_time_to_first_token_seconds:mean5m"),
			s.record("target:aiperf_inter_token_latency_seconds:mean5m", mean("$target", itl, "", "5m")),
			s.record("target:aiperf_server_inter_token_latency_seconds:mean5m", servers("aiperf_server_inter_token_latency_seconds")),
			about("Buffering on the way makes it positive; where a chunk holds several tokens the client's gap is one of tokens already.",
				s.record("target:aiperf_itl_residual_seconds:mean5m",
					"target:aiperf_inter_token_latency_seconds:mean5m - target:aiperf_server_inter_token_latency_seconds:mean5m")),
			s.record("target:aiperf_server_prefill_seconds_per_kilotoken:mean5m", `
				1000 * (
						`+worked("aiperf_server_prefill_seconds_sum", "5m")+`
							or
						`+worked("aiperf_server_prefill_time_seconds_total", "5m")+`
				)
					/ (
						(
								`+worked("aiperf_server_prompt_tokens_total", "5m")+`
									- `+worked("aiperf_server_prefix_cache_hit_tokens_total", "5m")+`
									or
								`+worked("aiperf_server_prompt_tokens_total", "5m")+`
						) > 0
					)`),
			s.record("target:aiperf_server_kv_cache_usage:max", "max by ($target) (aiperf_server_kv_cache_usage_ratio)"),
			s.record("target:aiperf_server_prefix_hit:ratio5m",
				share("aiperf_server_prefix_cache_hit_tokens_total", "aiperf_server_prefix_cache_queried_tokens_total", "5m")),
			s.record("target:aiperf_server_spec_acceptance:ratio1h",
				share("aiperf_server_spec_decode_accepted_tokens_total", "aiperf_server_spec_decode_draft_tokens_total", "1h")),
			about("How much of the server's work this exporter is (what the server refuses, it has not finished): below a twentieth the two views are of\n"+
				"different requests.",
				s.record("target:aiperf_canary_share:ratio5m", `
					sum by ($target) (rate(aiperf_requests_total{outcome="success"}[5m]))
						/ (`+worked("aiperf_server_requests_finished_total", "5m")+` > 0)`)),
		},
	}
}

// ofGPUs adds a value of a target's GPUs up. A GPU that two sources see counts once.
func ofGPUs(value string) string {
	return `sum by ($target) (
	max by ($target, uuid, mig_instance) (aiperf_target_gpu_info)
		* on ($job, uuid, mig_instance) group_left () max by ($job, uuid, mig_instance) (` + value + `)
)`
}

func (s *Site) energyAndCost() Group {
	return Group{
		File: "correlation", Name: "aiperf-energy-and-cost",
		Rules: []Rule{
			about("A GPU that two sources see counts once.", s.record("target:aiperf_gpu_power_watts:sum", ofGPUs("aiperf_gpu_power_watts"))),
			s.record("target:aiperf_gpu_energy_watts:rate5m", ofGPUs("rate(aiperf_gpu_energy_joules_total[5m])")),
			about("The server's tokens over the GPUs' joules: this exporter's tokens would have to carry everybody's energy.",
				s.record("target:aiperf_tokens_per_joule:ratio5m", `
					`+worked("aiperf_server_generation_tokens_total", "5m")+`
						/ (target:aiperf_gpu_energy_watts:rate5m > 0)`)),
			s.record("target:aiperf_joules_per_request:ratio5m", `
				target:aiperf_gpu_energy_watts:rate5m
					/ (`+worked("aiperf_server_requests_finished_total", "5m")+` > 0)`),
			about("What the machines cost for a million tokens at the throughput of the last hour.",
				s.record("target:aiperf_machine_cost_per_million_output_tokens:rate1h", `
					1e6 / 3600 * max by ($target, currency) (aiperf_target_cost_per_hour)
						/ on ($target) group_left () (
								`+worked("aiperf_server_generation_tokens_total", "1h")+` > 0
						)`)),
			s.record("target:aiperf_energy_cost_per_million_output_tokens:rate1h", `
				1e6 / 3.6e6 * max by ($target, currency) (aiperf_target_energy_cost_per_kilowatt_hour)
					* on ($target) group_left () (
							`+indented(ofGPUs("rate(aiperf_gpu_energy_joules_total[1h])"), "\t\t\t\t\t\t\t")+`
							/ (`+worked("aiperf_server_generation_tokens_total", "1h")+` > 0)
					)`),
			about("What this exporter's own requests cost per hour where a vendor asks for tokens.",
				s.record("target:aiperf_token_spend_per_hour:rate1h", `
					sum by ($target, currency) (
						3600 / 1e6 * max by ($target, token_type, currency) (aiperf_target_price_per_million_tokens)
							* on ($target, token_type) group_left () sum by ($target, token_type) (rate(aiperf_tokens_total[1h]))
					)`)),
		},
	}
}
