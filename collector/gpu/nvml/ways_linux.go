//go:build linux && cgo && !nonvml

package nvml

import (
	"strconv"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

var utilization = way{needs: []string{"nvmlDeviceGetUtilizationRates"}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
	u, ret := h.GetUtilizationRates()
	return []gpu.Sample{
		{Name: "aiperf_gpu_utilization_ratio", Value: float64(u.Gpu) * percent},
		{Name: "aiperf_gpu_memory_controller_utilization_ratio", Value: float64(u.Memory) * percent},
	}, ret
}}

// memory in the second version does not count what the driver reserves as used.
var memory = ask{
	{needs: []string{"nvmlDeviceGetMemoryInfo_v2"}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
		m, ret := h.GetMemoryInfo_v2()
		return memorySamples(m.Used, m.Total, m.Free), ret
	}},
	{needs: []string{"nvmlDeviceGetMemoryInfo"}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
		m, ret := h.GetMemoryInfo()
		return memorySamples(m.Used, m.Total, m.Free), ret
	}},
}

func memorySamples(used, total, free uint64) []gpu.Sample {
	return []gpu.Sample{
		{Name: "aiperf_gpu_memory_used_bytes", Value: float64(used)},
		{Name: "aiperf_gpu_memory_total_bytes", Value: float64(total)},
		{Name: "aiperf_gpu_memory_free_bytes", Value: float64(free)},
	}
}

func temperature() way {
	return one("nvmlDeviceGetTemperature", "aiperf_gpu_temperature_celsius", 1, func(h handle) (uint32, nvml.Return) {
		return h.GetTemperature(nvml.TEMPERATURE_GPU)
	})
}

func clock(series string, kind nvml.ClockType) way {
	return one("nvmlDeviceGetClockInfo", series, mega, func(h handle) (uint32, nvml.Return) { return h.GetClockInfo(kind) })
}

// engine is the share of its sampling period, which is not shown, for which an engine ran.
func engine(symbol, series string, call func(handle) (share, period uint32, ret nvml.Return)) way {
	return one(symbol, series, percent, func(h handle) (uint32, nvml.Return) {
		share, _, ret := call(h)
		return share, ret
	})
}

func clockEvents(symbol string, call func(handle) (uint64, nvml.Return)) way {
	return way{needs: []string{symbol}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
		mask, ret := call(h)
		return gpu.ClockEvents(mask), ret
	}}
}

var performanceState = way{needs: []string{"nvmlDeviceGetPerformanceState"}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
	state, ret := h.GetPerformanceState()
	if ret == nvml.SUCCESS && state == nvml.PSTATE_UNKNOWN {
		return nil, nvml.ERROR_NO_DATA
	}
	return []gpu.Sample{{Name: "aiperf_gpu_performance_state", Value: float64(state)}}, ret
}}

// processes has three versions, of which go-nvml takes the newest there is.
var processes = way{
	needs: []string{"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses"},
	read: func(h handle) ([]gpu.Sample, nvml.Return) {
		found, ret := h.GetComputeRunningProcesses()
		return []gpu.Sample{{Name: "aiperf_gpu_processes", Value: float64(len(found))}}, ret
	},
}

// policy is one of those that hold the clocks down: its function, its field where that is gone, and our name for it.
type policy struct {
	name  string
	kind  nvml.PerfPolicyType
	field uint32
}

var policies = []policy{
	{"power", nvml.PERF_POLICY_POWER, nvml.FI_DEV_PERF_POLICY_POWER},
	{"thermal", nvml.PERF_POLICY_THERMAL, nvml.FI_DEV_PERF_POLICY_THERMAL},
	{"sync_boost", nvml.PERF_POLICY_SYNC_BOOST, nvml.FI_DEV_PERF_POLICY_SYNC_BOOST},
	{"board_limit", nvml.PERF_POLICY_BOARD_LIMIT, nvml.FI_DEV_PERF_POLICY_BOARD_LIMIT},
	{"low_utilization", nvml.PERF_POLICY_LOW_UTILIZATION, nvml.FI_DEV_PERF_POLICY_LOW_UTILIZATION},
	{"reliability", nvml.PERF_POLICY_RELIABILITY, nvml.FI_DEV_PERF_POLICY_RELIABILITY},
	{"app_clocks", nvml.PERF_POLICY_TOTAL_APP_CLOCKS, nvml.FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS},
	{"base_clocks", nvml.PERF_POLICY_TOTAL_BASE_CLOCKS, nvml.FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS},
}

func violation(p policy) way {
	return one("nvmlDeviceGetViolationStatus", "aiperf_gpu_throttle_seconds_total", nano, func(h handle) (uint64, nvml.Return) {
		v, ret := h.GetViolationStatus(p.kind)
		return v.ViolationTime, ret
	}, p.name)
}

func eccErrors(kind, scope string, errorType nvml.MemoryErrorType, counter nvml.EccCounterType) way {
	return one("nvmlDeviceGetTotalEccErrors", "aiperf_gpu_ecc_errors_total", 1, func(h handle) (uint64, nvml.Return) {
		return h.GetTotalEccErrors(errorType, counter)
	}, kind, scope)
}

var remappedRows = way{needs: []string{"nvmlDeviceGetRemappedRows"}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
	correctable, uncorrectable, pending, failure, ret := h.GetRemappedRows()
	return []gpu.Sample{
		{Name: "aiperf_gpu_remapped_rows_total", Value: float64(correctable), Labels: []string{"correctable"}},
		{Name: "aiperf_gpu_remapped_rows_total", Value: float64(uncorrectable), Labels: []string{"uncorrectable"}},
		{Name: "aiperf_gpu_row_remap_pending", Value: boolean(pending)},
		{Name: "aiperf_gpu_row_remap_failed", Value: boolean(failure)},
	}, ret
}}

func retiredPages(name string, cause nvml.PageRetirementCause) way {
	return one("nvmlDeviceGetRetiredPages", "aiperf_gpu_retired_pages", 1, func(h handle) (int, nvml.Return) {
		pages, ret := h.GetRetiredPages(cause)
		return len(pages), ret
	}, name)
}

func linkState(link int) way {
	return one("nvmlDeviceGetNvLinkState", "aiperf_gpu_nvlink_up", 1, func(h handle) (int, nvml.Return) {
		state, ret := h.GetNvLinkState(link)
		return int(boolean(state == nvml.FEATURE_ENABLED)), ret
	}, strconv.Itoa(link))
}

// linkError is a counter of errors on a link, and our name for it.
type linkError struct {
	name    string
	counter nvml.NvLinkErrorCounter
}

var linkErrors = []linkError{
	{"crc_flit", nvml.NVLINK_ERROR_DL_CRC_FLIT},
	{"crc_data", nvml.NVLINK_ERROR_DL_CRC_DATA},
	{"replay", nvml.NVLINK_ERROR_DL_REPLAY},
	{"recovery", nvml.NVLINK_ERROR_DL_RECOVERY},
}

func linkErrorCount(link int, e linkError) way {
	return one("nvmlDeviceGetNvLinkErrorCounter", "aiperf_gpu_nvlink_errors_total", 1, func(h handle) (uint64, nvml.Return) {
		return h.GetNvLinkErrorCounter(link, e.counter)
	}, strconv.Itoa(link), e.name)
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
