package main

import "github.com/aiperf-exporter/aiperf-exporter/dashboards/board"

// correlation answers: is it the server, the way to it, or somebody else's traffic?
func correlation() *board.Dashboard {
	return &board.Dashboard{
		UID: "aiperf-correlation", Title: "aiperf / Correlation", From: "now-6h", Target: true,
		Help:      "Whose fault is it: the server, the way to it, or other people's traffic? The client's means beside the server's own; panels share the crosshair.",
		Variables: []board.Variable{job(), oneTarget(), models(), workloads(), window("5m", "1h")},
		First:     append(correlationNumbers(), correlationFirst()...),
		Rows: []board.Row{
			{Key: "engine", Title: "Inside the server (if scraped)", Panels: correlationEngine()},
			{Key: "sides", Title: "Both sides, side by side", Panels: correlationSides()},
			{Key: "energy", Title: "GPUs, energy and cost (if scraped)", Panels: correlationEnergy()},
		},
	}
}

const (
	clientTTFT = "target:aiperf_time_to_first_token_seconds:mean5m"
	serverTTFT = "target:aiperf_server_time_to_first_token_seconds:mean5m"
	queueShare = "target:aiperf_server_queue_share:ratio5m"
	notScraped = "this server does not tell it, or its metrics are not scraped (server.metrics_url)"
	// gpuPerTarget repeats what is known of a GPU for each target that it serves, one that two sources see once.
	gpuPerTarget = `max by (job, target, uuid, mig_instance) (aiperf_target_gpu_info{T}) * on (job, uuid, mig_instance) group_left () max by (job, uuid, mig_instance) (%s)`
)

func correlationNumbers() []board.Panel {
	number := func(key, title, help string, unit board.Unit, colour board.Colour, expr string) board.Panel {
		return board.Panel{
			Key: key, Title: title, Help: help, W: 4, H: 4, Unit: unit, Form: board.Number{Course: true}, Base: colour, Empty: "not scraped",
			Queries: []board.Query{{Expr: ql("%s", expr)}},
		}
	}
	out := []board.Panel{
		{
			Key: "up", Title: "Server's page", W: 4, H: 4, Unit: board.Plain, Form: board.Number{Filled: true}, Empty: notScraped,
			Words:   []board.Word{board.Is(0, "cannot be read", board.Bad), board.Is(1, "read", board.Good)},
			Help:    "Whether the server's own metrics can be read. Without them only the client's side of this page has values.",
			Queries: []board.Query{{Now: true, Expr: ql(`max(aiperf_server_up{T})`)}},
		},
		number("client", "First token: client", "Mean time to first token of 5 minutes as this exporter measured it.", board.Seconds, board.Client, `max(`+clientTTFT+`{T})`),
		number("server", "First token: server", "The same by the server's own clock, over everybody's requests.", board.Seconds, board.Server, `max(`+serverTTFT+`{T})`),
		number("residual", "Difference", "What the server's clock did not see: network, TLS, gateways, and the server's front end before its clock starts. About 0: the server explains it all.",
			board.Seconds, board.Residual, `max(target:aiperf_ttft_residual_seconds:mean5m{T})`),
		number("canary", "Our share of its work", "Share of the server's finished requests that are ours. Below 5 % the server's histograms are of other people's prompts: compare courses, not values.",
			board.Share, board.Good, `max(target:aiperf_canary_share:ratio5m{T})`),
		number("restarts", "Restarts, 6 h", "Restarts of the server that were seen. After one its caches are empty and first tokens take longer.",
			board.Count, board.Good, `sum(increase(aiperf_server_restarts_total{T}[6h]))`),
	}
	out[4].Base, out[4].Steps = board.Warning, []board.Step{{From: 0.05, Colour: board.Good}}
	out[5].Form, out[5].Steps, out[5].Queries[0].Now = board.Number{}, []board.Step{{From: 0.5, Colour: board.Worse}}, true
	return out
}

func correlationFirst() []board.Panel {
	return []board.Panel{
		{
			Key: "parts", Title: "Where the time to first token goes", W: 24, H: 8, Unit: board.Seconds, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help: "The client's mean, taken apart. Queue: too little capacity or too much traffic. Prefill and the rest of the server: prompts, cache, batch. Way: name lookup, TCP, TLS, writing. Unexplained: network or a proxy that holds back. Means only: quantiles cannot be subtracted.",
			Queries: []board.Query{
				{Legend: "way to the server", Style: board.Style{Colour: board.Way}, Expr: ql(`max(target:aiperf_request_way_seconds:mean5m{T})`)},
				{Legend: "server: queue", Style: board.Style{Colour: board.Queue}, Expr: ql(`max(%s{T} * %s{T})`, serverTTFT, queueShare)},
				{Legend: "server: prefill and the rest", Style: board.Style{Colour: board.Prefill}, Expr: ql(`max(%[1]s{T} * (1 - %[2]s{T}) or %[1]s{T})`, serverTTFT, queueShare)},
				{Legend: "unexplained", Style: board.Style{Colour: board.Residual}, Expr: ql(`clamp_min(max(target:aiperf_ttft_unexplained_seconds:mean5m{T}), 0)`)},
				{Legend: "client", Style: board.Style{Colour: board.Client, Dashed: true}, Expr: ql(`max(%s{T})`, clientTTFT)},
			},
		},
		{
			Key: "queue", Title: "Requests in the server", W: 12, H: 6, Unit: board.Count, Form: board.Lines{}, Min: new(0.0),
			Help: "Running and waiting requests of everybody, and ours (dashed). Waiting above 0 for long: the server is full. Running far above ours: it works for others.",
			Queries: []board.Query{
				{Legend: "running", Style: board.Style{Colour: board.Server}, Expr: ql(`max(sum by (job, instance, target, server) (aiperf_server_requests_running{T}))`)},
				{Legend: "waiting", Style: board.Style{Colour: board.Bad}, Expr: ql(`max(sum by (job, instance, target, server) (aiperf_server_requests_waiting{T}))`)},
				{Legend: "ours", Style: board.Style{Colour: board.Client, Dashed: true}, Expr: ql(`sum(aiperf_inflight_requests{A,phase=~"prefill|decode"})`)},
			},
			Empty: notScraped,
		},
		{
			Key: "kv", Title: "KV cache", W: 12, H: 6, Unit: board.Share, Form: board.Lines{Steps: true}, Min: new(0.0), Max: new(1.0), Steps: board.ShareSteps(0.9, 0.95),
			Help: "Use of the fullest engine's KV cache, and share of prompt tokens found in the prefix cache. Near the lines requests are preempted and start again; a fall of the hits means prompts or routing changed.",
			Queries: []board.Query{
				{Legend: "used", Style: board.Style{Colour: board.Server}, Expr: ql(`max(target:aiperf_server_kv_cache_usage:max{T})`)},
				{Legend: "prefix hits", Style: board.Style{Colour: board.Good}, Expr: ql(`max(target:aiperf_server_prefix_hit:ratio5m{T})`)},
			},
			Empty: notScraped,
		},
	}
}

func correlationEngine() []board.Panel {
	return []board.Panel{
		{
			Key: "preemptions", Title: "Preemptions", W: 8, H: 7, Unit: board.Count, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "Requests that lost their place in the KV cache, in the window. Each is computed again: gaps in streams, and time to first token for others.",
			Queries: []board.Query{{Legend: "{{server}}", Style: board.Style{Colour: board.Worse}, Expr: ql(`sum by (server) (increase(aiperf_server_preemptions_total{T}[$window]))`)}},
			Empty:   "the server does not tell",
		},
		{
			Key: "spec", Title: "Accepted guesses", W: 8, H: 7, Unit: board.Share, Form: board.Lines{}, Min: new(0.0), Max: new(1.0),
			Help:    "Share of the tokens of speculative decoding that were accepted in the last hour. It follows what is asked; a fall makes every token slower.",
			Queries: []board.Query{{Legend: "accepted", Style: board.Style{Colour: board.Server}, Expr: ql(`max(target:aiperf_server_spec_acceptance:ratio1h{T})`)}},
			Empty:   "no speculative decoding, or not scraped",
		},
		{
			Key: "prefill-cost", Title: "Prefill of 1000 tokens", W: 8, H: 7, Unit: board.Seconds, Form: board.Lines{}, Min: new(0.0),
			Help:    "Seconds of prefill for a thousand prompt tokens that were not in the cache: luck with the cache is left out. A rise is a slower engine or GPU.",
			Queries: []board.Query{{Legend: "prefill", Style: board.Style{Colour: board.Prefill}, Expr: ql(`max(target:aiperf_server_prefill_seconds_per_kilotoken:mean5m{T})`)}},
			Empty:   "the server does not tell",
		},
		{
			Key: "finished", Title: "Requests that the server finished", W: 8, H: 7, Unit: board.Requests, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "By the server's own reason, everybody's. abort are clients that went away, often because they waited too long.",
			Queries: []board.Query{{Legend: "{{reason}}", Expr: ql(`sum by (reason) (rate(aiperf_server_requests_finished_total{T}[$__rate_interval]))`)}},
			Empty:   notScraped,
		},
		{
			Key: "server-tokens", Title: "Tokens of the server", W: 8, H: 7, Unit: board.TokensPerSecond, Form: board.Lines{}, Min: new(0.0),
			Help: "Prompt and generated tokens per second, everybody's. Generation that stays flat while requests wait is the most that this server gives.",
			Queries: []board.Query{
				{Legend: "prompt", Style: board.Style{Colour: board.Prefill}, Expr: ql(`max(sum by (job, instance, target, server) (rate(aiperf_server_prompt_tokens_total{T}[$__rate_interval])))`)},
				{Legend: "generated", Style: board.Style{Colour: board.Decode}, Expr: ql(`max(sum by (job, instance, target, server) (rate(aiperf_server_generation_tokens_total{T}[$__rate_interval])))`)},
			},
			Empty: notScraped,
		},
		{
			Key: "server-states", Title: "Engine asleep, replicas mixed", W: 8, H: 7, Unit: board.Plain, Form: board.States{},
			Help:  "asleep: the engine gave its memory back and has to wake. mixed: the page is that of another replica from one look to the next, as behind a load balancer, so counters are withheld: name the replicas in server.metrics_urls.",
			Words: []board.Word{board.Is(0, "no", board.Good), {From: 1, To: 9, Text: "yes", Colour: board.Worse}},
			Queries: []board.Query{
				{Legend: "asleep", Expr: ql(`max(aiperf_server_engine_asleep{T})`)},
				{Legend: "replicas mixed", Expr: ql(`max(aiperf_server_replicas_mixed{T})`)},
			},
			Empty: notScraped,
		},
	}
}

func correlationSides() []board.Panel {
	return []board.Panel{
		{
			Key: "itl", Title: "Time per token, both sides", W: 8, H: 8, Unit: board.Seconds, Form: board.Lines{},
			Help: "Means of 5 minutes and their difference. Clearly above 0: something on the way holds chunks back. About 0: the server is slow itself. Below: chunks hold several tokens.",
			Queries: []board.Query{
				{Legend: "client", Style: board.Style{Colour: board.Client}, Expr: ql(`max(target:aiperf_inter_token_latency_seconds:mean5m{T})`)},
				{Legend: "server", Style: board.Style{Colour: board.Server}, Expr: ql(`max(target:aiperf_server_inter_token_latency_seconds:mean5m{T})`)},
				{Legend: "difference", Style: board.Style{Colour: board.Residual}, Expr: ql(`max(target:aiperf_itl_residual_seconds:mean5m{T})`)},
			},
		},
		{
			Key: "client-ttft", Title: "Time to first token: client's quantiles", W: 8, H: 8, Unit: board.Seconds, Form: board.Lines{Log: true},
			Help:    "Of our requests. Beside the server's, never subtracted: the two are of different requests." + readQuantiles,
			Queries: sideQuantiles(ttft, "{A}"),
		},
		{
			Key: "server-ttft", Title: "Time to first token: server's quantiles", W: 8, H: 8, Unit: board.Seconds, Form: board.Lines{Log: true},
			Help:    "Of everybody's requests, in the coarser buckets of the server. It holds all traffic; with a small share of ours the two need not agree.",
			Queries: sideQuantiles("aiperf_server_time_to_first_token_seconds", "{T}"),
			Empty:   "the server has no histogram of it, or too few requests",
		},
	}
}

// sideQuantiles are few, with the same colours on both sides.
func sideQuantiles(histogram, selector string) []board.Query {
	return []board.Query{
		{Legend: "p50", Style: board.Style{Colour: board.P50}, Expr: quantile(0.5, histogram, selector, "", "$window")},
		{Legend: "p90", Style: board.Style{Colour: board.P90}, Expr: quantile(0.9, histogram, selector, "", "$window")},
		{Legend: "p95", Style: board.Style{Colour: board.P95}, Expr: quantile(0.95, histogram, selector, "", "$window")},
	}
}

func correlationEnergy() []board.Panel {
	return []board.Panel{
		{
			Key: "gpu-use", Title: "GPUs of this target: busy", W: 8, H: 8, Unit: board.Share, Form: board.Lines{}, Min: new(0.0), Max: new(1.0),
			Help:    "Share of the time in which a kernel ran, of each GPU. Low while requests wait: the router or a stuck engine. Click a line for the GPU's page.",
			Queries: []board.Query{{Legend: "{{uuid}} {{mig_instance}}", Expr: ql(gpuPerTarget, `aiperf_gpu_utilization_ratio{J}`)}},
			Empty:   "no GPU is mapped to this target",
			Links:   []board.Link{{Title: "GPU", UID: "aiperf-gpu", Choices: []board.Choice{{Variable: "uuid", Value: "${__field.labels.uuid}"}}}},
		},
		{
			Key: "throttle", Title: "GPUs of this target: held back", W: 8, H: 8, Unit: board.Plain, Form: board.States{},
			Help:  "Reasons that hold clocks down, power and heat first. A band that begins with the latency is the cause.",
			Words: []board.Word{board.Is(0, "no", board.Good), board.Is(1, "held back", board.Worse)},
			Queries: []board.Query{{Legend: "{{reason}}", Expr: ql(
				`max by (reason) (max by (job, uuid, mig_instance, reason) (aiperf_gpu_clock_event_active{J,reason=~"sw_power_cap|hw_slowdown|sw_thermal_slowdown|hw_thermal_slowdown|hw_power_brake"}) * on (job, uuid, mig_instance) group_left () max by (job, uuid, mig_instance) (aiperf_target_gpu_info{T}))`)}},
			Empty: "no GPU is mapped to this target",
		},
		{
			Key: "power", Title: "Power", W: 8, H: 8, Unit: board.Watts, Form: board.Lines{}, Min: new(0.0),
			Help: "Power of the target's GPUs now, and as the mean of 5 minutes from their energy counters.",
			Queries: []board.Query{
				{Legend: "now", Style: board.Style{Colour: board.Server}, Expr: ql(`max(target:aiperf_gpu_power_watts:sum{T})`)},
				{Legend: "mean of 5 m", Style: board.Style{Colour: board.Mean, Dashed: true}, Expr: ql(`max(target:aiperf_gpu_energy_watts:rate5m{T})`)},
			},
			Empty: "no GPU is mapped to this target",
		},
		{
			Key: "tokens-joule", Title: "Tokens for a joule", W: 8, H: 7, Unit: board.TokensPerJoule, Form: board.Lines{}, Min: new(0.0),
			Help:    "The server's generated tokens over the GPUs' energy. It rises with the load: a server with little to do still draws power.",
			Queries: []board.Query{{Legend: "tokens per joule", Style: board.Style{Colour: board.Good}, Expr: ql(`max(target:aiperf_tokens_per_joule:ratio5m{T})`)}},
			Empty:   "needs server metrics and GPUs",
		},
		{
			Key: "joules-request", Title: "Joules for a request", W: 8, H: 7, Unit: board.Joules, Form: board.Lines{}, Min: new(0.0),
			Help:    "The GPUs' energy over the server's finished requests, everybody's.",
			Queries: []board.Query{{Legend: "joules per request", Style: board.Style{Colour: board.Server}, Expr: ql(`max(target:aiperf_joules_per_request:ratio5m{T})`)}},
			Empty:   "needs server metrics and GPUs",
		},
		{
			Key: "cost", Title: "Cost of a million output tokens", W: 8, H: 7, Unit: board.Count, Form: board.Lines{}, Min: new(0.0),
			Help: "Machines and energy over what the server generated in the last hour, in the currency of the configuration. Too high in the first hour of a new target.",
			Queries: []board.Query{
				{Legend: "machines ({{currency}})", Style: board.Style{Colour: board.Server}, Expr: ql(`max by (currency) (target:aiperf_machine_cost_per_million_output_tokens:rate1h{T})`)},
				{Legend: "energy ({{currency}})", Style: board.Style{Colour: board.Residual}, Expr: ql(`max by (currency) (target:aiperf_energy_cost_per_million_output_tokens:rate1h{T})`)},
			},
			Empty: "no costs are configured",
		},
	}
}
