package gpu

import "github.com/aiperf-exporter/aiperf-exporter/collector/exposition"

// triton is what NVIDIA's Triton tells about GPUs on its own page of metrics: little, without index and host name, but everywhere Triton is.
var triton = dialect{
	source: Triton,
	vendor: "nvidia",
	names:  names{uuid: []string{"gpu_uuid"}},
	part:   func(*exposition.Series) string { return "" },
	rules: []rule{
		{series: seriesPower, families: []string{"nv_gpu_power_usage"}},
		{series: "aiperf_gpu_power_limit_watts", families: []string{"nv_gpu_power_limit"}},
		{series: seriesEnergy, families: []string{"nv_energy_consumption"}},
		{series: seriesMemoryUsed, families: []string{"nv_gpu_memory_used_bytes"}},
		{series: seriesMemoryTotal, families: []string{"nv_gpu_memory_total_bytes"}},
		{series: "aiperf_gpu_utilization_ratio", families: []string{"nv_gpu_utilization"}},
	},
}
