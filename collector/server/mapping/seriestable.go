package mapping

// The rows are in the order of what they are about: requests, caches, tokens, times, the engine. Where a server has no such thing, or does not
// tell it, there is no series.

func requestSeries() []normalised {
	return []normalised{
		gauge("aiperf_server_requests_running", "requests", "Requests that the server is working on.", add),
		gauge("aiperf_server_requests_running_limit", "requests", "Most requests that the server works on at once. Absent where it does not tell.", add),
		gauge("aiperf_server_requests_waiting", "requests", "Requests that wait in the server's queue, not yet scheduled.", add),
		gauge("aiperf_server_requests_waiting_by_reason", "requests",
			"Requests that wait, by why or before which stage; names are the server's own. They may or may not be part of "+
				"aiperf_server_requests_waiting. Absent where it does not tell.", add, open("reason")),
		gauge("aiperf_server_requests_swapped", "requests",
			"Requests taken out of the running batch and not yet back: swapped, paused or retracted. Absent where the server does not tell.", add),
		counter("aiperf_server_preemptions_total", "requests", "Times that a running request was put back for want of KV cache."),
		counter("aiperf_server_requests_finished_total", "requests",
			"Requests that ended, by why. Reason all stands for every reason where the server does not tell them apart; its abort, if there is one, "+
				"may be part of it.", closed("reason", finishReasons)),
		counter("aiperf_server_requests_failed_total", "requests",
			"Requests that ended in an error, by the status or class that the server gives it, empty if it gives none.", open("code")),
		counter("aiperf_server_requests_rejected_total", "requests",
			"Requests that the server refused to take in, by why; empty if it does not tell.", open("reason")),
	}
}

func cacheSeries() []normalised {
	return []normalised{
		gauge("aiperf_server_kv_cache_usage_ratio", "ratio", "Share of the KV cache that is taken, 1 = full. Of several pools the fullest.", greatest),
		gauge("aiperf_server_kv_cache_tokens_capacity", "tokens", "Tokens that the KV cache can hold. Absent where the server does not tell.", add),
		gauge("aiperf_server_kv_cache_tokens", "tokens",
			"Tokens of the KV cache by state; evictable ones are kept for reuse and given up when needed.", add, closed("state", tokenStates)),
		gauge("aiperf_server_kv_cache_block_tokens", "tokens", "Tokens in a block of the KV cache.", greatest),
		gauge("aiperf_server_kv_cache_blocks", "blocks", "Blocks of the KV cache; total is all of them, whatever their state.", add,
			closed("state", blockStates)),
		counter("aiperf_server_prefix_cache_queried_tokens_total", "tokens", "Tokens of prompts that were looked up in the prefix cache."),
		counter("aiperf_server_prefix_cache_hit_tokens_total", "tokens",
			"Tokens of prompts that were found in a cache, by where; tier is empty where the server does not tell. The sum over tiers is all of them.",
			open("tier")),
		counter("aiperf_server_prefix_cache_blocks_total", "blocks", "Blocks that were looked up in the prefix cache, by result.",
			closed("result", lookups)),
		gauge("aiperf_server_prefix_cache_hit_ratio", "ratio",
			"Share of what was looked up in the prefix cache that was found, over a time that the server chooses. Absent where counters tell it.", mean),
		counter("aiperf_server_external_cache_queried_tokens_total", "tokens", "Tokens that were looked up in a KV cache outside the engine."),
		counter("aiperf_server_external_cache_hit_tokens_total", "tokens", "Tokens that were found in a KV cache outside the engine."),
		counter("aiperf_server_kv_transfer_bytes_total", "bytes",
			"Bytes of KV cache moved: load is into the GPU from a lower tier, store out of it; empty between engines.", closed("direction", directions)),
		histogram("aiperf_server_kv_transfer_seconds", "seconds", "Time that one transfer of KV cache between engines took."),
		counter("aiperf_server_kv_transfer_failures_total", "transfers", "Transfers of KV cache between engines that failed."),
		counter("aiperf_server_kv_offload_seconds_total", "seconds",
			"Time spent on moving KV cache between the GPU and a lower tier, by direction as in aiperf_server_kv_transfer_bytes_total.",
			closed("direction", directions)),
		counter("aiperf_server_mm_cache_queries_total", "items", "Images and other items of prompts that were looked up in the cache of processed inputs."),
		counter("aiperf_server_mm_cache_hits_total", "items", "Images and other items of prompts that were found in the cache of processed inputs."),
	}
}

func tokenSeries() []normalised {
	return []normalised{
		counter("aiperf_server_prompt_tokens_total", "tokens",
			"Tokens of prompts that the server took in. llama.cpp leaves out those that it found in its cache."),
		counter("aiperf_server_prompt_tokens_by_source_total", "tokens", "Tokens of prompts by where their KV cache came from; names are the server's own.",
			open("source")),
		counter("aiperf_server_generation_tokens_total", "tokens", "Tokens that the server generated."),
		gauge("aiperf_server_generation_tokens_per_second", "tokens per second",
			"Rate of generation over a time that the server chooses. Absent where a counter tells it.", add),
		histogram("aiperf_server_request_prompt_tokens", "tokens", "Tokens in the prompt of a request."),
		histogram("aiperf_server_request_generation_tokens", "tokens", "Tokens that were generated for a request."),
		histogram("aiperf_server_request_cached_tokens", "tokens", "Tokens in the prompt of a request that were found in a cache."),
		histogram("aiperf_server_request_cache_hit_ratio", "ratio", "Share of the prompt of a request that was found in a cache."),
		histogram("aiperf_server_iteration_tokens", "tokens", "Tokens in one step of the engine, prompts and generated. "+
			"TensorRT-LLM counts those of prompts only."),
	}
}

func timeSeries() []normalised {
	return []normalised{
		histogram("aiperf_server_time_to_first_token_seconds", "seconds",
			"Time from the request's arrival in the server to the first token, its queue included, the network not."),
		histogram("aiperf_server_inter_token_latency_seconds", "seconds", "Time between two tokens of a request, an observation for each pair."),
		histogram("aiperf_server_time_per_output_token_seconds", "seconds", "Mean time for each token after the first, an observation for each request."),
		histogram("aiperf_server_request_duration_seconds", "seconds", "Time from the request's arrival in the server to its end."),
		histogram("aiperf_server_queue_seconds", "seconds", "Time that a request waited before the engine took it up."),
		histogram("aiperf_server_prefill_seconds", "seconds", "Time from when the engine took a request up to its first token."),
		histogram("aiperf_server_decode_seconds", "seconds", "Time from the first token of a request to its last."),
		histogram("aiperf_server_inference_seconds", "seconds", "Time from when the engine took a request up to its last token."),
		counter("aiperf_server_request_time_seconds_total", "seconds",
			"Time from the arrival of requests to their end, summed, where the server has no histogram; divide by the requests that finished and failed."),
		counter("aiperf_server_queue_time_seconds_total", "seconds", "Time that requests waited, summed, where the server has no histogram."),
		counter("aiperf_server_prefill_time_seconds_total", "seconds", "Time spent on prompts, summed, where the server has no histogram."),
		counter("aiperf_server_decode_time_seconds_total", "seconds", "Time spent on generating, summed, where the server has no histogram."),
		counter("aiperf_server_inference_time_seconds_total", "seconds", "Time spent in the model, summed, where the server has no histogram."),
		counter("aiperf_server_compute_input_seconds_total", "seconds", "Time spent on preparing the inputs of the model, summed. Triton only."),
		counter("aiperf_server_compute_output_seconds_total", "seconds", "Time spent on handing out what the model gave, summed. Triton only."),
	}
}

func engineSeries() []normalised {
	return []normalised{
		gauge("aiperf_server_batch_size", "requests", "Requests in the batch of the last step. llama.cpp tells the mean since its start.", add),
		counter("aiperf_server_inferences_total", "requests", "Inferences made, a batch counts as often as it has requests. Triton only."),
		counter("aiperf_server_executions_total", "batches", "Times that the model was run on a batch. Triton only."),
		gauge("aiperf_server_context_length_tokens", "tokens", "Longest prompt and answer together that the model takes.", greatest),
		gauge("aiperf_server_lora_running_adapters", "adapters", "LoRA adapters that are in use.", add),
		gauge("aiperf_server_lora_waiting_adapters", "adapters", "LoRA adapters that requests wait for.", add),
		gauge("aiperf_server_lora_max_adapters", "adapters", "LoRA adapters that fit at once.", add),
		gauge("aiperf_server_lora_info", "1", "1 for each LoRA adapter that is in use or waited for, at most 50 of a replica.", greatest,
			open("adapter"), closed("state", adapterStates)),
		counter("aiperf_server_spec_decode_drafts_total", "drafts", "Drafts that speculative decoding made."),
		counter("aiperf_server_spec_decode_draft_tokens_total", "tokens", "Tokens that speculative decoding proposed."),
		counter("aiperf_server_spec_decode_accepted_tokens_total", "tokens",
			"Proposed tokens that were accepted, by their position in the draft, from 0; empty where the server does not tell. The sum over "+
				"positions is all of them.", open("position")),
		gauge("aiperf_server_spec_decode_acceptance_ratio", "ratio",
			"Share of proposed tokens that was accepted, over a time that the server chooses. Absent where counters tell it.", mean),
		gauge("aiperf_server_spec_decode_acceptance_length", "tokens",
			"Mean tokens that a step of speculative decoding gave. Absent where counters tell it.", mean),
		gauge("aiperf_server_engine_asleep", "state", "0 while the engine is awake, 1 with its weights moved out, 2 with them discarded.", greatest),
		gauge("aiperf_server_info", "1", "1, with what the server tells of its configuration in labels, empty where it does not.", collect,
			open("version"), open("backend"), open("dtype"), open("quantization"), open("kv_cache_dtype"),
			open("prefix_caching"), open("speculation"), open("tensor_parallel_size"), open("pipeline_parallel_size"), open("gpu")),
	}
}
