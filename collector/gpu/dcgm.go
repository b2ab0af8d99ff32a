package gpu

import "github.com/aiperf-exporter/aiperf-exporter/collector/exposition"

// instanceLabel is the MIG instance that a series of dcgm-exporter is of. Sensors that only the whole GPU has, such as its power, are repeated
// for each instance.
const instanceLabel = "GPU_I_ID"

// dcgm is NVIDIA's dcgm-exporter. Its fields are those of DCGM; which of them there are is a matter of its list of counters.
var dcgm = dialect{
	source: DCGM,
	vendor: "nvidia",
	names: names{
		index: []string{"gpu"}, uuid: []string{"UUID", "uuid", "gpu_uuid"}, hostname: []string{"hostname", "Hostname"},
		model: []string{"modelName", "model_name"}, profile: []string{"GPU_I_PROFILE"}, bus: []string{"pci_bus_id"},
		driver: []string{"DCGM_FI_DRIVER_VERSION"}, cuda: []string{"DCGM_FI_CUDA_DRIVER_VERSION"}, vbios: []string{"DCGM_FI_DEV_VBIOS_VERSION"},
	},
	part:  func(s *exposition.Series) string { return s.Label(instanceLabel) },
	blank: func(_ string, v float64) bool { return dcgmBlank(v) },
	rules: dcgmRules,
}

// dcgmBlank tells the values with which DCGM says that a field is blank, not found, not supported or not permitted: the last few of a 32 bit
// integer, of a 64 bit integer and the first of a float beyond 2^47.
func dcgmBlank(v float64) bool {
	const (
		int32Blank, int32Last = 2147483632, 2147483647
		int64Blank            = 9223372036854775792 // as float64 it is 2^63, as are all above it
		floatBlank, floatLast = 140737488355328, 140737488355343
	)
	return v >= int32Blank && v <= int32Last || v >= int64Blank || v >= floatBlank && v <= floatLast
}

var dcgmRules = []rule{
	{series: seriesPower, families: []string{"DCGM_FI_DEV_POWER_USAGE"}},
	{series: "aiperf_gpu_power_limit_watts", families: []string{"DCGM_FI_DEV_ENFORCED_POWER_LIMIT"}},
	{series: "aiperf_gpu_power_limit_watts", families: []string{"DCGM_FI_DEV_POWER_MGMT_LIMIT"}},
	{series: seriesEnergy, families: []string{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"}, per: milli},
	{series: seriesTemperature, families: []string{"DCGM_FI_DEV_GPU_TEMP"}},
	{series: seriesMemoryHeat, families: []string{"DCGM_FI_DEV_MEMORY_TEMP"}},
	{series: "aiperf_gpu_sm_clock_hertz", families: []string{"DCGM_FI_DEV_SM_CLOCK"}, times: mega},
	{series: "aiperf_gpu_memory_clock_hertz", families: []string{"DCGM_FI_DEV_MEM_CLOCK"}, times: mega},
	{series: "aiperf_gpu_fan_speed_ratio", families: []string{"DCGM_FI_DEV_FAN_SPEED"}, per: percent},
	{
		series: "aiperf_gpu_performance_state", families: []string{"DCGM_FI_DEV_PSTATE"},
		convert: func(v float64) (float64, bool) { return v, v <= 15 },
	},
	{series: seriesClockEvent, families: []string{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"}, expand: ClockEvents},
	{series: seriesThrottle, families: []string{"DCGM_FI_DEV_POWER_VIOLATION"}, per: nano, labels: []string{"power"}},
	{series: seriesThrottle, families: []string{"DCGM_FI_DEV_THERMAL_VIOLATION"}, per: nano, labels: []string{"thermal"}},
	{series: seriesThrottle, families: []string{"DCGM_FI_DEV_SYNC_BOOST_VIOLATION"}, per: nano, labels: []string{"sync_boost"}},
	{series: seriesThrottle, families: []string{"DCGM_FI_DEV_BOARD_LIMIT_VIOLATION"}, per: nano, labels: []string{"board_limit"}},
	{series: seriesThrottle, families: []string{"DCGM_FI_DEV_LOW_UTIL_VIOLATION"}, per: nano, labels: []string{"low_utilization"}},
	{series: seriesThrottle, families: []string{"DCGM_FI_DEV_RELIABILITY_VIOLATION"}, per: nano, labels: []string{"reliability"}},

	{series: seriesMemoryUsed, families: []string{"DCGM_FI_DEV_FB_USED"}, times: mebi, part: true},
	{series: seriesMemoryFree, families: []string{"DCGM_FI_DEV_FB_FREE"}, times: mebi, part: true},
	{series: seriesMemoryTotal, families: []string{"DCGM_FI_DEV_FB_TOTAL"}, times: mebi, part: true},
	{
		series: seriesMemoryTotal, families: []string{"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED"},
		times: mebi, part: true, join: sum, complete: true,
	},

	{series: "aiperf_gpu_utilization_ratio", families: []string{"DCGM_FI_DEV_GPU_UTIL"}, per: percent},
	{series: "aiperf_gpu_memory_controller_utilization_ratio", families: []string{"DCGM_FI_DEV_MEM_COPY_UTIL"}, per: percent},
	{series: "aiperf_gpu_encoder_utilization_ratio", families: []string{"DCGM_FI_DEV_ENC_UTIL"}, per: percent},
	{series: "aiperf_gpu_decoder_utilization_ratio", families: []string{"DCGM_FI_DEV_DEC_UTIL"}, per: percent},
	{series: "aiperf_gpu_sm_active_ratio", families: []string{"DCGM_FI_PROF_SM_ACTIVE"}, part: true},
	{series: "aiperf_gpu_sm_occupancy_ratio", families: []string{"DCGM_FI_PROF_SM_OCCUPANCY"}, part: true},
	{series: "aiperf_gpu_engine_active_ratio", families: []string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE"}, part: true},
	{series: "aiperf_gpu_tensor_active_ratio", families: []string{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"}, part: true},
	{series: "aiperf_gpu_dram_active_ratio", families: []string{"DCGM_FI_PROF_DRAM_ACTIVE"}, part: true},

	{series: "aiperf_gpu_pcie_transmit_bytes_per_second", families: []string{"DCGM_FI_PROF_PCIE_TX_BYTES"}},
	{series: "aiperf_gpu_pcie_receive_bytes_per_second", families: []string{"DCGM_FI_PROF_PCIE_RX_BYTES"}},
	{series: "aiperf_gpu_pcie_replays_total", families: []string{"DCGM_FI_DEV_PCIE_REPLAY_COUNTER"}},
	{series: "aiperf_gpu_pcie_link_generation", families: []string{"DCGM_FI_DEV_PCIE_LINK_GEN"}},
	{series: "aiperf_gpu_pcie_link_width", families: []string{"DCGM_FI_DEV_PCIE_LINK_WIDTH"}},
	// The exporter calls the bandwidth a counter; it is a rate, in megabytes per second.
	{series: seriesNVLinkRate, families: []string{"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"}, times: mega},
	{series: seriesNVLinkRate, families: []string{"DCGM_FI_PROF_NVLINK_TX_BYTES", "DCGM_FI_PROF_NVLINK_RX_BYTES"}, join: sum, complete: true},
	{series: "aiperf_gpu_nvlink_up", families: []string{"DCGM_EXP_P2P_STATUS"}, labels: []string{""}, from: "peer_gpu", convert: linkUp},
	{series: seriesNVLinkErrors, families: []string{"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"}, labels: []string{"", "crc_flit"}},
	{series: seriesNVLinkErrors, families: []string{"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL"}, labels: []string{"", "crc_data"}},
	{series: seriesNVLinkErrors, families: []string{"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"}, labels: []string{"", "replay"}},
	{series: seriesNVLinkErrors, families: []string{"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"}, labels: []string{"", "recovery"}},

	{series: seriesECC, families: []string{"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"}, labels: []string{"corrected", "volatile"}},
	{series: seriesECC, families: []string{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"}, labels: []string{"uncorrected", "volatile"}},
	{series: seriesECC, families: []string{"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL"}, labels: []string{"corrected", "aggregate"}},
	{series: seriesECC, families: []string{"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL"}, labels: []string{"uncorrected", "aggregate"}},
	{series: seriesRemapped, families: []string{"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS"}, labels: []string{"correctable"}},
	{series: seriesRemapped, families: []string{"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"}, labels: []string{"uncorrectable"}},
	{series: "aiperf_gpu_row_remap_pending", families: []string{"DCGM_FI_DEV_ROW_REMAP_PENDING"}},
	{series: "aiperf_gpu_row_remap_failed", families: []string{"DCGM_FI_DEV_ROW_REMAP_FAILURE"}},
	{series: seriesRetired, families: []string{"DCGM_FI_DEV_RETIRED_SBE"}, labels: []string{"single_bit"}},
	{series: seriesRetired, families: []string{"DCGM_FI_DEV_RETIRED_DBE"}, labels: []string{"double_bit"}},
	{series: seriesRetired, families: []string{"DCGM_FI_DEV_RETIRED_PENDING"}, labels: []string{"pending"}},
	{series: seriesLastXID, families: []string{"DCGM_FI_DEV_XID_ERRORS"}},
	{series: xidWindow, families: []string{"DCGM_EXP_XID_ERRORS_COUNT"}, labels: []string{""}, from: "xid"},
	{series: xidTotal, families: []string{"DCGM_EXP_XID_ERRORS_TOTAL"}, labels: []string{""}, from: "xid"},
	// One series for each part of the GPU that is watched: healthy is the GPU of which all are.
	{
		series: seriesHealth, families: []string{"DCGM_EXP_GPU_HEALTH_STATUS"},
		join: least, convert: func(v float64) (float64, bool) { return boolean(v == 0), true },
	},
}

// linkUp reads how the way to another GPU is: 0 good, 3 switched off, 5 unknown, the others: there is none.
func linkUp(status float64) (up float64, ok bool) {
	return boolean(status == 0), status == 0 || status == 3
}
