package gpu

import (
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Closed sets of label values.
var (
	// ClockEventReasons are why clocks are lower than they could be, in the order of the driver's bits; other stands for bits that are new.
	ClockEventReasons = []string{
		"gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown",
		"hw_thermal_slowdown", "hw_power_brake", "display_clock_setting", "board_limit", "reliability", "other",
	}
	// ThrottlePolicies are what throttles NVIDIA's GPUs, ThrottleLimits what throttles AMD's.
	ThrottlePolicies = []string{"power", "thermal", "sync_boost", "board_limit", "low_utilization", "reliability", "app_clocks", "base_clocks"}
	ThrottleLimits   = []string{"power", "socket_thermal", "vr_thermal", "hbm_thermal", "processor_hot"}
	// ECCTypes and ECCScopes tell errors of memory apart: volatile ones count from the last load of the driver, aggregate ones for the GPU's life.
	ECCTypes  = []string{"corrected", "uncorrected", "deferred"}
	ECCScopes = []string{"volatile", "aggregate"}
	// NVLinkErrors are what can go wrong on a link.
	NVLinkErrors = []string{"crc_flit", "crc_data", "replay", "recovery"}
	// RemapTypes are what rows are remapped for, RetirementCauses what pages are retired for; a pending page is retired at the next reboot.
	RemapTypes       = []string{"correctable", "uncorrectable"}
	RetirementCauses = []string{"single_bit", "double_bit", "pending"}
)

// Names that the program itself uses.
const (
	seriesPower        = "aiperf_gpu_power_watts"
	seriesEnergy       = "aiperf_gpu_energy_joules_total"
	seriesMemoryUsed   = "aiperf_gpu_memory_used_bytes"
	seriesMemoryTotal  = "aiperf_gpu_memory_total_bytes"
	seriesMemoryFree   = "aiperf_gpu_memory_free_bytes"
	seriesNVLinkRate   = "aiperf_gpu_nvlink_bytes_per_second"
	seriesClockEvent   = "aiperf_gpu_clock_event_active"
	seriesXIDErrors    = "aiperf_gpu_xid_errors_total"
	seriesLastXID      = "aiperf_gpu_last_xid"
	seriesHealth       = "aiperf_gpu_health"
	seriesInfo         = "aiperf_gpu_info"
	seriesUp           = "aiperf_gpu_up"
	seriesState        = "aiperf_gpu_collector_state"
	seriesDevices      = "aiperf_gpu_devices"
	seriesTargetGPU    = "aiperf_target_gpu_info"
	seriesTemperature  = "aiperf_gpu_temperature_celsius"
	seriesMemoryHeat   = "aiperf_gpu_memory_temperature_celsius"
	seriesECC          = "aiperf_gpu_ecc_errors_total"
	seriesNVLinkErrors = "aiperf_gpu_nvlink_errors_total"
	seriesRemapped     = "aiperf_gpu_remapped_rows_total"
	seriesRetired      = "aiperf_gpu_retired_pages"
	seriesThrottle     = "aiperf_gpu_throttle_seconds_total"
	seriesThrottled    = "aiperf_gpu_throttle_ratio"
)

// Table lists every series of GPUs and of their sources. A sensor that a device does not have, or that its source does not tell, has no series.
func Table() []metrics.Series {
	return slices.Concat(powerSeries(), memorySeries(), activitySeries(), linkSeries(), faultSeries(), identitySeries())
}

func gauge(name, unit, help string, labels ...metrics.Label) metrics.Series {
	return metrics.Series{Name: name, Kind: metrics.Gauge, Scope: metrics.PerGPU, Unit: unit, Help: help, Labels: labels}
}

func counter(name, unit, help string, labels ...metrics.Label) metrics.Series {
	return metrics.Series{Name: name, Kind: metrics.Counter, Scope: metrics.PerGPU, Unit: unit, Help: help, Labels: labels}
}

func powerSeries() []metrics.Series {
	return []metrics.Series{
		gauge(seriesPower, "watts", "Power that the whole GPU draws."),
		gauge("aiperf_gpu_power_limit_watts", "watts", "Power that the GPU is held to."),
		counter(seriesEnergy, "joules", "Energy that the whole GPU has used since its driver, for Triton since Triton, was started; starts anew when that is."),
		gauge(seriesTemperature, "celsius", "Temperature of the chip, for AMD of its hottest spot where that is told."),
		gauge(seriesMemoryHeat, "celsius", "Temperature of the memory."),
		gauge("aiperf_gpu_sm_clock_hertz", "hertz", "Clock of the compute units."),
		gauge("aiperf_gpu_memory_clock_hertz", "hertz", "Clock of the memory."),
		gauge("aiperf_gpu_fan_speed_ratio", "ratio", "Speed that the fan is asked for, of its nominal maximum; may exceed 1."),
		gauge("aiperf_gpu_performance_state", "state", "Performance state: 0 is the fastest, 15 the slowest. NVIDIA only."),
		gauge(seriesClockEvent, "boolean", "1 while this reason holds the clocks down, else 0. NVIDIA only.", metrics.Label{Name: "reason", Values: ClockEventReasons}),
		counter(seriesThrottle, "seconds", "Time for which this policy has held the clocks down. NVIDIA only.", metrics.Label{Name: "policy", Values: ThrottlePolicies}),
		gauge(seriesThrottled, "ratio", "Share of the time for which this limit holds the clocks down. AMD only.", metrics.Label{Name: "policy", Values: ThrottleLimits}),
	}
}

func memorySeries() []metrics.Series {
	return []metrics.Series{
		gauge(seriesMemoryUsed, "bytes", "Memory in use; what the driver reserves for itself is not, except where an old driver counts both."),
		gauge(seriesMemoryTotal, "bytes", "Memory that there is, what the driver reserves included."),
		gauge(seriesMemoryFree, "bytes", "Memory that can still be used."),
	}
}

func activitySeries() []metrics.Series {
	return []metrics.Series{
		gauge("aiperf_gpu_utilization_ratio", "ratio", "Share of the time in which anything at all ran; a single small kernel counts as much as a full GPU."),
		gauge("aiperf_gpu_memory_controller_utilization_ratio", "ratio", "Share of the time in which memory was read or written; not how full it is."),
		gauge("aiperf_gpu_sm_active_ratio", "ratio", "Share of the time in which a compute unit had work, averaged over all of them."),
		gauge("aiperf_gpu_sm_occupancy_ratio", "ratio", "Warps resident on the compute units, of those that fit."),
		gauge("aiperf_gpu_engine_active_ratio", "ratio", "Share of the time in which the graphics or compute engine was active."),
		gauge("aiperf_gpu_tensor_active_ratio", "ratio", "Share of the time in which the tensor or matrix units were active."),
		gauge("aiperf_gpu_dram_active_ratio", "ratio", "Share of the time in which the memory interface moved data."),
		gauge("aiperf_gpu_encoder_utilization_ratio", "ratio", "Share of the time in which the video encoder ran."),
		gauge("aiperf_gpu_decoder_utilization_ratio", "ratio", "Share of the time in which the video decoder ran; for AMD the engine that encodes too."),
		gauge("aiperf_gpu_jpeg_utilization_ratio", "ratio", "Share of the time in which the JPEG engine ran."),
		gauge("aiperf_gpu_ofa_utilization_ratio", "ratio", "Share of the time in which the optical flow engine ran."),
		gauge("aiperf_gpu_processes", "processes", "Processes that compute on the GPU."),
	}
}

func linkSeries() []metrics.Series {
	link := metrics.Label{Name: "link"}
	return []metrics.Series{
		counter("aiperf_gpu_pcie_transmit_bytes_total", "bytes", "Bytes that the GPU has sent over PCIe."),
		counter("aiperf_gpu_pcie_receive_bytes_total", "bytes", "Bytes that the GPU has received over PCIe."),
		gauge("aiperf_gpu_pcie_transmit_bytes_per_second", "bytes per second", "Rate at which the GPU sends over PCIe, where only that is known."),
		gauge("aiperf_gpu_pcie_receive_bytes_per_second", "bytes per second", "Rate at which the GPU receives over PCIe, where only that is known."),
		counter("aiperf_gpu_pcie_replays_total", "replays", "Packets that were sent again over PCIe."),
		gauge("aiperf_gpu_pcie_link_generation", "generation", "PCIe generation that the link runs at now; falls when the GPU is idle."),
		gauge("aiperf_gpu_pcie_link_width", "lanes", "PCIe lanes in use now."),
		counter("aiperf_gpu_nvlink_transmit_bytes_total", "bytes", "Bytes that the GPU has sent over all its NVLink, for AMD xGMI, links."),
		counter("aiperf_gpu_nvlink_receive_bytes_total", "bytes", "Bytes that the GPU has received over all its NVLink, for AMD xGMI, links."),
		gauge(seriesNVLinkRate, "bytes per second", "Rate over all NVLink links and both directions."),
		gauge("aiperf_gpu_nvlink_up", "boolean", "1 if the link is up, else 0.", link),
		counter(seriesNVLinkErrors, "errors", "Errors on NVLink; link is empty where they are only known for all links together.", link, metrics.Label{Name: "type", Values: NVLinkErrors}),
	}
}

func faultSeries() []metrics.Series {
	return []metrics.Series{
		counter(seriesECC, "errors", "Memory errors; volatile ones since the driver was loaded, aggregate ones over the life of the GPU.", metrics.Label{Name: "type", Values: ECCTypes}, metrics.Label{Name: "scope", Values: ECCScopes}),
		counter(seriesRemapped, "rows", "Rows of memory replaced by spare ones.", metrics.Label{Name: "type", Values: RemapTypes}),
		gauge("aiperf_gpu_row_remap_pending", "boolean", "1 if a row is to be replaced at the next reset, else 0."),
		gauge("aiperf_gpu_row_remap_failed", "boolean", "1 if a row could not be replaced, else 0: the GPU is to be exchanged."),
		gauge(seriesRetired, "pages", "Pages of memory taken out of use, or waiting for it.", metrics.Label{Name: "cause", Values: RetirementCauses}),
		counter(seriesXIDErrors, "errors", "XID errors seen since this program was started. A lower bound where the source only tells the last code. NVIDIA only.", metrics.Label{Name: "xid"}),
		gauge(seriesLastXID, "code", "Code of the last XID error, 0 if there was none. NVIDIA only."),
		gauge(seriesHealth, "boolean", "1 if the source calls the GPU healthy, else 0."),
	}
}

func identitySeries() []metrics.Series {
	return []metrics.Series{
		gauge(seriesUp, "boolean", "1 if the source sees the GPU, 0 for ten minutes after it no longer does, and for as long as a GPU that it sees does not answer."),
		gauge(
			seriesInfo, "info", "What does not change about a GPU. preferred is 1 on one source of each GPU: the one to count where several see it. Those of a pod are of the one that uses the GPU.",
			metrics.Label{Name: "model"}, metrics.Label{Name: "pci_bus_id"}, metrics.Label{Name: "vendor", Values: []string{"nvidia", "amd"}},
			metrics.Label{Name: "mig_profile"}, metrics.Label{Name: "driver_version"}, metrics.Label{Name: "cuda_version"}, metrics.Label{Name: "vbios_version"},
			metrics.Label{Name: "namespace"}, metrics.Label{Name: "pod"}, metrics.Label{Name: "container"}, metrics.Label{Name: "preferred", Values: []string{"0", "1"}},
		),
		{
			Name: seriesState, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "boolean",
			Labels: []metrics.Label{{Name: "source", Values: words(SourceNames)}, {Name: "state", Values: words(States)}},
			Help:   "1 for the state that the source is in, else 0.",
		},
		{
			Name: seriesDevices, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "devices",
			Labels: []metrics.Label{{Name: "source", Values: words(SourceNames)}},
			Help:   "GPUs, and instances on them, that the source sees.",
		},
		{
			Name: seriesTargetGPU, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "info",
			Labels: []metrics.Label{{Name: "target"}, {Name: "uuid"}, {Name: "mig_instance"}},
			Help:   "1 for a GPU, or an instance on it, that serves the target.",
		},
	}
}

func words[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
