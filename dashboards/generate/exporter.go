package main

import "github.com/aiperf-exporter/aiperf-exporter/dashboards/board"

// exporter answers: can I trust what the other pages say?
func exporter() *board.Dashboard {
	return &board.Dashboard{
		UID: "aiperf-exporter", Title: "aiperf / Exporter", From: "now-6h",
		Help: "Can the exporter be trusted right now? Its own faults, and those of its host; what a slow server brings about is not here.",
		Variables: []board.Variable{
			job(),
			{Name: "instance", Label: "Exporter", Help: "Address of the exporter.", Query: `label_values(aiperf_exporter_build_info{job=~"$job"}, instance)`},
		},
		First: exporterFirst(),
		Rows: []board.Row{
			{Key: "instrument", Title: "The instrument", Panels: exporterInstrument()},
			{Key: "process", Title: "Process", Panels: exporterProcess()},
			{Key: "config", Title: "Configuration, targets and series", Panels: exporterConfig()},
			{Key: "collectors", Title: "What it reads: servers, GPUs, discovery (if configured)", Panels: exporterCollectors()},
			{Key: "outputs", Title: "What it sends and keeps: OTLP, captures, probes (if configured)", Folded: true, Panels: exporterOutputs()},
		},
	}
}

const exporterOne = `{job=~"$job",instance=~"$instance"}`

// ofExporter is a selector of the chosen exporters with further matchers.
func ofExporter(matchers string) string {
	return exporterOne[:len(exporterOne)-1] + "," + matchers + "}"
}

func exporterFirst() []board.Panel {
	return []board.Panel{
		{
			Key: "up", Title: "Exporters up", W: 4, H: 4, Unit: board.Plain, Form: board.Number{Names: true}, Empty: "not scraped", Base: "text",
			Help: "Exporters that Prometheus could read at its last attempt, of those it knows.",
			Queries: []board.Query{
				{Now: true, Legend: "up", Expr: `sum(up` + exporterOne + `)`},
				{Now: true, Legend: "known", Expr: `count(up` + exporterOne + `)`},
			},
		},
		{
			Key: "error-bar", Title: "Error bar", W: 4, H: 4, Unit: board.Seconds, Form: board.Number{Course: true}, Empty: "selftest is off",
			Steps:   []board.Step{{From: 0.005, Colour: board.Warning}, {From: 0.01, Colour: board.Bad}},
			Help:    "What measured instants may be wrong by: p99 of the errors of the null target in the last minute. A difference between two servers that is smaller is none. 1 to 2 ms is a host that is well.",
			Queries: []board.Query{{Expr: `max(aiperf_selftest_error_bar_seconds` + exporterOne + `)`}},
		},
		{
			Key: "wakeup", Title: "Late wake-ups, p99", W: 4, H: 4, Unit: board.Seconds, Form: board.Number{}, Empty: "too few wake-ups",
			Steps:   []board.Step{{From: 0.02, Colour: board.Warning}, {From: 0.1, Colour: board.Bad}},
			Help:    "How late load schedulers woke up in the last 5 minutes. Over 0.1 s is a host that stood still; a server cannot cause it.",
			Queries: []board.Query{{Now: true, Expr: quantile(0.99, "aiperf_scheduler_wakeup_delay_seconds", exporterOne, "", "5m")}},
		},
		{
			Key: "suspect-share", Title: "Doubtful requests, 1 h", W: 4, H: 4, Unit: board.Share, Form: board.Number{}, Steps: board.ShareSteps(0.0001, 0.01),
			Help:    "Share of the requests of the last hour during which the exporter or its host was at fault. They stay in all series.",
			Queries: []board.Query{{Now: true, Expr: `sum(increase(aiperf_suspect_requests_total` + exporterOne + `[1h])) / (sum(increase(aiperf_requests_total` + exporterOne + `[1h])) > 0)`}},
		},
		{
			Key: "own-drops", Title: "Own drops, 1 h", W: 4, H: 4, Unit: board.Count, Decimals: new(0.0), Form: board.Number{}, Steps: []board.Step{{From: 1, Colour: board.Bad}},
			Help:    "Requests of the last hour that were never sent through the exporter's own fault: it was late, or a global limit was reached.",
			Queries: []board.Query{{Now: true, Expr: `sum(increase(aiperf_arrivals_dropped_total` + ofExporter(`reason=~"scheduler_late|global_limit"`) + `[1h]))`}},
		},
		{
			Key: "reload", Title: "Configuration", W: 4, H: 4, Unit: board.Plain, Form: board.Number{Filled: true}, Empty: "not scraped",
			Words:   []board.Word{board.Is(0, "rejected", board.Bad), board.Is(1, "in use", board.Good), board.Is(2, "restart needed", board.Warning)},
			Help:    "rejected: the last file was wrong and the one before stays in use, see the log. restart needed: it asks for something that only a restart gives.",
			Queries: []board.Query{{Now: true, Expr: `min(aiperf_exporter_config_last_reload_successful` + exporterOne + ` + (aiperf_exporter_config_restart_required` + exporterOne + ` > 0 and aiperf_exporter_config_last_reload_successful` + exporterOne + ` == 1 or aiperf_exporter_config_restart_required` + exporterOne + ` == 0))`}},
		},
		{
			Key: "suspect", Title: "At fault, by cause", W: 24, H: 7, Unit: board.Plain, Form: board.States{}, Empty: "not scraped",
			Words:   []board.Word{board.Is(0, "no", board.Good), board.Is(1, "at fault", board.Bad)},
			Help:    "When the exporter or its host was at fault, and why. Do not blame a server for what was measured meanwhile. docs/instrument.md says what to do for each cause.",
			Queries: []board.Query{{Legend: "{{instance}} {{cause}}", Expr: `max by (instance, cause) (aiperf_exporter_suspect` + exporterOne + `)`}},
		},
		{
			Key: "drops", Title: "Arrivals that were never sent", W: 12, H: 7, Unit: board.Requests, Form: board.Lines{Stacked: true}, Min: new(0.0), Empty: "nothing dropped",
			Help:    "By reason. scheduler_late and global_limit are the exporter's own fault; the others are the server's slowness or intended.",
			Named:   dropColours(),
			Queries: []board.Query{{Legend: "{{reason}}", Expr: `sum by (reason) (rate(aiperf_arrivals_dropped_total` + exporterOne + `[$__rate_interval])) > 0`}},
		},
		{
			Key: "inflight", Title: "Requests under way", W: 12, H: 7, Unit: board.Count, Form: board.Lines{}, Min: new(0.0),
			Help:    "Requests of all targets that run now, of each exporter. global.max_in_flight is where it ends: beyond, arrivals are dropped as global_limit.",
			Queries: []board.Query{{Legend: "{{instance}}", Expr: `sum by (instance) (aiperf_exporter_inflight_requests` + exporterOne + `)`}},
		},
	}
}

func exporterInstrument() []board.Panel {
	return []board.Panel{
		{
			Key: "selftest", Title: "Errors of the null target", W: 8, H: 8, Unit: board.Seconds, Form: board.Heat{}, Empty: "selftest is off",
			Help:    "Distance of every token of the null target from its plan: an upper bound of what this exporter gets wrong.",
			Queries: []board.Query{{Legend: "{{le}}", Expr: `sum(increase(aiperf_selftest_error_seconds` + exporterOne + `[$__rate_interval])) or on () sum by (le) (increase(aiperf_selftest_error_seconds_bucket` + exporterOne + `[$__rate_interval]))`}},
		},
		{
			Key: "delays", Title: "Delays of the exporter, p99", W: 8, H: 8, Unit: board.Seconds, Form: board.Lines{Log: true},
			Help: "wake-up: schedulers came late. kernel to handling: how long bytes lay in the kernel, in no latency where the kernel stamps. building: prompt and body. Of 5 minutes.",
			Queries: []board.Query{
				{Legend: "wake-up", Style: board.Style{Colour: board.Bad}, Expr: quantile(0.99, "aiperf_scheduler_wakeup_delay_seconds", exporterOne, "", "5m")},
				{Legend: "kernel to handling", Style: board.Style{Colour: board.Server}, Expr: quantile(0.99, "aiperf_exporter_instrument_delay_seconds", exporterOne, "", "5m")},
				{Legend: "building", Style: board.Style{Colour: board.Mean}, Expr: quantile(0.99, "aiperf_exporter_prepare_seconds", exporterOne, "", "5m")},
			},
			Empty: "fewer than 500 in 5 minutes",
		},
		{
			Key: "stamps", Title: "Stamps and clocks", W: 8, H: 8, Unit: board.Count, Form: board.Lines{}, Min: new(0.0),
			Help: "In 5 minutes: reads without a usable stamp of the kernel, steps of the wall clock, records that are impossible, panics that were caught. All are to be 0.",
			Queries: []board.Query{
				{Legend: "without kernel stamp", Expr: `sum(increase(aiperf_timestamp_fallbacks_total` + exporterOne + `[5m]))`},
				{Legend: "clock steps", Expr: `sum(increase(aiperf_exporter_wall_clock_steps_total` + exporterOne + `[5m]))`},
				{Legend: "impossible records", Expr: `sum(increase(aiperf_invalid_records_total` + exporterOne + `[5m]))`},
				{Legend: "panics", Style: board.Style{Colour: board.Bad}, Expr: `sum(increase(aiperf_exporter_panics_total` + exporterOne + `[5m]))`},
			},
		},
	}
}

func exporterProcess() []board.Panel {
	one := func(key, title, help string, unit board.Unit, legend, expr string) board.Panel {
		return board.Panel{
			Key: key, Title: title, Help: help, W: 8, H: 7, Unit: unit, Form: board.Lines{}, Min: new(0.0), Empty: "not scraped",
			Queries: []board.Query{{Legend: legend, Expr: expr}},
		}
	}
	throttled := one("throttled", "Denied the processor", "Seconds per second for which the control group's quota was used up, summed over processors. Above 0.05: raise the CPU limit, or set none.",
		board.Share, "{{instance}}", `sum by (instance) (rate(aiperf_exporter_cpu_throttled_seconds_total`+exporterOne+`[$__rate_interval]))`)
	throttled.Empty = "no control group with a quota"
	return []board.Panel{
		one("cpu", "Processors used", "Of each exporter. Near the number it has: delays grow, and with them the error bar.",
			board.Cores, "{{instance}}", `sum by (instance) (rate(process_cpu_seconds_total`+exporterOne+`[$__rate_interval]))`),
		throttled,
		{
			Key: "sched", Title: "Waiting for a processor, and pauses", W: 8, H: 7, Unit: board.Seconds, Form: board.Lines{Log: true},
			Help: "p99 of how long ready goroutines waited, and of how long the garbage collector stopped all, in 5 minutes. Above 10 ms the exporter calls itself suspect.",
			Queries: []board.Query{
				{Legend: "ready and waiting", Style: board.Style{Colour: board.P99}, Expr: `histogram_quantile(0.99, sum by (le) (rate(go_sched_latencies_seconds_bucket` + exporterOne + `[5m])))`},
				{Legend: "garbage collector", Style: board.Style{Colour: board.Mean}, Expr: `histogram_quantile(0.99, sum by (le) (rate(go_sched_pauses_total_gc_seconds_bucket` + exporterOne + `[5m])))`},
			},
			Empty: "not scraped",
		},
		one("memory", "Resident memory", "Of each exporter. It grows with targets, streams under way and kept records, and is flat otherwise.",
			board.Bytes, "{{instance}}", `sum by (instance) (process_resident_memory_bytes`+exporterOne+`)`),
		one("goroutines", "Goroutines", "Of each exporter. A steady rise without new targets is a leak: report it.",
			board.Count, "{{instance}}", `sum by (instance) (go_goroutines`+exporterOne+`)`),
		one("connections", "Connections opened", "By target. With connection_reuse this is small; a rise means that somebody on the way closes them.",
			board.Requests, "{{target}}", `sum by (target) (rate(aiperf_exporter_connections_opened_total`+exporterOne+`[$__rate_interval]))`),
	}
}

func exporterConfig() []board.Panel {
	return []board.Panel{
		{
			Key: "build", Title: "Versions and configurations", W: 12, H: 7, Unit: board.Plain, Empty: "not scraped",
			Help: "What runs where. Exporters that share a load must have the same hash.",
			Queries: []board.Query{
				{Now: true, Expr: `max by (instance, version, hash) (aiperf_exporter_config_info` + exporterOne + ` * on (job, instance) group_left (version) aiperf_exporter_build_info` + exporterOne + `)`},
				{Now: true, Expr: `max by (instance, version, hash) (aiperf_exporter_config_info` + exporterOne + ` * on (job, instance) group_left (version) aiperf_exporter_build_info` + exporterOne + ` * on (job, instance) group_left () (time() - aiperf_exporter_config_last_reload_success_timestamp_seconds` + exporterOne + `))`},
				{Now: true, Expr: `max by (instance, version, hash) (aiperf_exporter_config_info` + exporterOne + ` * on (job, instance) group_left (version) aiperf_exporter_build_info` + exporterOne + ` * on (job, instance) group_left () (time() - process_start_time_seconds` + exporterOne + `))`},
			},
			Form: board.Table{Sorted: "Running for", Columns: []board.Column{
				{Title: "Exporter", Label: "instance"},
				{Title: "Version", Label: "version"},
				{Title: "Configuration", Label: "hash"},
				{Title: "Loaded", Query: 2, Unit: board.Seconds, Width: 110},
				{Title: "Running for", Query: 3, Unit: board.Seconds, Width: 110},
			}},
		},
		{
			Key: "states", Title: "Targets by state", W: 6, H: 7, Unit: board.Plain, Form: board.Lines{Stacked: true}, Min: new(0.0), Empty: "not scraped",
			Help: "paused, budget and backoff are held back on purpose; failed could not be built from the configuration.",
			Named: board.Colours("running", board.Good, "starting", board.Client, "paused", board.Absent, "backoff", board.Warning, "budget", board.Colour("light-yellow"),
				"draining", board.Server, "failed", board.Bad),
			Queries: []board.Query{{Legend: "{{state}}", Expr: `sum by (state) (aiperf_exporter_targets` + exporterOne + `)`}},
		},
		{
			Key: "series", Title: "Series of each target", W: 6, H: 7, Unit: board.Count, Form: board.Gauges{}, Min: new(0.0), Base: board.Client, Empty: "not scraped",
			Help:    "Estimated series that a target costs your Prometheus. Extra labels and classic buckets make most of them.",
			Queries: []board.Query{{Now: true, Legend: "{{target}}", Expr: `topk(20, max by (target) (aiperf_exporter_series` + exporterOne + `))`}},
		},
		{
			Key: "reloads", Title: "Loads of the configuration", W: 8, H: 7, Unit: board.Count, Form: board.Lines{Stacked: true}, Min: new(0.0), Empty: "never loaded anew",
			Help:  "Attempts in 5 minutes, by result, and failures to read secrets. A failure keeps what was there before.",
			Named: board.Colours("success", board.Good, "failure", board.Bad, "secret not read", board.Page),
			Queries: []board.Query{
				{Legend: "{{result}}", Expr: `sum by (result) (increase(aiperf_exporter_config_reloads_total` + exporterOne + `[5m]))`},
				{Legend: "secret not read", Expr: `sum(increase(aiperf_exporter_secret_read_errors_total` + exporterOne + `[5m]))`},
			},
		},
		{
			Key: "budgets", Title: "Budgets of all targets together", W: 8, H: 7, Unit: board.Share, Form: board.Gauges{}, Min: new(0.0), Max: new(1.0), Steps: board.ShareSteps(0.8, 1),
			Help:    "What has been spent in the running period, of global.budget. At 100 % no target is probed until the period ends.",
			Queries: []board.Query{{Now: true, Legend: "{{kind}} a {{period}}", Expr: `max by (kind, period) (aiperf_exporter_budget_used` + exporterOne + ` / (aiperf_exporter_budget_limit` + exporterOne + ` > 0))`}},
			Empty:   "no global budget",
		},
		{
			Key: "discovery", Title: "Discovered targets", W: 8, H: 7, Unit: board.Plain, Form: board.Lines{}, Min: new(0.0), Empty: "no discovery is configured",
			Help: "Targets of each set that are in use, and those that were found and are not, by reason (dashed).",
			Queries: []board.Query{
				{Legend: "{{set}}", Expr: `sum by (set) (aiperf_exporter_discovery_targets` + exporterOne + `)`},
				{Legend: "{{set}} {{reason}}", Style: board.Style{Dashed: true}, Expr: `sum by (set, reason) (aiperf_exporter_discovery_dropped_targets` + exporterOne + `) > 0`},
			},
		},
	}
}

func exporterCollectors() []board.Panel {
	return []board.Panel{
		{
			Key: "looks", Title: "Age of the last look", W: 8, H: 8, Unit: board.Seconds, Form: board.Lines{}, Min: new(0.0), Empty: "nothing is read",
			Help:    "Time since a collector last read a server or GPUs. It saws up to the interval; a line that climbs is a source that is gone.",
			Queries: []board.Query{{Legend: "{{collector}} {{target}}", Expr: `max by (collector, target) (time() - aiperf_scrape_last_success_timestamp_seconds` + exporterOne + `)`}},
		},
		{
			Key: "look-errors", Title: "Looks that failed", W: 8, H: 8, Unit: board.Count, Form: board.Lines{Stacked: true}, Min: new(0.0), Empty: "none failed",
			Help: "In 5 minutes, by reason, and failures of discovery. not_found: the server has no page of metrics there.",
			Queries: []board.Query{
				{Legend: "{{collector}} {{target}} {{reason}}", Expr: `sum by (collector, target, reason) (increase(aiperf_scrape_errors_total` + exporterOne + `[5m])) > 0`},
				{Legend: "discovery {{set}}", Expr: `sum by (set) (increase(aiperf_exporter_discovery_failures_total` + exporterOne + `[5m])) > 0`},
			},
		},
		{
			Key: "look-duration", Title: "Duration of a look, p90", W: 8, H: 8, Unit: board.Seconds, Form: board.Lines{Log: true}, Empty: "fewer than 50 looks in 1 h",
			Help:    "How long a collector waits for the whole answer, in an hour. Near its timeout a source is about to be lost.",
			Queries: []board.Query{{Legend: "{{collector}}", Expr: quantile(0.9, "aiperf_scrape_duration_seconds", exporterOne, "collector", "1h")}},
		},
	}
}

func exporterOutputs() []board.Panel {
	return []board.Panel{
		{
			Key: "otlp", Title: "OTLP exports", W: 8, H: 8, Unit: board.Requests, Form: board.Lines{Stacked: true}, Min: new(0.0), Empty: "OTLP is off",
			Help:  "Exports and failed attempts per second. A failed attempt is tried again; nothing is lost while exports succeed.",
			Named: board.Colours("success", board.Good, "error", board.Bad),
			Queries: []board.Query{
				{Legend: "{{result}}", Expr: `sum by (result) (rate(aiperf_exporter_otlp_exports_total` + exporterOne + `[$__rate_interval]))`},
				{Legend: "attempt: {{reason}}", Expr: `sum by (reason) (rate(aiperf_exporter_otlp_errors_total` + exporterOne + `[$__rate_interval])) > 0`},
			},
		},
		{
			Key: "otlp-points", Title: "Data points and spans over OTLP", W: 8, H: 8, Unit: board.Count, Form: board.Lines{Stacked: true}, Min: new(0.0), Empty: "OTLP is off",
			Help: "In 5 minutes, by what became of them. rejected: the collector's reason is in the log. dropped spans: too many waited.",
			Queries: []board.Query{
				{Legend: "points {{result}}", Expr: `sum by (result) (increase(aiperf_exporter_otlp_data_points_total` + exporterOne + `[5m]))`},
				{Legend: "spans {{result}}", Expr: `sum by (result) (increase(aiperf_exporter_otlp_spans_total` + exporterOne + `[5m]))`},
			},
		},
		{
			Key: "otlp-age", Title: "Since the last export", W: 8, H: 8, Unit: board.Seconds, Form: board.Lines{}, Min: new(0.0), Empty: "OTLP is off",
			Help:    "Time since metrics were last taken by the collector. It saws up to the interval.",
			Queries: []board.Query{{Legend: "{{instance}}", Expr: `max by (instance) (time() - aiperf_exporter_otlp_last_success_timestamp_seconds` + exporterOne + `)`}},
		},
		{
			Key: "captures", Title: "Captured streams", W: 8, H: 8, Unit: board.Count, Form: board.Lines{}, Min: new(0.0), Empty: "debug.capture is off",
			Help: "Streams that are kept and can be downloaded, those taken in 5 minutes by reason, and those that gave way.",
			Queries: []board.Query{
				{Legend: "kept", Style: board.Style{Colour: board.Client}, Expr: `sum(aiperf_exporter_captures` + exporterOne + `)`},
				{Legend: "taken: {{reason}}", Expr: `sum by (reason) (increase(aiperf_exporter_captures_taken_total` + exporterOne + `[5m]))`},
				{Legend: "gone: {{reason}}", Style: board.Style{Dashed: true}, Expr: `sum by (reason) (increase(aiperf_exporter_captures_dropped_total` + exporterOne + `[5m]))`},
			},
		},
		{
			Key: "kept", Title: "Memory of what is kept", W: 8, H: 8, Unit: board.Bytes, Form: board.Lines{}, Min: new(0.0), Empty: "not scraped",
			Help: "Records of requests and captured streams. Both have a limit and give the oldest up.",
			Queries: []board.Query{
				{Legend: "records", Style: board.Style{Colour: board.Client}, Expr: `sum(aiperf_exporter_history_bytes` + exporterOne + `)`},
				{Legend: "captures", Style: board.Style{Colour: board.Server}, Expr: `sum(aiperf_exporter_captures_bytes` + exporterOne + `)`},
			},
		},
		{
			Key: "probes", Title: "Probes on demand", W: 8, H: 8, Unit: board.Requests, Form: board.Lines{Stacked: true}, Min: new(0.0), Empty: "nobody asked",
			Help: "Requests that /probe sent, by module and result, and probes that were refused.",
			Queries: []board.Query{
				{Legend: "{{module}} {{result}}", Expr: `sum by (module, result) (rate(aiperf_exporter_probe_requests_total` + exporterOne + `[$__rate_interval])) > 0`},
				{Legend: "refused: {{reason}}", Expr: `sum by (reason) (rate(aiperf_exporter_probe_rejected_total` + exporterOne + `[$__rate_interval])) > 0`},
			},
		},
	}
}
