package alerts

import "slices"

// busiest is how much the busiest GPU of a target works.
const busiest = `max by ($target) (
	aiperf_target_gpu_info
		* on ($job, uuid, mig_instance) group_left () max by ($job, uuid, mig_instance) (avg_over_time(aiperf_gpu_utilization_ratio[15m]))
)`

// server is what servers and their GPUs say of themselves. Exporters that share a load read the same servers, and a front end may count what its
// engine counts, so that numbers are added up for each exporter and kind of server and the largest is taken.
func (s *Site) server() Group {
	return Group{
		File: "server", Name: "aiperf-server", Interval: "1m",
		About: "Causes on the servers' side.",
		Rules: slices.Concat(s.saturation(), s.faults()),
	}
}

// cause is an alert that the page of correlations explains.
func (s *Site) cause(a alert) Rule {
	a.dashboard, a.by = "aiperf-correlation", []string{"target"}
	return s.alert(&a)
}

// saturation is too much to do, or too little of it getting through.
func (s *Site) saturation() []Rule {
	return []Rule{
		about("A cache that is full of what can be thrown away is no harm: then nothing waits, and nothing is put back.", s.cause(alert{
			name: "AIPerfKVCacheSaturated", severity: ticket, wait: "5m",
			expr: `
				min_over_time(target:aiperf_server_kv_cache_usage:max[10m]) > 0.95
				unless
					(
						max by ($target) (max_over_time(aiperf_server_requests_waiting[10m])) == 0
							and
						max by ($target) (increase(aiperf_server_preemptions_total[10m])) == 0
					)`,
			summary:     "The KV cache of a server of {target} is full",
			description: "At least {percent} of it has been taken for ten minutes: requests wait, or are put back.",
		})),
		s.cause(alert{
			name: "AIPerfPreemptions", severity: ticket, wait: "5m",
			expr: `
				max by ($target) (sum by ($target, instance, server) (increase(aiperf_server_preemptions_total[15m]))) > 5
				and
					target:aiperf_server_kv_cache_usage:max > 0.9`,
			summary:     "Servers of {target} put running requests back for want of KV cache",
			description: "{value} times in 15 minutes. Streams stall, and what was computed is computed again.",
		}),
		s.cause(alert{
			name: "AIPerfQueueGrowing", severity: ticket, wait: "10m",
			expr: `
				max by ($target) (sum by ($target, instance, server) (deriv(aiperf_server_requests_waiting[15m]))) * 900 > 5
				and
					max by ($target) (sum by ($target, instance, server) (min_over_time(aiperf_server_requests_waiting[10m]))) > 0
				and
					target:aiperf_server_queue_share:ratio5m > 0.5`,
			summary:     "The queue of {target} grows",
			description: "By {value} requests in 15 minutes, and most of the time to first token is spent in it: more comes than it can do.",
		}),
		s.cause(alert{
			name: "AIPerfCanarySlowServerFast", severity: ticket, wait: "15m",
			expr: `
				target:aiperf_ttft_residual_seconds:mean5m > 0.25
				and
					target:aiperf_ttft_residual_seconds:mean5m / target:aiperf_time_to_first_token_seconds:mean5m > 0.5
				and
					sum by ($target) (workload:aiperf_time_to_first_token_seconds:count5m) >= 5
				` + unlessPaused + `
				` + unlessSuspect,
			summary:     "{target} is slow for clients and fast by its own clock",
			description: "{duration} of the time to first token are not the server's, more than half of it: network, TLS, gateway, proxy.",
		}),
		s.cause(alert{
			name: "AIPerfSLOBrokenGPUIdle", severity: ticket, wait: "10m",
			expr: `
				max by ($target) (slo:aiperf_breach_evidence:nats1h and slo:aiperf_burn_rate:ratio5m > 1) >= 7
				and
					` + indented(busiest, "\t\t\t\t\t") + ` < 0.3
				` + unlessPaused,
			summary:     "{target} misses an SLO while its GPUs have nothing to do",
			description: "Not one was busy for a third of the last 15 minutes: look at the router, the queue, a stuck engine.",
		}),
	}
}

// faults are states in which servers, or what is read of them, should not be.
func (s *Site) faults() []Rule {
	return []Rule{
		s.cause(alert{
			name: "AIPerfReplicasMixed", severity: info, wait: "15m",
			expr:        "max by ($target) (aiperf_server_replicas_mixed) == 1",
			summary:     "The metrics of {target} come from another replica each time",
			description: "Its counters are withheld, since they would jump. List the replicas, or discover them.",
		}),
		s.cause(alert{
			name: "AIPerfEngineAsleep", severity: ticket, wait: "10m",
			expr: `
				max by ($target) (aiperf_server_engine_asleep) > 0
				and
					sum by ($target) (increase(aiperf_requests_total[10m])) > 0
				` + unlessPaused,
			summary:     "An engine of {target} is asleep while requests are sent",
			description: "Level {value}: 1 has its weights moved out, 2 has them discarded.",
		}),
		s.cause(alert{
			name: "AIPerfServerMetricsDown", severity: ticket, wait: "10m",
			expr: `
				max by ($target) (aiperf_server_up) == 0
				and
					sum by ($target) (increase(aiperf_requests_total{outcome="success"}[10m])) > 0`,
			summary:     "{target} answers requests, and its metrics cannot be read",
			description: "A fault of monitoring, not of the server: everything that says why it is slow is missing.",
		}),
	}
}

// gpu is what GPUs say of themselves, mapped to a target or not.
func (s *Site) gpu() Group {
	fault := func(a alert) Rule {
		a.dashboard, a.by = "aiperf-gpu", []string{"uuid"}
		return s.alert(&a)
	}
	// Sources may name the host differently, so that it is no label of the alert.
	const host = "{{ with printf `aiperf_gpu_up{job=%q,uuid=%q}` $labels.job $labels.uuid | query }}{{ . | first | label \"hostname\" }}{{ end }}"
	const thermal = `reason=~"hw_thermal_slowdown|sw_thermal_slowdown|hw_slowdown"`
	return Group{
		File: "server", Name: "aiperf-gpu", Interval: "1m",
		About: "Faults of GPUs, whether a target is known to use them or not.",
		Rules: []Rule{
			about("Codes that NVIDIA counts as faults of the hardware; those of applications are the next. 63 (a row was replaced) and 92 (many errors that were\n"+
				"corrected) wake nobody: AIPerfGPUEccUncorrected tells them. 45 is told by no alert: every process that is killed leaves it.", fault(alert{
				name: "AIPerfGPUXidHardware", severity: page, wait: "0m",
				expr:        `sum by ($job, hostname, uuid, xid) (increase(aiperf_gpu_xid_errors_total{xid=~"48|64|74|79|94|95|119|120"}[10m])) > 0`,
				summary:     "GPU {uuid} on {hostname} has a fault of its hardware: XID {xid}",
				description: "Processes on it may have died, or compute on wrong data.",
			})),
			fault(alert{
				name: "AIPerfGPUXidApplication", severity: ticket, wait: "0m",
				expr:        `sum by ($job, hostname, uuid, xid) (increase(aiperf_gpu_xid_errors_total{xid=~"13|31|43"}[10m])) > 0`,
				summary:     "A program on GPU {uuid} on {hostname} has crashed: XID {xid}",
				description: "Usually a fault of the program, not of the GPU; again and again on one GPU only, it may be the GPU.",
			}),
			fault(alert{
				name: "AIPerfGPUThermalThrottle", severity: ticket, wait: "5m",
				expr: `
					max by ($job, hostname, uuid) (avg_over_time(aiperf_gpu_clock_event_active{` + thermal + `}[10m])) > 0.1
						or
					max by ($job, hostname, uuid) (rate(aiperf_gpu_throttle_seconds_total{policy="thermal"}[10m])) > 0.1
						or
					max by ($job, hostname, uuid) (avg_over_time(aiperf_gpu_throttle_ratio{policy=~"socket_thermal|vr_thermal|hbm_thermal|processor_hot"}[10m])) > 0.1`,
				summary:     "GPU {uuid} on {hostname} is too hot and runs slower",
				description: "For {percent} of the last ten minutes.",
			}),
			fault(alert{
				name: "AIPerfGPUPowerCapped", severity: info, wait: "15m",
				expr:        `max by ($job, hostname, uuid) (avg_over_time(aiperf_gpu_clock_event_active{reason=~"sw_power_cap|hw_power_brake"}[30m])) > 0.5`,
				summary:     "GPU {uuid} on {hostname} runs at its power limit",
				description: "For {percent} of the last 30 minutes. Usual under full load; with little load it is not.",
			}),
			fault(alert{
				name: "AIPerfGPUEccUncorrected", severity: ticket, wait: "0m",
				expr: `
					sum by ($job, hostname, uuid) (increase(aiperf_gpu_ecc_errors_total{type="uncorrected", scope="volatile"}[1h])) > 0
						or
					sum by ($job, hostname, uuid) (increase(aiperf_gpu_xid_errors_total{xid=~"63|92"}[1h])) > 0
						or
					max by ($job, hostname, uuid) (aiperf_gpu_row_remap_failed) > 0`,
				summary: "The memory of GPU {uuid} on {hostname} has errors",
				description: "They could not be corrected, or a row was replaced because of them: what was computed may be wrong, and the GPU wants a reset. " +
					"Where rows can no longer be replaced it is to be exchanged.",
			}),
			fault(alert{
				name: "AIPerfGPULost", severity: page, wait: "2m",
				expr:        "max by ($job, uuid) (aiperf_gpu_up) == 0",
				summary:     "GPU {uuid} is gone",
				description: "Its driver no longer sees it, or it does not answer, on " + host + ". It is forgotten after ten minutes.",
			}),
		},
	}
}
