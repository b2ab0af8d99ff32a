package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRowsThatNoSampleHas is what the goldens do not show: older names, fallbacks, what is opt-in. Each page has nothing but what it is about.
func TestRowsThatNoSampleHas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind Kind
		page string
		want []string
	}{
		{VLLM, family("counter", "vllm:request_success_total", `{finish_reason="length"} 14`, `{finish_reason="stop"} 64`), []string{
			"aiperf_server_requests_finished_total{model=m,reason=length,server=vllm} counter 14",
			"aiperf_server_requests_finished_total{model=m,reason=stop,server=vllm} counter 64",
		}},
		{VLLM, family("gauge", "vllm:num_requests_swapped", " 3"), []string{"aiperf_server_requests_swapped{model=m,server=vllm} gauge 3"}},
		{VLLM, family("gauge", "vllm:gpu_cache_usage_perc", " 0.25"), []string{"aiperf_server_kv_cache_usage_ratio{model=m,server=vllm} gauge 0.25"}},
		{
			VLLM, family("counter", "vllm:gpu_prefix_cache_queries_total", " 90"),
			[]string{"aiperf_server_prefix_cache_queried_tokens_total{model=m,server=vllm} counter 90"},
		},
		{
			VLLM, family("counter", "vllm:gpu_prefix_cache_queries", " 90"),
			[]string{"aiperf_server_prefix_cache_queried_tokens_total{model=m,server=vllm} counter 90"},
		},
		{
			VLLM, family("counter", "vllm:gpu_prefix_cache_hits_total", " 30"),
			[]string{"aiperf_server_prefix_cache_hit_tokens_total{model=m,server=vllm} counter 30"},
		},
		{
			VLLM, family("counter", "vllm:prefix_cache_hits_total", " 31"),
			[]string{"aiperf_server_prefix_cache_hit_tokens_total{model=m,server=vllm} counter 31"},
		},
		{
			VLLM, family("counter", "vllm:prompt_tokens_cached_total", " 32"),
			[]string{"aiperf_server_prefix_cache_hit_tokens_total{model=m,server=vllm} counter 32"},
		},
		{VLLM, family("gauge", "vllm:gpu_prefix_cache_hit_rate", " 0.4"), []string{"aiperf_server_prefix_cache_hit_ratio{model=m,server=vllm} gauge 0.4"}},
		{
			VLLM, family("gauge", "vllm:avg_generation_throughput_toks_per_s", " 55"),
			[]string{"aiperf_server_generation_tokens_per_second{model=m,server=vllm} gauge 55"},
		},
		{
			VLLM, family("histogram", "vllm:time_per_output_token_seconds", " 7"),
			[]string{"aiperf_server_inter_token_latency_seconds{model=m,server=vllm} histogram 4 7 10:1"},
		},
		{VLLM, family("counter", "vllm:prompt_tokens_by_source_total", `{source="local_compute"} 5`, `{source="external_kv_transfer"} 6`), []string{
			"aiperf_server_prompt_tokens_by_source_total{model=m,server=vllm,source=local_compute} counter 5",
			"aiperf_server_prompt_tokens_by_source_total{model=m,server=vllm,source=external_kv_transfer} counter 6",
		}},
		{
			VLLM, family("histogram", "vllm:request_generation_tokens", " 7"),
			[]string{"aiperf_server_request_generation_tokens{model=m,server=vllm} histogram 4 7 10:1"},
		},
		{
			VLLM, family("counter", "vllm:spec_decode_num_accepted_tokens_total", " 8"),
			[]string{"aiperf_server_spec_decode_accepted_tokens_total{model=m,server=vllm} counter 8"},
		},
		{
			VLLM, family("gauge", "vllm:spec_decode_draft_acceptance_rate", " 0.7"),
			[]string{"aiperf_server_spec_decode_acceptance_ratio{model=m,server=vllm} gauge 0.7"},
		},
		{
			VLLM, family("histogram", "vllm:nixl_xfer_time_seconds", " 9"),
			[]string{"aiperf_server_kv_transfer_seconds{model=m,server=vllm} histogram 4 9 10:1"},
		},
		{
			VLLM, family("histogram", "vllm:mooncake_xfer_time_seconds", " 9"),
			[]string{"aiperf_server_kv_transfer_seconds{model=m,server=vllm} histogram 4 9 10:1"},
		},
		{
			VLLM, family("histogram", "vllm:nixl_bytes_transferred", " 4096"),
			[]string{"aiperf_server_kv_transfer_bytes_total{model=m,server=vllm} counter 4096"},
		},
		{
			VLLM, family("histogram", "vllm:mooncake_bytes_transferred", " 4096"),
			[]string{"aiperf_server_kv_transfer_bytes_total{model=m,server=vllm} counter 4096"},
		},
		{
			VLLM, family("counter", "vllm:nixl_num_failed_transfers_total", " 1"),
			[]string{"aiperf_server_kv_transfer_failures_total{model=m,server=vllm} counter 1"},
		},
		{
			VLLM, family("counter", "vllm:mooncake_num_failed_transfers_total", " 1"),
			[]string{"aiperf_server_kv_transfer_failures_total{model=m,server=vllm} counter 1"},
		},
		{VLLM, family("counter", "vllm:kv_offload_load_bytes_total", " 10") + family("counter", "vllm:kv_offload_store_bytes_total", " 20") +
			family("counter", "vllm:kv_offload_total_bytes_total", `{transfer_type="CPU_to_GPU"} 10`, `{transfer_type="GPU_to_CPU"} 20`), []string{
			"aiperf_server_kv_transfer_bytes_total{direction=load,model=m,server=vllm} counter 10",
			"aiperf_server_kv_transfer_bytes_total{direction=store,model=m,server=vllm} counter 20",
		}},
		{
			VLLM, family("counter", "vllm:kv_offload_total_bytes_total", `{transfer_type="CPU_to_GPU"} 11`, `{transfer_type="GPU_to_SHARED_STORAGE"} 21`),
			[]string{
				"aiperf_server_kv_transfer_bytes_total{direction=load,model=m,server=vllm} counter 11",
				"aiperf_server_kv_transfer_bytes_total{direction=store,model=m,server=vllm} counter 21",
			},
		},
		{VLLM, family("counter", "vllm:kv_offload_load_time_total", " 1.5") + family("counter", "vllm:kv_offload_store_time_total", " 2.5"), []string{
			"aiperf_server_kv_offload_seconds_total{direction=load,model=m,server=vllm} counter 1.5",
			"aiperf_server_kv_offload_seconds_total{direction=store,model=m,server=vllm} counter 2.5",
		}},
		{VLLM, family("counter", "vllm:kv_offload_total_time_total", `{transfer_type="CPU_to_GPU"} 1`, `{transfer_type="GPU_to_CPU"} 2`), []string{
			"aiperf_server_kv_offload_seconds_total{direction=load,model=m,server=vllm} counter 1",
			"aiperf_server_kv_offload_seconds_total{direction=store,model=m,server=vllm} counter 2",
		}},
		{
			VLLM, family("gauge", "vllm:engine_sleep_state", `{sleep_state="awake"} 0`, `{sleep_state="weights_offloaded"} 1`,
				`{sleep_state="discard_all"} 0`),
			[]string{"aiperf_server_engine_asleep{model=m,server=vllm} gauge 1"},
		},
		{
			VLLM, family("gauge", "vllm:engine_sleep_state", `{sleep_state="awake"} 0`, `{sleep_state="weights_offloaded"} 0`,
				`{sleep_state="discard_all"} 1`),
			[]string{"aiperf_server_engine_asleep{model=m,server=vllm} gauge 2"},
		},

		{SGLang, family("gauge", "sglang:num_prefill_bootstrap_queue_reqs", " 1") + family("gauge", "sglang:num_prefill_inflight_queue_reqs", " 2") +
			family("gauge", "sglang:num_decode_prealloc_queue_reqs", " 3") + family("gauge", "sglang:num_decode_transfer_queue_reqs", " 4"), []string{
			"aiperf_server_requests_waiting_by_reason{model=m,reason=prefill_bootstrap,server=sglang} gauge 1",
			"aiperf_server_requests_waiting_by_reason{model=m,reason=prefill_inflight,server=sglang} gauge 2",
			"aiperf_server_requests_waiting_by_reason{model=m,reason=decode_prealloc,server=sglang} gauge 3",
			"aiperf_server_requests_waiting_by_reason{model=m,reason=decode_transfer,server=sglang} gauge 4",
		}},
		{
			SGLang, family("gauge", "sglang:num_paused_reqs", " 1") + family("gauge", "sglang:num_retracted_reqs", " 2"),
			[]string{"aiperf_server_requests_swapped{model=m,server=sglang} gauge 3"},
		},
		{
			SGLang, family("gauge", "sglang:num_running_reqs", `{priority=""} 5`, `{priority="1"} 2`, `{priority="2"} 3`),
			[]string{"aiperf_server_requests_running{model=m,server=sglang} gauge 5"},
		},
		{SGLang, family("gauge", "sglang:cache_config_info", `{page_size="64",num_pages="100"} 1`), []string{
			"aiperf_server_kv_cache_block_tokens{model=m,server=sglang} gauge 64",
			"aiperf_server_kv_cache_blocks{model=m,server=sglang,state=total} gauge 100",
		}},
		{
			SGLang, family("counter", "sglang:cached_tokens_total", " 7"),
			[]string{"aiperf_server_prefix_cache_hit_tokens_total{model=m,server=sglang} counter 7"},
		},
		{
			SGLang, family("counter", "sglang:cached_tokens_total", `{cache_source="total"} 7`),
			[]string{"aiperf_server_prefix_cache_hit_tokens_total{model=m,server=sglang} counter 7"},
		},
		{SGLang, family("gauge", "sglang:cache_hit_rate", " 0.3"), []string{"aiperf_server_prefix_cache_hit_ratio{model=m,server=sglang} gauge 0.3"}},
		{
			SGLang, family("gauge", "sglang:gen_throughput", " 1834"),
			[]string{"aiperf_server_generation_tokens_per_second{model=m,server=sglang} gauge 1834"},
		},
		{
			SGLang, family("histogram", "sglang:time_per_output_token_seconds", " 7"),
			[]string{"aiperf_server_inter_token_latency_seconds{model=m,server=sglang} histogram 4 7 10:1"},
		},
		{
			SGLang, family("histogram", "sglang:request_time_per_output_token_seconds", " 7"),
			[]string{"aiperf_server_time_per_output_token_seconds{model=m,server=sglang} histogram 4 7 10:1"},
		},
		{SGLang, family("histogram", "sglang:prompt_tokens_histogram", " 7") + family("histogram", "sglang:generation_tokens_histogram", " 8"), []string{
			"aiperf_server_request_generation_tokens{model=m,server=sglang} histogram 4 8 10:1",
			"aiperf_server_request_prompt_tokens{model=m,server=sglang} histogram 4 7 10:1",
		}},
		{
			SGLang, family("counter", "sglang:num_transfer_failed_reqs_total", " 2"),
			[]string{"aiperf_server_kv_transfer_failures_total{model=m,server=sglang} counter 2"},
		},

		{
			TRTLLM, family("histogram", "trtllm_inter_token_latency_seconds", " 7"),
			[]string{"aiperf_server_time_per_output_token_seconds{model=m,server=trtllm} histogram 4 7 10:1"},
		},
		{
			TRTLLM, family("counter", "trtllm_prompt_cached_tokens_total", " 7"),
			[]string{"aiperf_server_prefix_cache_hit_tokens_total{model=m,server=trtllm} counter 7"},
		},
		{
			TRTLLM, family("histogram", "trtllm_prompt_cached_tokens_per_request", " 7"),
			[]string{"aiperf_server_request_cached_tokens{model=m,server=trtllm} histogram 4 7 10:1"},
		},
		{TRTLLM, family("counter", "trtllm_num_requests_completed_total", " 7") + family("counter", "trtllm_num_aborted_requests_total", " 2"), []string{
			"aiperf_server_requests_finished_total{model=m,reason=all,server=trtllm} counter 7",
			"aiperf_server_requests_finished_total{model=m,reason=abort,server=trtllm} counter 2",
		}},
		{TRTLLM, family("counter", "trtllm_request_success_total", `{finished_reason="cancelled"} 1`, `{finished_reason="timeout"} 2`), []string{
			"aiperf_server_requests_finished_total{model=m,reason=abort,server=trtllm} counter 1",
			"aiperf_server_requests_finished_total{model=m,reason=other,server=trtllm} counter 2",
		}},
		{
			TRTLLM, family("histogram", "trtllm_prefill_batch_tokens", " 7"),
			[]string{"aiperf_server_iteration_tokens{model=m,server=trtllm} histogram 4 7 10:1"},
		},
		{TRTLLM, family("counter", "trtllm_spec_decode_drafted_tokens_total", `{token_position="0"} 5`, `{token_position="1"} 4`) +
			family("counter", "trtllm_spec_decode_num_draft_tokens_total", " 9") + family("counter", "trtllm_spec_decode_num_accepted_tokens_total", " 5") +
			family("counter", "trtllm_spec_decode_accepted_tokens_total", `{token_position="0"} 3`, `{token_position="1"} 2`), []string{
			"aiperf_server_spec_decode_accepted_tokens_total{model=m,position=0,server=trtllm} counter 3",
			"aiperf_server_spec_decode_accepted_tokens_total{model=m,position=1,server=trtllm} counter 2",
			"aiperf_server_spec_decode_draft_tokens_total{model=m,server=trtllm} counter 9",
		}},
		{TRTLLM, family("counter", "trtllm_kv_cache_onboard_bytes_total", " 10") + family("histogram", "trtllm_kv_transfer_bytes", " 30") +
			family("histogram", "trtllm_kv_transfer_latency_seconds", " 4"), []string{
			"aiperf_server_kv_transfer_bytes_total{direction=load,model=m,server=trtllm} counter 10",
			"aiperf_server_kv_transfer_bytes_total{model=m,server=trtllm} counter 30",
			"aiperf_server_kv_transfer_seconds{model=m,server=trtllm} histogram 4 4 10:1",
		}},
		{TRTLLM, family("gauge", "trtllm_model_config_info", `{dtype="bfloat16",quantization="FP8",gpu_type="H100"} 1`) +
			family("gauge", "trtllm_parallel_config_info", `{tensor_parallel_size="4",pipeline_parallel_size="2"} 1`) +
			family("gauge", "trtllm_kv_cache_config_info", `{cache_dtype="fp8",enable_block_reuse="True"} 1`) +
			family("gauge", "trtllm_speculative_config_info", `{spec_method="Eagle"} 1`), []string{
			"aiperf_server_info{dtype=bfloat16,gpu=H100,kv_cache_dtype=fp8,model=m,pipeline_parallel_size=2,prefix_caching=True,quantization=FP8," +
				"server=trtllm,speculation=Eagle,tensor_parallel_size=4} gauge 1",
		}},

		{Dynamo, family("gauge", "dynamo_frontend_inflight_requests", " 6"), []string{"aiperf_server_requests_running{model=m,server=dynamo} gauge 6"}},
		{Dynamo, family("gauge", "dynamo_component_inflight_requests", " 5"), []string{"aiperf_server_requests_running{model=m,server=dynamo} gauge 5"}},
		{
			Dynamo, family("gauge", "dynamo_frontend_model_max_num_seqs", " 256"),
			[]string{"aiperf_server_requests_running_limit{model=m,server=dynamo} gauge 256"},
		},
		{Dynamo, family("gauge", "dynamo_work_handler_queue_depth", " 5"), []string{"aiperf_server_requests_waiting{model=m,server=dynamo} gauge 5"}},
		{
			Dynamo, family("gauge", "dynamo_frontend_router_queue_pending_requests", `{worker_type="prefill"} 5`, `{worker_type="decode"} 1`),
			[]string{"aiperf_server_requests_waiting_by_reason{model=m,reason=router,server=dynamo} gauge 6"},
		},
		{
			Dynamo, family("gauge", "dynamo_component_kvstats_gpu_cache_usage_percent", ` 0.5`),
			[]string{"aiperf_server_kv_cache_usage_ratio{model=m,server=dynamo} gauge 0.5"},
		},
		{
			Dynamo, family("gauge", "dynamo_component_kvstats_total_blocks", " 100") + family("gauge", "dynamo_component_kvstats_active_blocks", " 40"),
			[]string{
				"aiperf_server_kv_cache_blocks{model=m,server=dynamo,state=total} gauge 100",
				"aiperf_server_kv_cache_blocks{model=m,server=dynamo,state=used} gauge 40",
			},
		},
		{
			Dynamo, family("gauge", "dynamo_frontend_model_total_kv_blocks", " 100"),
			[]string{"aiperf_server_kv_cache_blocks{model=m,server=dynamo,state=total} gauge 100"},
		},
		{
			Dynamo, family("gauge", "dynamo_component_kvstats_gpu_prefix_cache_hit_rate", " 0.2"),
			[]string{"aiperf_server_prefix_cache_hit_ratio{model=m,server=dynamo} gauge 0.2"},
		},
		{
			Dynamo, family("histogram", "dynamo_frontend_kv_hit_rate", " 0.9"),
			[]string{"aiperf_server_request_cache_hit_ratio{model=m,server=dynamo} histogram 4 0.9 10:1"},
		},
		{
			Dynamo, family("histogram", "dynamo_component_router_time_to_first_token_seconds", " 3"),
			[]string{"aiperf_server_time_to_first_token_seconds{model=m,server=dynamo} histogram 4 3 10:1"},
		},
		{
			Dynamo, family("histogram", "dynamo_component_time_to_first_response_seconds", " 3"),
			[]string{"aiperf_server_time_to_first_token_seconds{model=m,server=dynamo} histogram 4 3 10:1"},
		},
		{
			Dynamo, family("histogram", "dynamo_component_request_duration_seconds", " 3"),
			[]string{"aiperf_server_request_duration_seconds{model=m,server=dynamo} histogram 4 3 10:1"},
		},
		{
			Dynamo, family("histogram", "dynamo_request_plane_queue_seconds", " 3"),
			[]string{"aiperf_server_queue_seconds{model=m,server=dynamo} histogram 4 3 10:1"},
		},
		{Dynamo, family("counter", "dynamo_component_requests_total", " 9") + family("counter", "dynamo_component_cancellation_total", " 2") +
			family("counter", "dynamo_component_errors_total", `{error_type="generate"} 1`), []string{
			"aiperf_server_requests_failed_total{code=generate,model=m,server=dynamo} counter 1",
			"aiperf_server_requests_finished_total{model=m,reason=abort,server=dynamo} counter 2",
		}},
		{
			Dynamo, family("gauge", "dynamo_component_inflight_requests", `{dynamo_endpoint="generate"} 5`, `{dynamo_endpoint="worker_kv_query_source_58ad"} 1`),
			[]string{"aiperf_server_requests_running{model=m,server=dynamo} gauge 5"},
		},
		{
			Dynamo, family("gauge", "dynamo_frontend_model_context_length", `{model="a"} 0`, `{model="b"} 4096`),
			[]string{"aiperf_server_context_length_tokens{model=b,server=dynamo} gauge 4096"},
		},
		{
			Dynamo, family("histogram", "dynamo_component_router_kv_hit_rate", " 0.7"),
			[]string{"aiperf_server_request_cache_hit_ratio{model=m,server=dynamo} histogram 4 0.7 10:1"},
		},
		{
			Dynamo, family("histogram", "dynamo_frontend_time_to_first_token_seconds", `{model="a"} 1`, `{model="b"} 2`) +
				family("histogram", "dynamo_component_router_time_to_first_token_seconds", " 3"),
			[]string{
				"aiperf_server_time_to_first_token_seconds{model=a,server=dynamo} histogram 4 1 10:1",
				"aiperf_server_time_to_first_token_seconds{model=b,server=dynamo} histogram 4 2 10:1",
			},
		},
		{
			Dynamo, family("counter", "dynamo_frontend_model_cancellation_total", " 2") + family("counter", "dynamo_frontend_model_rejection_total", " 3"),
			[]string{
				"aiperf_server_requests_finished_total{model=m,reason=abort,server=dynamo} counter 2",
				"aiperf_server_requests_rejected_total{model=m,server=dynamo} counter 3",
			},
		},

		{
			Triton, family("gauge", "nv_inference_pending_request_count", `{model="m"} 3`),
			[]string{"aiperf_server_requests_waiting{model=m,server=triton} gauge 3"},
		},
		{NIM, family("counter", "request_success_total", " 3"), []string{"aiperf_server_requests_finished_total{model=m,reason=all,server=nim} counter 3"}},
		{
			LMDeploy, family("gauge", "lmdeploy:num_requests_succeeded", " 9"),
			[]string{"aiperf_server_requests_finished_total{model=m,reason=all,server=lmdeploy} counter 9"},
		},
		{LMDeploy, family("counter", "lmdeploy:request_success_total", `{finished_reason="ResponseType.SUCCESS"} 1`,
			`{finished_reason="ResponseType.INTERNAL_ENGINE_ERROR"} 2`, `{finished_reason="ResponseType.NEW"} 3`), []string{
			"aiperf_server_requests_finished_total{model=m,reason=stop,server=lmdeploy} counter 1",
			"aiperf_server_requests_finished_total{model=m,reason=error,server=lmdeploy} counter 2",
			"aiperf_server_requests_finished_total{model=m,reason=other,server=lmdeploy} counter 3",
		}},
		{LMDeploy, family("histogram", "lmdeploy:request_cached_tokens", " 5") + family("histogram", "lmdeploy:request_cache_hit_ratio", " 0.5"), []string{
			"aiperf_server_request_cache_hit_ratio{model=m,server=lmdeploy} histogram 4 0.5 10:1",
			"aiperf_server_request_cached_tokens{model=m,server=lmdeploy} histogram 4 5 10:1",
		}},
		{
			LMDeploy, family("counter", "lmdeploy:spec_decode_num_accepted_tokens_per_pos_total", `{position="0"} 5`) +
				family("counter", "lmdeploy:spec_decode_num_accepted_tokens_total", ` 5`),
			[]string{"aiperf_server_spec_decode_accepted_tokens_total{model=m,position=0,server=lmdeploy} counter 5"},
		},
		{
			LMDeploy, family("gauge", "lmdeploy:spec_decode_mean_accept_rate", " 0.6") + family("gauge", "lmdeploy:spec_decode_mean_accept_length", " 2.8"),
			[]string{
				"aiperf_server_spec_decode_acceptance_length{model=m,server=lmdeploy} gauge 2.8",
				"aiperf_server_spec_decode_acceptance_ratio{model=m,server=lmdeploy} gauge 0.6",
			},
		},
		{LlamaCPP, family("gauge", "llamacpp:kv_cache_usage_ratio", " 0.5") + family("gauge", "llamacpp:kv_cache_tokens", " 512"), []string{
			"aiperf_server_kv_cache_tokens{model=m,server=llamacpp,state=used} gauge 512",
			"aiperf_server_kv_cache_usage_ratio{model=m,server=llamacpp} gauge 0.5",
		}},
		{
			LlamaCPP, family("gauge", "llamacpp:predicted_tokens_seconds", " 52.1"),
			[]string{"aiperf_server_generation_tokens_per_second{model=m,server=llamacpp} gauge 52.1"},
		},
		{
			LlamaCPP, family("counter", "llamacpp:spec_decode_num_accepted_tokens_total", " 5"),
			[]string{"aiperf_server_spec_decode_accepted_tokens_total{model=m,server=llamacpp} counter 5"},
		},
	} {
		r := mapText(t, &Options{Kind: tt.kind, Model: "m"}, tt.page)
		if diff := cmp.Diff(tt.want, lines(r.Normalised)); diff != "" {
			t.Errorf("%s\n%s%s", tt.kind, tt.page, diff)
		}
	}
}
