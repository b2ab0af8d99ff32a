package gpu

import (
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// amd is AMD's device-metrics-exporter. All of its series are gauges, also those that count.
//
// A GPU can be divided into partitions, which share one socket: what is measured there, such as the power, is told with partition 0 and is 0 at the
// others. So it is shown for the whole GPU, and with partition 0 no more than what is the partition's own.
var amd = dialect{
	source:   AMD,
	vendor:   "amd",
	prefixes: []string{"amd_"},
	names: names{
		index: []string{"gpu_id"}, uuid: []string{"gpu_uuid", "serial_number"}, hostname: []string{"hostname"},
		model: []string{"card_series", "card_model"}, profile: []string{"gpu_compute_partition_type"}, driver: []string{"driver_version"},
	},
	part: func(s *exposition.Series) string {
		switch strings.ToLower(s.Label("gpu_compute_partition_type")) {
		case "", "spx", "none":
			return ""
		}
		return s.Label(partitionLabel)
	},
	whole: func(s *exposition.Series) bool {
		return s.Label(partitionLabel) == "" || s.Label(partitionLabel) == "0"
	},
	blank: amdBlank,
	rules: amdRules,
}

const partitionLabel = "gpu_partition_id"

// amdBlank tells the values with which the library says that something is not available: all bits set, in 16, 32 or 64 of them. 65535 may be
// a count or a size all the same.
func amdBlank(series string, v float64) bool {
	const int16Blank, int32Blank, int64Blank = 65535, 4294967295, 18446744073709551615
	narrow := !strings.HasSuffix(series, "_bytes") && !strings.HasSuffix(series, "_total")
	return v == int32Blank || v >= int64Blank || narrow && v == int16Blank
}

var amdRules = []rule{
	{series: seriesPower, families: []string{"gpu_package_power"}},
	{series: seriesPower, families: []string{"gpu_average_package_power"}},
	{series: seriesPower, families: []string{"gpu_power_usage"}},
	{series: seriesEnergy, families: []string{"gpu_energy_consumed"}, per: micro},
	{series: seriesTemperature, families: []string{"gpu_junction_temperature"}},
	{series: seriesTemperature, families: []string{"gpu_edge_temperature"}},
	{series: seriesMemoryHeat, families: []string{"gpu_memory_temperature"}},
	// A socket has a clock for each of its chips.
	{
		series: "aiperf_gpu_sm_clock_hertz", families: []string{"gpu_clock"},
		times: mega, where: &exposition.Label{Name: "clock_type", Value: "GPU_CLOCK_TYPE_SYSTEM"}, join: mean,
	},
	{
		series: "aiperf_gpu_memory_clock_hertz", families: []string{"gpu_clock"},
		times: mega, where: &exposition.Label{Name: "clock_type", Value: "GPU_CLOCK_TYPE_MEMORY"}, join: mean,
	},
	{series: seriesThrottled, families: []string{"gpu_violation_ppt_residency_percentage"}, per: percent, labels: []string{"power"}, join: mean},
	{
		series: seriesThrottled, families: []string{"gpu_violation_socket_thermal_residency_percentage"},
		per: percent, labels: []string{"socket_thermal"}, join: mean,
	},
	{
		series: seriesThrottled, families: []string{"gpu_violation_vr_thermal_residency_percentage"},
		per: percent, labels: []string{"vr_thermal"}, join: mean,
	},
	{
		series: seriesThrottled, families: []string{"gpu_violation_hbm_thermal_residency_percentage"},
		per: percent, labels: []string{"hbm_thermal"}, join: mean,
	},
	{
		series: seriesThrottled, families: []string{"gpu_violation_processor_hot_residency_percentage"},
		per: percent, labels: []string{"processor_hot"}, join: mean,
	},

	// What the exporter calls MB are mebibytes.
	{series: seriesMemoryUsed, families: []string{"gpu_used_vram"}, times: mebi, part: true},
	{series: seriesMemoryTotal, families: []string{"gpu_total_vram"}, times: mebi, part: true},
	{series: seriesMemoryFree, families: []string{"gpu_free_vram"}, times: mebi, part: true},

	{series: "aiperf_gpu_utilization_ratio", families: []string{"gpu_gfx_activity"}, per: percent, part: true},
	{series: "aiperf_gpu_memory_controller_utilization_ratio", families: []string{"gpu_umc_activity"}, per: percent, part: true},
	{series: "aiperf_gpu_sm_active_ratio", families: []string{"gpu_prof_sm_active"}, per: percent, part: true},
	{series: "aiperf_gpu_sm_occupancy_ratio", families: []string{"gpu_prof_occupancy_percent"}, per: percent, part: true},
	{series: "aiperf_gpu_engine_active_ratio", families: []string{"gpu_prof_gui_util_percent"}, per: percent, part: true},
	{series: "aiperf_gpu_tensor_active_ratio", families: []string{"gpu_prof_tensor_active_percent"}, per: percent, part: true},
	{
		series: "aiperf_gpu_decoder_utilization_ratio", families: []string{"gpu_vcn_busy_instantaneous", "gpu_vc_busy_instantaneous"},
		per: percent, part: true, join: mean,
	},
	{series: "aiperf_gpu_jpeg_utilization_ratio", families: []string{"gpu_jpeg_busy_instantaneous"}, per: percent, part: true, join: mean},

	{series: "aiperf_gpu_pcie_replays_total", families: []string{"pcie_replay_count"}},
	{series: "aiperf_gpu_nvlink_transmit_bytes_total", families: []string{"gpu_xgmi_link_tx"}, times: kilo, join: sum},
	{series: "aiperf_gpu_nvlink_receive_bytes_total", families: []string{"gpu_xgmi_link_rx"}, times: kilo, join: sum},

	{series: seriesECC, families: []string{"gpu_ecc_correct_total"}, labels: []string{"corrected", "aggregate"}},
	{series: seriesECC, families: []string{"gpu_ecc_uncorrect_total"}, labels: []string{"uncorrected", "aggregate"}},
	{series: seriesECC, families: []string{"gpu_ecc_deferred_total"}, labels: []string{"deferred", "aggregate"}},
	{series: seriesHealth, families: []string{"gpu_health"}, join: least, convert: func(v float64) (float64, bool) { return boolean(v == 1), true }},
}
