package metrics

import "slices"

// Table lists every series of what this program measures. Nothing outside this room names one of them: the store, the series command and the
// reference in docs/ are made from it.
func Table() []Series {
	return slices.Concat(latencySeries(), tokenSeries(), productSeries(), answerSeries(), requestSeries(), loadSeries(), sloSeries(), costSeries(), sweepSeries(), stateSeries(), exporterSeries())
}

func latencySeries() []Series {
	return []Series{
		{
			Name: "aiperf_time_to_first_token_seconds", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "seconds", Bounds: boundsFirst, SLO: SLOTimeToFirstToken, Exemplars: true,
			observe: success(func(m *Measures) Value { return m.TTFT }),
			Help:    "Time from the start of a request to its first generated token, reasoning included; includes name lookup, TCP and TLS of a new connection. Streamed successes only.",
		},
		{
			Name: "aiperf_time_to_first_output_token_seconds", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "seconds", Bounds: boundsFirst, SLO: SLOTimeToFirstOutputToken,
			observe: success(func(m *Measures) Value { return m.TTFO }),
			Help:    "Time from the start of a request to its first generated token that is not reasoning. Streamed successes only.",
		},
		{
			Name: "aiperf_time_to_first_event_seconds", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "seconds", Bounds: boundsFirst,
			observe: success(func(m *Measures) Value { return m.FirstEvent }),
			Help:    "Time from the start of a request to the first event of its stream, even one without tokens such as a role chunk. Streamed successes only.",
		},
		{
			Name: "aiperf_second_token_gap_seconds", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "seconds", Bounds: boundsGap, SLO: SLOTimeToSecondToken,
			observe: success(func(m *Measures) Value { return m.TTST }),
			Help:    "Time between the first and the second content event of a stream; 0 when both came in one read. Streamed successes only.",
		},
		{
			Name: "aiperf_inter_token_latency_seconds", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "seconds", Bounds: boundsGap, SLO: SLOInterTokenLatency, Exemplars: true,
			observe: success(func(m *Measures) Value { return m.ITL }),
			Help:    "Mean time per output token after the first content event, one value per request. Absent for answers under two tokens and where output tokens are not counted. Streamed successes only.",
		},
		{
			Name: "aiperf_inter_chunk_latency_seconds", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "seconds", Bounds: boundsGap,
			Help: "Time between successive content events, every gap of every request; 0 for events of one read. A chunk may hold several tokens. Streamed successes only.",
		},
		{
			Name: "aiperf_request_duration_seconds", Kind: Histogram, Scope: PerTarget, Unit: "seconds", Bounds: boundsWhole, Labels: []Label{labelOutcome}, SLO: SLORequestLatency, Exemplars: true,
			observe: duration(),
			Help:    "Time from the start of a request to its last content event if it succeeded, else to the instant at which the failure or cancellation was observed.",
		},
		{
			Name: "aiperf_effective_latency_seconds", Kind: Histogram, Scope: PerTarget, Unit: "seconds", Bounds: boundsWhole, SLO: SLOEffectiveLatency, Exemplars: true,
			observe: success(func(m *Measures) Value { return m.EffectiveLatency }),
			Help:    "Time from the scheduled instant of a request to its last content event; includes waiting for a free slot, so a stalled server cannot hide behind requests that were not sent. Successes only.",
		},
		{
			Name: "aiperf_schedule_delay_seconds", Kind: Histogram, Scope: PerTarget, Unit: "seconds", Bounds: boundsFirst,
			observe: always(func(m *Measures) Value { return m.ScheduleDelay }),
			Help:    "Time from the scheduled instant of a request to its start, waiting for a free slot included. All outcomes.",
		},
		{
			Name: "aiperf_dispatch_delay_seconds", Kind: Histogram, Scope: PerTarget, Unit: "seconds", Bounds: boundsFirst,
			observe: always(func(m *Measures) Value { return m.DispatchDelay }),
			Help:    "Time from the admission of a request to its start, spent by this program on building it. All outcomes.",
		},
		{
			Name: "aiperf_decode_duration_seconds", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "seconds", Bounds: boundsWhole,
			observe: success(func(m *Measures) Value { return m.DecodeDuration }),
			Help:    "Time from the first to the last content event of a stream. Streamed successes only.",
		},
		{
			Name: "aiperf_stream_setup_seconds", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "seconds", Bounds: boundsFirst,
			observe: success(func(m *Measures) Value { return m.StreamSetup }),
			Help:    "Time from the start of a request to the header of its answer; says nothing about prefill where the server holds the header back until the first token. Streamed successes only.",
		},
		{
			Name: "aiperf_http_phase_seconds", Kind: Histogram, Scope: PerTarget, Unit: "seconds", Bounds: boundsFirst, Labels: []Label{{"phase", HTTPPhases}},
			observe: phases(),
			Help:    "Time spent in a phase of the HTTP exchange, if it happened: blocked (waiting for a connection), dns, connect (TCP), tls, send, wait (request written to first byte of the answer's header), receive (header to end). All outcomes.",
		},
	}
}

func tokenSeries() []Series {
	return []Series{
		{
			Name: "aiperf_input_tokens", Kind: Histogram, Scope: PerTarget, Unit: "tokens", Bounds: boundsTokens,
			observe: success(func(m *Measures) Value { return m.InputTokens }),
			Help:    "Input tokens of a request as counted by the server, else by a tokenizer in its texts, else the nominal length of the prompt. Successes only.",
		},
		{
			Name: "aiperf_output_tokens", Kind: Histogram, Scope: PerTarget, when: generates, Unit: "tokens", Bounds: boundsTokens,
			observe: success(func(m *Measures) Value { return m.OutputTokens }),
			Help:    "Output tokens of a request, reasoning included, as counted by the server, else by a tokenizer in its text, else the number of content events. Successes only.",
		},
		{
			Name: "aiperf_reasoning_tokens", Kind: Histogram, Scope: PerTarget, when: generates, Unit: "tokens", Bounds: boundsTokens,
			observe: success(func(m *Measures) Value { return m.ReasoningTokens }),
			Help:    "Reasoning tokens of a request, where the server or a tokenizer counts them. Successes only.",
		},
		{
			Name: "aiperf_output_tokens_per_second_per_user", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "tokens per second", Bounds: boundsRate, SLO: SLOPerUserThroughput,
			observe: success(func(m *Measures) Value { return m.PerUserRate }),
			Help:    "Speed at which one user sees tokens arrive, the inverse of the inter-token latency. Absent where that is absent or 0. Streamed successes only.",
		},
		{
			Name: "aiperf_e2e_output_tokens_per_second_per_user", Kind: Histogram, Scope: PerTarget, when: generates, Unit: "tokens per second", Bounds: boundsRate, SLO: SLOE2EThroughput,
			observe: success(func(m *Measures) Value { return m.E2ERate }),
			Help:    "Output tokens of a request over its whole duration. Successes only.",
		},
		{
			Name: "aiperf_prefill_tokens_per_second_per_user", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "tokens per second", Bounds: boundsPrefill,
			observe: success(func(m *Measures) Value { return m.PrefillRate }),
			Help:    "Input tokens of a request over its time to first token, network and queue included. Streamed successes only.",
		},
		{
			Name: "aiperf_tokens_total", Kind: Counter, Scope: PerTarget, Unit: "tokens", Labels: []Label{labelTokenType},
			Help: "Tokens of successful requests, added when a request ends. Reasoning is part of output; cached_input and cache_write are part of input.",
		},
		{
			Name: "aiperf_failed_request_tokens_total", Kind: Counter, Scope: PerTarget, Unit: "tokens", Labels: []Label{labelTokenType},
			Help: "Tokens received before a request failed or was cancelled.",
		},
		{
			Name: "aiperf_content_events_total", Kind: Counter, Scope: PerTarget, when: streams, Unit: "events",
			Help: "Content events of successful streams. Output tokens over content events is the number of tokens in a chunk: where it is over 1, gaps between chunks are not gaps between tokens.",
		},
		{
			Name: "aiperf_sse_coalesced_events_total", Kind: Counter, Scope: PerTarget, when: streams, Unit: "events",
			Help: "Content events of successful streams that shared a read with the one before them; their gaps are 0 and say nothing about the server.",
		},
		{
			Name: "aiperf_token_source_total", Kind: Counter, Scope: PerTarget, Unit: "requests", Labels: []Label{{"token_type", []string{"input", "output"}}, {"source", words(TokenSources)}},
			Help: "Successful requests by where their token count comes from: usage, usage_chunk (cumulative in chunks), tokenizer (of the configuration), events and dataset (both estimates), none.",
		},
		{
			Name: "aiperf_usage_missing_total", Kind: Counter, Scope: PerTarget, Unit: "requests",
			Help: "Successful requests for which the server told no token counts.",
		},
		{
			Name: "aiperf_osl_mismatch_total", Kind: Counter, Scope: PerTarget, when: generates, Unit: "requests",
			Help: "Successful requests whose output length differs from the wished one by more than the lesser of 5 % and 50 tokens.",
		},
		{
			Name: "aiperf_finish_reasons_total", Kind: Counter, Scope: PerTarget, when: generates, Unit: "requests", Labels: []Label{{"reason", words(FinishReasons)}},
			Help: "Successful requests by why the server stopped generating. Requests without a reason are left out.",
		},
	}
}

// productSeries are about what other endpoints than those of tokens give.
func productSeries() []Series {
	return []Series{
		{
			Name: "aiperf_time_to_first_image_seconds", Kind: Histogram, Scope: PerTarget, when: partialImages, Unit: "seconds", Bounds: boundsWhole,
			observe: success(func(m *Measures) Value { return m.FirstImage }),
			Help:    "Time from the start of a request to its first image, a partial one included. Streamed successes only.",
		},
		{
			Name: "aiperf_images_total", Kind: Counter, Scope: PerTarget, when: produces(ProductImages), Unit: "images",
			Help: "Images in successful answers, partial ones left out.",
		},
		{
			Name: "aiperf_embedding_vectors_total", Kind: Counter, Scope: PerTarget, when: produces(ProductVectors), Unit: "vectors",
			Help: "Embedding vectors in successful answers.",
		},
		{
			Name: "aiperf_ranked_documents_total", Kind: Counter, Scope: PerTarget, when: produces(ProductDocuments), Unit: "documents",
			Help: "Documents that successful answers ranked.",
		},
		{
			Name: "aiperf_audio_seconds_total", Kind: Counter, Scope: PerTarget, when: produces(ProductTranscript), Unit: "seconds",
			Help: "Length of the clips of successful requests. Over the sum of aiperf_request_duration_seconds it is how many times faster than real time they were transcribed.",
		},
	}
}

// answerSeries are about what answers say.
func answerSeries() []Series {
	return []Series{
		{
			Name: "aiperf_answer_check_failures_total", Kind: Counter, Scope: PerTarget, when: checked, Unit: "requests", Labels: []Label{labelCheck},
			Help: "Answers that did not pass a check, by kind of check; each is an error of class content_check.",
		},
		{
			Name: "aiperf_output_fingerprint_total", Kind: Counter, Scope: PerTarget, when: fingerprints, Unit: "requests", Labels: []Label{{"result", words(Drifts)}},
			Help: "Answers to fixed questions by whether they are those of the baseline: same, changed, or unknown as long as there is no stable baseline.",
		},
		{
			Name: "aiperf_output_fingerprint_match_ratio", Kind: Gauge, Scope: PerTarget, when: fingerprints, Unit: "ratio",
			Help: "Share of the last answer to a fixed question up to which it is that of the baseline; 1 until there is one.",
		},
		{
			Name: "aiperf_output_fingerprint_distance_nats", Kind: Gauge, Scope: PerTarget, when: fingerprints, Unit: "nats",
			Help: "Mean difference of the log-probabilities of the last answer to a fixed question from those of the baseline, as far as both are the same text; 0 until there is one, and where the server tells none.",
		},
		{
			Name: "aiperf_target_served_model_hash", Kind: Gauge, Scope: PerTarget,
			Help: "First 52 bits of a hash of the model and the configuration that the server last said it used (model, system_fingerprint); 0 until it has. A change of it is a change of what is served.",
		},
	}
}

// loadSeries are about the load and what holds it back.
func loadSeries() []Series {
	return []Series{
		{
			Name: "aiperf_backoff_active", Kind: Gauge, Scope: PerTarget,
			Help: "Whether arrivals are held back because the server asked for it, refuses what is sent, or (backoff.mode all) is out.",
		},
		{
			Name: "aiperf_budget_used", Kind: Gauge, Scope: PerTarget, when: budgeted, Labels: []Label{labelKind, labelPeriod},
			Help: "What the target has spent in the running calendar period, what running requests may still need included: requests, tokens or US dollars.",
		},
		{
			Name: "aiperf_budget_limit", Kind: Gauge, Scope: PerTarget, when: budgeted, Labels: []Label{labelKind, labelPeriod},
			Help: "What the target may spend in a calendar period.",
		},
		{
			Name: "aiperf_budget_exhausted", Kind: Gauge, Scope: PerTarget,
			Help: "Whether arrivals are dropped because a budget, the target's or that of all targets, has no room for another request in the running period.",
		},
		{
			Name: "aiperf_sessions_active", Kind: Gauge, Scope: PerTarget, when: converses, Unit: "sessions",
			Help: "Conversations that have begun and not ended.",
		},
		{
			Name: "aiperf_sessions_total", Kind: Counter, Scope: PerTarget, when: converses, Unit: "sessions", Labels: []Label{{"end", words(SessionEnds)}},
			Help: "Conversations that have ended: completed, failed (a turn failed), truncated (the next turn would not have fitted into the context, or too many were open).",
		},
		{
			Name: "aiperf_replay_passes_total", Kind: Counter, Scope: PerTarget, when: replays, Unit: "passes",
			Help: "Passes over the recording that are over.",
		},
		{
			Name: "aiperf_dataset_rows_skipped_total", Kind: Counter, Scope: PerTarget, when: recorded, Unit: "rows",
			Help: "Rows of the dataset that could not be read and were passed over.",
		},
		{
			Name: limitQuota, Kind: Gauge, Scope: PerTarget, seen: true, Labels: []Label{{"resource", LimitedResources}},
			Help: "Requests or tokens that the server allows in its own period, as it last said (x-ratelimit-limit-*); absent until it has.",
		},
		{
			Name: limitRemaining, Kind: Gauge, Scope: PerTarget, seen: true, Labels: []Label{{"resource", LimitedResources}},
			Help: "Requests or tokens that are left of that, as the server last said; absent until it has.",
		},
		{
			Name: limitReset, Kind: Gauge, Scope: PerTarget, seen: true, Unit: "seconds", Labels: []Label{{"resource", LimitedResources}},
			Help: "Time until that is whole again, as the server last said; absent until it has.",
		},
	}
}

func requestSeries() []Series {
	return []Series{
		{
			Name: "aiperf_arrivals_total", Kind: Counter, Scope: PerTarget, Unit: "arrivals",
			Help: "Instants at which the load wanted a request. At every scrape it is the sum of those sent, dropped and queued.",
		},
		{
			Name: "aiperf_arrivals_sent_total", Kind: Counter, Scope: PerTarget, Unit: "arrivals",
			Help: "Arrivals that became a request. Each ends as one of aiperf_requests_total or aiperf_warmup_requests_total.",
		},
		{
			Name: "aiperf_arrivals_dropped_total", Kind: Counter, Scope: PerTarget, Unit: "arrivals", Labels: []Label{{"reason", words(DropReasons)}},
			Help: "Arrivals that were never sent, by reason.",
		},
		{
			Name: "aiperf_requests_total", Kind: Counter, Scope: PerTarget, Unit: "requests", Labels: []Label{labelOutcome},
			Help: "Finished requests by outcome; cancelled are those that this program ended on purpose. Warm-up requests are left out.",
		},
		{
			Name: "aiperf_request_errors_total", Kind: Counter, Scope: PerTarget, Unit: "requests", Labels: []Label{{"error_class", words(ErrorClasses)}},
			Help: "Failed requests by error class.",
		},
		{
			Name: "aiperf_warmup_requests_total", Kind: Counter, Scope: PerTarget, Unit: "requests", Labels: []Label{labelOutcome},
			Help: "Finished warm-up requests, which touch no other series of requests.",
		},
		{
			Name: "aiperf_suspect_requests_total", Kind: Counter, Scope: PerTarget, Unit: "requests",
			Help: "Finished requests, any outcome, during which this program or its host was at fault (aiperf_exporter_suspect); they count in all other series as well. Warm-up requests are left out.",
		},
		{
			Name: "aiperf_http_responses_total", Kind: Counter, Scope: PerTarget, Unit: "responses", Labels: []Label{{"code", HTTPCodes}},
			Help: "HTTP answers by status code; the usual codes exist from the start, others appear when first seen, at most 60.",
		},
		{
			Name: "aiperf_http_connections_total", Kind: Counter, Scope: PerTarget, Unit: "requests", Labels: []Label{{"reused", []string{"true", "false"}}},
			Help: "Requests that obtained a connection, by whether an earlier request had used it.",
		},
		{
			Name: "aiperf_http_request_bytes_total", Kind: Counter, Scope: PerTarget, Unit: "bytes",
			Help: "Bytes of request bodies of all requests that obtained a connection.",
		},
		{
			Name: "aiperf_http_response_bytes_total", Kind: Counter, Scope: PerTarget, Unit: "bytes",
			Help: "Bytes of answer bodies received, all outcomes.",
		},
		{
			Name: "aiperf_unstreamed_answers_total", Kind: Counter, Scope: PerTarget, when: streams, Unit: "responses",
			Help: "Successful answers that came whole although a stream was asked for; they have no time to first token.",
		},
		{
			Name: "aiperf_sse_keepalives_total", Kind: Counter, Scope: PerTarget, Unit: "events",
			Help: "Comment lines in streams, which servers send to keep connections open.",
		},
		{
			Name: "aiperf_sse_parse_errors_total", Kind: Counter, Scope: PerTarget, Unit: "events",
			Help: "Events of streams that were not of the protocol; one makes its request fail with class parse.",
		},
		{
			Name: "aiperf_invalid_records_total", Kind: Counter, Scope: PerTarget, Unit: "requests", Labels: []Label{{"reason", words(InvalidReasons)}},
			Help: "Records with an impossible timeline or count, a fault of this program; they count as errors of class client_internal.",
		},
		{
			Name: "aiperf_timestamp_fallbacks_total", Kind: Counter, Scope: PerTarget, Unit: "reads",
			Help: "Reads without a usable kernel time stamp although the connection gives them; the instant at which the read returned stands in.",
		},
	}
}

func sloSeries() []Series {
	return []Series{
		{
			Name: "aiperf_good_requests_total", Kind: Counter, Scope: PerTarget, Unit: "requests", Labels: []Label{labelSLO},
			Help: "Requests that succeeded within every limit of the SLO; its rate is the goodput.",
		},
		{
			Name: "aiperf_slo_requests_total", Kind: Counter, Scope: PerTarget, Unit: "requests", Labels: []Label{labelSLO},
			Help: "Requests that count for the SLO: successes, errors, and arrivals dropped because of the server unless count_drops is off. Cancelled requests do not count.",
		},
		{
			Name: "aiperf_slo_consecutive_bad_requests", Kind: Gauge, Scope: PerTarget, Unit: "requests", Labels: []Label{labelSLO},
			Help: "Requests that count for the SLO and were not good, one after the other in the order in which they ended; 0 after a good one.",
		},
		{
			Name: "aiperf_slo_metric_violations_total", Kind: Counter, Scope: PerTarget, Unit: "requests", Labels: []Label{labelSLO, labelMetric},
			Help: "Successful requests that broke a limit of the SLO, by measure.",
		},
		{
			Name: "aiperf_slo_threshold", Kind: Gauge, Scope: PerTarget, Labels: []Label{labelSLO, labelMetric},
			Help: "Limit of a measure in the SLO, in seconds for latencies and tokens per second for rates.",
		},
		{
			Name: "aiperf_slo_objective_ratio", Kind: Gauge, Scope: PerTarget, Unit: "ratio", Labels: []Label{labelSLO},
			Help: "Share of requests that should be good, from the configuration.",
		},
		{
			Name: "aiperf_slo_window_seconds", Kind: Gauge, Scope: PerTarget, Unit: "seconds", Labels: []Label{labelSLO},
			Help: "Window over which the objective holds, from the configuration.",
		},
	}
}

func stateSeries() []Series {
	return []Series{
		{
			Name: "aiperf_inflight_requests", Kind: Gauge, Scope: PerTarget, Unit: "requests", Labels: []Label{{"phase", InflightPhases}},
			Help: "Arrivals that have not ended: queued (not sent yet), prefill (no token yet), decode.",
		},
		{
			Name: "aiperf_last_success_timestamp_seconds", Kind: Gauge, Scope: PerTarget, Unit: "seconds",
			Help: "Unix time of the end of the last successful request; the start of the target until there is one.",
		},
		{
			Name: "aiperf_last_completion_timestamp_seconds", Kind: Gauge, Scope: PerTarget, Unit: "seconds",
			Help: "Unix time of the end of the last request of any outcome; the start of the target until there is one.",
		},
		{
			Name: "aiperf_target_start_timestamp_seconds", Kind: Gauge, Scope: PerTarget, Unit: "seconds",
			Help: "Unix time at which the target began.",
		},
		{
			Name: "aiperf_target_up", Kind: Gauge, Scope: PerTarget,
			Help: "Whether the last finished request succeeded; 0 until one has. Cancelled requests do not change it.",
		},
		{
			Name: "aiperf_target_usage_supported", Kind: Gauge, Scope: PerTarget,
			Help: "Whether usage is asked for in streams; 0 after the server refused the field, until the target gets another URL.",
		},
		{
			Name: "aiperf_retry_after_seconds", Kind: Gauge, Scope: PerTarget, Unit: "seconds",
			Help: "Time for which the server last asked to be left alone (Retry-After); 0 until it has. backoff.mode decides whether it is, see aiperf_backoff_active.",
		},
		{
			Name: "aiperf_load_target_rate", Kind: Gauge, Scope: PerTarget, when: openLoop, Unit: "requests per second",
			Help: "Rate of arrivals that the load wants now, with its windows and ramps; 0 when paused. Absent where the server sets the rate (closed loop, replay).",
		},
		{
			Name: "aiperf_load_paused", Kind: Gauge, Scope: PerTarget,
			Help: "Whether the target is paused; a paused target has no arrivals, hence no drops.",
		},
		{
			Name: "aiperf_target_info", Kind: Gauge, Scope: PerTarget, Labels: []Label{{Name: "url"}, {Name: "endpoint_type"}, {Name: "streaming"}, {Name: "load"}, {Name: "load_mode"}, {Name: "http_version"}, {Name: "connection_reuse"}, {Name: "served_model"}},
			Help: "Facts about the target, always 1; labels of the target from the configuration come beside those listed. The URL has neither user nor query; served_model is the model that the server last said it used, empty until it has.",
		},
		{
			Name: "aiperf_timestamp_source_info", Kind: Gauge, Scope: PerTarget, Labels: []Label{{"source", StampSources}},
			Help: "Whether arrival instants come from the kernel or from the return of the read, 1 for the source of the last answer and 0 for the other; both 0 until there is one.",
		},
		{
			Name: "aiperf_target_ip_family", Kind: Gauge, Scope: PerTarget, Labels: []Label{{"family", words(IPFamilies)}},
			Help: "Version of IP of the connection that the last request obtained, to the server or to its proxy: 1 for that version and 0 for the other; both 0 until there is one.",
		},
	}
}

func exporterSeries() []Series {
	return []Series{
		{
			Name: "aiperf_clock_offset_seconds", Kind: Gauge, Scope: PerProcess, Unit: "seconds",
			Help: "Movement of the wall clock against the monotonic clock since the process started; no duration depends on it.",
		},
		{
			Name: "aiperf_scheduler_wakeup_delay_seconds", Kind: Histogram, Scope: PerProcess, Unit: "seconds", Bounds: boundsFirst,
			Help: "Time from the intended to the actual wake-up of a load scheduler, before any limiter. A fault of this host, not of a server.",
		},
		{
			Name: "aiperf_selftest_error_seconds", Kind: Histogram, Scope: PerProcess, Unit: "seconds", Bounds: boundsFirst,
			Help: "Distance between the measured instant of a content event of the null target and that of its plan, every event; its server shares this process, so its own delay is included. Absent without selftest.enabled.",
		},
		{
			Name: "aiperf_selftest_error_bar_seconds", Kind: Gauge, Scope: PerProcess, Unit: "seconds",
			Help: "99th percentile of the errors of the null target in the last minute: what this exporter may be wrong by now. Absent without selftest.enabled, and while nothing was measured for a minute.",
		},
		{
			Name: "aiperf_selftest_requests_total", Kind: Counter, Scope: PerProcess, Unit: "requests", Labels: []Label{labelOutcome},
			Help: "Finished requests to the null target by outcome. Absent without selftest.enabled.",
		},
		{
			Name: "aiperf_exporter_suspect", Kind: Gauge, Scope: PerProcess, Labels: []Label{{"cause", words(SuspectCauses)}},
			Help: "Whether a fault of this program or its host was found in the last 30 seconds: wakeup (a load scheduler 0.1 s late), drops (scheduler_late or global_limit), cpu_throttled (over 5 % of the time), selftest (error bar above selftest.limit, or a failure), go_scheduler (over 1 % of ready goroutines waited 10 ms). 0 also for what is not watched.",
		},
		{
			Name: "aiperf_exporter_cpu_throttled_seconds_total", Kind: Counter, Scope: PerProcess, Unit: "seconds",
			Help: "Time for which the control group of this process, or one around it, was denied the processor because its quota was used up, summed over processors. Absent outside control groups.",
		},
		{
			Name: "aiperf_exporter_schedule_lag_seconds", Kind: Histogram, Scope: PerProcess, Unit: "seconds", Bounds: boundsSelf,
			Help: "Time from the scheduled instant of a request to its last byte written; waiting for a free slot and connecting included. All targets.",
		},
		{
			Name: "aiperf_exporter_instrument_delay_seconds", Kind: Histogram, Scope: PerProcess, Unit: "seconds", Bounds: boundsSelf,
			Help: "Time from the arrival of bytes by the kernel's stamp to their handling by this program, the largest of each answer. Up to 4 ms of it are deliberate. It is not part of any latency where kernel stamps are in use.",
		},
		{
			Name: "aiperf_exporter_prepare_seconds", Kind: Histogram, Scope: PerProcess, Unit: "seconds", Bounds: boundsSelf,
			Help: "Time to build the prompt and the body of a request.",
		},
		{
			Name: "aiperf_exporter_dns_lookup_seconds", Kind: Histogram, Scope: PerProcess, Unit: "seconds", Bounds: boundsSelf,
			Help: "Time of name lookups, where one happened. All targets.",
		},
		{
			Name: "aiperf_exporter_decode_seconds_total", Kind: Counter, Scope: PerProcess, Unit: "seconds",
			Help: "Time spent on framing and decoding answers.",
		},
		{
			Name: "aiperf_exporter_budget_used", Kind: Gauge, Scope: PerProcess, Labels: []Label{labelKind, labelPeriod},
			Help: "What all targets together have spent in the running calendar period, of what global.budget limits: requests, tokens or US dollars.",
		},
		{
			Name: "aiperf_exporter_budget_limit", Kind: Gauge, Scope: PerProcess, Labels: []Label{labelKind, labelPeriod},
			Help: "What all targets together may spend in a calendar period.",
		},
		{
			Name: "aiperf_exporter_budget_state_writable", Kind: Gauge, Scope: PerProcess,
			Help: "Whether the state file of budgets can be written; always 1 without one. Where it cannot, requests of targets with a budget are held back.",
		},
		{
			Name: "aiperf_exporter_inflight_requests", Kind: Gauge, Scope: PerProcess, Unit: "requests",
			Help: "Requests of all targets that run now.",
		},
		{
			Name: "aiperf_exporter_targets", Kind: Gauge, Scope: PerProcess, Unit: "targets", Labels: []Label{{"state", words(TargetStates)}},
			Help: "Targets by state.",
		},
		{
			Name: "aiperf_exporter_target_generation", Kind: Gauge, Scope: PerProcess, Labels: []Label{{Name: "target"}},
			Help: "How many configurations the target has had: 1 for the first, one more with each reload that changes it; 1 again after it was removed.",
		},
		{
			Name: "aiperf_exporter_series", Kind: Gauge, Scope: PerProcess, Unit: "series", Labels: []Label{{Name: "target"}},
			Help: "Estimated series of the target in the forms that metrics.histograms asks for.",
		},
		{
			Name: "aiperf_exporter_connections_opened_total", Kind: Counter, Scope: PerProcess, Unit: "connections", Labels: []Label{{Name: "target"}},
			Help: "Connections that requests of the target opened.",
		},
		{
			Name: "aiperf_exporter_connections_reused_total", Kind: Counter, Scope: PerProcess, Unit: "requests", Labels: []Label{{Name: "target"}},
			Help: "Requests of the target that used a connection of an earlier one.",
		},
		{
			Name: "aiperf_exporter_panics_total", Kind: Counter, Scope: PerProcess, Labels: []Label{{"component", words(Components)}},
			Help: "Panics that were caught, each a fault of this program; the part that panicked starts anew.",
		},
		{
			Name: "aiperf_exporter_wall_clock_steps_total", Kind: Counter, Scope: PerProcess,
			Help: "Steps of the wall clock by more than a second that were noticed.",
		},
		{
			Name: "aiperf_exporter_secret_read_errors_total", Kind: Counter, Scope: PerProcess, Labels: []Label{{Name: "secret"}},
			Help: "Failures to read the file of a secret; the value read before stays in use.",
		},
		{
			Name: "aiperf_exporter_shards", Kind: Gauge, Scope: PerProcess, Unit: "exporters", Labels: []Label{{Name: "shard"}},
			Help: "Exporters that share the load of the configuration, 1 without --shard. The label is the number of this one, from 0.",
		},
		{
			Name: "aiperf_exporter_config_info", Kind: Gauge, Scope: PerProcess, Labels: []Label{{Name: "hash"}},
			Help: "Hash of the effective configuration without secrets, always 1.",
		},
		{
			Name: "aiperf_exporter_config_last_reload_successful", Kind: Gauge, Scope: PerProcess,
			Help: "Whether the last attempt to load the configuration succeeded.",
		},
		{
			Name: "aiperf_exporter_config_last_reload_success_timestamp_seconds", Kind: Gauge, Scope: PerProcess, Unit: "seconds",
			Help: "Unix time at which a configuration was last loaded.",
		},
		{
			Name: "aiperf_exporter_config_reloads_total", Kind: Counter, Scope: PerProcess, Unit: "reloads", Labels: []Label{{"result", words(ReloadResults)}},
			Help: "Attempts to load the configuration anew while the process runs: success (it is in use, also where nothing had changed) or failure (the one before stays in use).",
		},
		{
			Name: "aiperf_exporter_config_restart_required", Kind: Gauge, Scope: PerProcess,
			Help: "Whether the configuration in use asks for something that only a restart gives, such as other bucket boundaries.",
		},
	}
}
