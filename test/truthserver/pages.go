package main

import (
	"bytes"
	"fmt"
	"time"
)

// textFormat is the type of what Prometheus reads.
const textFormat = "text/plain; version=0.0.4; charset=utf-8"

// page shows the counters of the server under the names of vLLM. Tokens are counted as they are sent, requests as they end.
func (t *truth) page() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	seconds := 0.0
	for i := range t.rows {
		seconds += t.rows[i].TTFT
	}
	var b bytes.Buffer
	const labels = `engine="0",model_name="truth"`
	family := func(name, kind, more string, value any) {
		fmt.Fprintf(&b, "# HELP %s As vLLM has it.\n# TYPE %s %s\n%s{%s%s} %v\n", name, name, kind, name, labels, more, value)
	}
	family("vllm:num_requests_running", "gauge", "", t.open)
	family("vllm:num_requests_waiting", "gauge", "", 0)
	family("vllm:prompt_tokens_total", "counter", "", t.prompts)
	family("vllm:generation_tokens_total", "counter", "", t.tokens.Load())
	family("vllm:request_success_total", "counter", `,finished_reason="length"`, len(t.rows))
	for _, h := range []struct {
		name    string
		seconds float64
	}{{"vllm:time_to_first_token_seconds", seconds}, {"vllm:request_queue_time_seconds", 0}} {
		fmt.Fprintf(&b, "# HELP %s As vLLM has it.\n# TYPE %s histogram\n", h.name, h.name)
		fmt.Fprintf(&b, "%s_bucket{%s,le=\"+Inf\"} %d\n", h.name, labels, len(t.rows))
		fmt.Fprintf(&b, "%s_sum{%s} %v\n%s_count{%s} %d\n", h.name, labels, h.seconds, h.name, labels, len(t.rows))
	}
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
