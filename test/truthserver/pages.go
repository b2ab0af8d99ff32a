package main

import (
	"bytes"
	"fmt"
	"time"
)

// textFormat is the type of what Prometheus reads.
const textFormat = "text/plain; version=0.0.4; charset=utf-8"

// What the page tells and no request changes: as shares of 1.
const (
	cacheUsage = .42
	cached     = .25 // of prompt tokens
	accepted   = .75 // of the tokens that were guessed, as many as were sent
)

// page shows the counters of the server under the names of vLLM. Tokens are counted as they are sent, requests and times as they end. Its clock
// starts where the script says, which is later than that of the truth.
func (s *server) page() []byte {
	s.truth.mu.Lock()
	defer s.truth.mu.Unlock()
	rows, firstTokens, gaps, gap := s.truth.rows, 0.0, 0, 0.0
	for i := range rows {
		firstTokens += rows[i].TTFT
		gaps += rows[i].OutputTokens - 1
		gap += rows[i].ITL * float64(rows[i].OutputTokens-1)
	}
	requests := float64(len(rows))
	firstTokens -= requests * s.script.front.Seconds()
	waited := requests * s.script.queue.Seconds()
	prompts, tokens := float64(s.truth.prompts), float64(s.truth.tokens.Load())
	var b bytes.Buffer
	const labels = `engine="0",model_name="truth"`
	family := func(name, kind, more string, value float64) {
		fmt.Fprintf(&b, "# HELP %s As vLLM has it.\n# TYPE %s %s\n%s{%s%s} %v\n", name, name, kind, name, labels, more, value)
	}
	family("vllm:num_requests_running", "gauge", "", float64(s.truth.open))
	family("vllm:num_requests_waiting", "gauge", "", 0)
	family("vllm:kv_cache_usage_perc", "gauge", "", cacheUsage)
	family("vllm:prompt_tokens_total", "counter", "", prompts)
	family("vllm:generation_tokens_total", "counter", "", tokens)
	family("vllm:prefix_cache_queries_total", "counter", "", prompts)
	family("vllm:prefix_cache_hits_total", "counter", "", cached*prompts)
	family("vllm:spec_decode_num_draft_tokens_total", "counter", "", tokens)
	family("vllm:spec_decode_num_accepted_tokens_total", "counter", "", accepted*tokens)
	family("vllm:request_success_total", "counter", `,finished_reason="length"`, requests)
	histogram := func(name string, count int, sum float64) {
		fmt.Fprintf(&b, "# HELP %s As vLLM has it.\n# TYPE %s histogram\n%s_bucket{%s,le=\"+Inf\"} %d\n", name, name, name, labels, count)
		fmt.Fprintf(&b, "%s_sum{%s} %v\n%s_count{%s} %d\n", name, labels, sum, name, labels, count)
	}
	histogram("vllm:time_to_first_token_seconds", len(rows), firstTokens)
	histogram("vllm:inter_token_latency_seconds", gaps, gap)
	histogram("vllm:request_queue_time_seconds", len(rows), waited)
	histogram("vllm:request_prefill_time_seconds", len(rows), firstTokens-waited)
	return b.Bytes()
}

// millijoules is what the counters of energy begin with: nobody may take them for zero.
const millijoules = 98765432100

// gpuPage shows the GPUs after they have run for so long, under the names of dcgm-exporter. Their power never changes, so their energy is
// known at each instant. The label is Hostname, as it was before dcgm-exporter wrote it small: without it AIPerf 0.13.0 never ends.
func (s *script) gpuPage(age time.Duration) []byte {
	var b bytes.Buffer
	for _, family := range []struct {
		name, kind string
		value      float64
	}{
		{"DCGM_FI_DEV_GPU_TEMP", "gauge", 51},
		{"DCGM_FI_DEV_POWER_USAGE", "gauge", s.watts},
		{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", millijoules + 1e3*s.watts*age.Seconds()},
		{"DCGM_FI_DEV_GPU_UTIL", "gauge", 87},
		{"DCGM_FI_DEV_FB_USED", "gauge", 68057},
	} {
		fmt.Fprintf(&b, "# HELP %s As dcgm-exporter has it.\n# TYPE %s %s\n", family.name, family.name, family.kind)
		for gpu := range s.gpus {
			fmt.Fprintf(&b, "%s{gpu=\"%d\",UUID=\"GPU-00000000-0000-0000-0000-00000000000%d\",pci_bus_id=\"00000000:%02X:00.0\",device=\"nvidia%d\","+
				"modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node-1\",DCGM_FI_DRIVER_VERSION=\"580.95.05\"} %.3f\n",
				family.name, gpu, gpu, 0x1b+gpu, gpu, family.value)
		}
	}
	return b.Bytes()
}
