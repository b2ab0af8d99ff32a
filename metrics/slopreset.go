package metrics

import (
	"maps"
	"slices"
	"time"
)

// SLOPreset names limits that others have published.
type SLOPreset string

// The presets: the latency constraints of MLPerf Inference 6.0, by model and scenario. There each of them holds for 99 % of the requests.
const (
	mlperfDeepSeekR1Server      SLOPreset = "mlperf-deepseek-r1-server"
	mlperfDeepSeekR1Interactive SLOPreset = "mlperf-deepseek-r1-interactive"
	mlperfGPTOSSServer          SLOPreset = "mlperf-gpt-oss-120b-server"
	mlperfGPTOSSInteractive     SLOPreset = "mlperf-gpt-oss-120b-interactive"
	mlperfLlama2Server          SLOPreset = "mlperf-llama2-70b-server"
	mlperfLlama2Interactive     SLOPreset = "mlperf-llama2-70b-interactive"
	mlperfLlama8BServer         SLOPreset = "mlperf-llama3.1-8b-server"
	mlperfLlama8BInteractive    SLOPreset = "mlperf-llama3.1-8b-interactive"
	mlperfLlama405BServer       SLOPreset = "mlperf-llama3.1-405b-server"
	mlperfLlama405BInteractive  SLOPreset = "mlperf-llama3.1-405b-interactive"
	mlperfMixtralServer         SLOPreset = "mlperf-mixtral-8x7b-server"
	mlperfQwen3VLServer         SLOPreset = "mlperf-qwen3-vl-235b-a22b-server"
)

// sloPresets is the table. The source is mlcommons/inference_policies, inference_rules.adoc, "Server latency constraint", of July 2026. For
// the interactive gpt-oss-120b it says 20 ms; the load generator and the checker of submissions (mlcommons/inference, loadgen/mlperf.conf
// and tools/submission) hold submitters to 15 ms, and so does this.
var sloPresets = map[SLOPreset]SLOConfig{
	mlperfDeepSeekR1Server:      tokenLimits(2000, 80),
	mlperfDeepSeekR1Interactive: tokenLimits(1500, 15),
	mlperfGPTOSSServer:          tokenLimits(3000, 80),
	mlperfGPTOSSInteractive:     tokenLimits(2000, 15),
	mlperfLlama2Server:          tokenLimits(2000, 200),
	mlperfLlama2Interactive:     tokenLimits(450, 40),
	mlperfLlama8BServer:         tokenLimits(2000, 100),
	mlperfLlama8BInteractive:    tokenLimits(500, 30),
	mlperfLlama405BServer:       tokenLimits(6000, 175),
	mlperfLlama405BInteractive:  tokenLimits(4500, 80),
	mlperfMixtralServer:         tokenLimits(2000, 200),
	mlperfQwen3VLServer:         {RequestLatency: 12 * time.Second},
}

// tokenLimits are time to first token and time per output token, in milliseconds. The latter is the mean over the tokens of an answer after
// the first, as the inter-token latency is here.
func tokenLimits(first, each int) SLOConfig {
	return SLOConfig{TimeToFirstToken: time.Duration(first) * time.Millisecond, InterTokenLatency: time.Duration(each) * time.Millisecond}
}

// SLOPresets is the closed list, in the order of names.
func SLOPresets() []SLOPreset { return slices.Sorted(maps.Keys(sloPresets)) }

// Thresholds lists the limits of a preset.
func (p SLOPreset) Thresholds() []Threshold {
	config := sloPresets[p]
	return config.thresholds()
}
