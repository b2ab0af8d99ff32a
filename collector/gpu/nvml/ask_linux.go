//go:build linux && cgo && !nonvml

package nvml

import (
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

// ask is one question to a device, in the ways in which it can be put, the best first. Ways that the library lacks or the device does not
// support are taken out; what is left without any is not asked again.
type ask []way

// way is one call.
type way struct {
	needs []string // the functions of the library of which it takes one
	read  func(handle) ([]gpu.Sample, nvml.Return)
}

// possible leaves the questions that a library can be asked.
func possible(asks []ask, d *driver) []ask {
	var left []ask
	for _, a := range asks {
		var ways ask
		for _, w := range a {
			if d.hasOne(w.needs...) {
				ways = append(ways, w)
			}
		}
		if len(ways) > 0 {
			left = append(left, ways)
		}
	}
	return left
}

// number is what the functions give that give one.
type number interface{ ~int | ~uint32 | ~uint64 }

// one is a way that gives one sample; unit is what its number counts in, in base units.
func one[T number](symbol, series string, unit float64, call func(handle) (T, nvml.Return), labels ...string) way {
	return way{needs: []string{symbol}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
		v, ret := call(h)
		return []gpu.Sample{{Name: series, Value: float64(v) * unit, Labels: labels}}, ret
	}}
}

// Base units in what the library counts in.
const (
	milli   = 1e-3
	nano    = 1e-9
	percent = 1e-2
	mega    = 1e6
	kilo    = 1e3
	kibi    = 1 << 10
	mebi    = 1 << 20
)

// asksAtOnce are what a GPU is asked at each look.
func asksAtOnce(c gpu.NVMLConfig, links int, mig bool) []ask {
	asks := []ask{
		// Power at this instant; the function gives, from Ampere on, the mean of the last second.
		{
			field(nvml.FI_DEV_POWER_INSTANT, "aiperf_gpu_power_watts", milli),
			one("nvmlDeviceGetPowerUsage", "aiperf_gpu_power_watts", milli, handle.GetPowerUsage),
		},
		{one("nvmlDeviceGetTotalEnergyConsumption", "aiperf_gpu_energy_joules_total", milli, handle.GetTotalEnergyConsumption)},
		{utilization},
		{temperature()},
		{field(nvml.FI_DEV_MEMORY_TEMP, "aiperf_gpu_memory_temperature_celsius", 1)},
		{clock("aiperf_gpu_sm_clock_hertz", nvml.CLOCK_SM)},
		{clock("aiperf_gpu_memory_clock_hertz", nvml.CLOCK_MEM)},
		{engine("nvmlDeviceGetEncoderUtilization", "aiperf_gpu_encoder_utilization_ratio", handle.GetEncoderUtilization)},
		{engine("nvmlDeviceGetDecoderUtilization", "aiperf_gpu_decoder_utilization_ratio", handle.GetDecoderUtilization)},
		{engine("nvmlDeviceGetJpgUtilization", "aiperf_gpu_jpeg_utilization_ratio", handle.GetJpgUtilization)},
		{engine("nvmlDeviceGetOfaUtilization", "aiperf_gpu_ofa_utilization_ratio", handle.GetOfaUtilization)},
		pcieTraffic(c),
		{
			one("nvmlDeviceGetPcieReplayCounter", "aiperf_gpu_pcie_replays_total", 1, handle.GetPcieReplayCounter),
			field(nvml.FI_DEV_PCIE_REPLAY_COUNTER, "aiperf_gpu_pcie_replays_total", 1),
		},
		{one("nvmlDeviceGetCurrPcieLinkGeneration", "aiperf_gpu_pcie_link_generation", 1, handle.GetCurrPcieLinkGeneration)},
		{one("nvmlDeviceGetCurrPcieLinkWidth", "aiperf_gpu_pcie_link_width", 1, handle.GetCurrPcieLinkWidth)},
		{
			clockEvents("nvmlDeviceGetCurrentClocksEventReasons", handle.GetCurrentClocksEventReasons),
			clockEvents("nvmlDeviceGetCurrentClocksThrottleReasons", handle.GetCurrentClocksThrottleReasons),
		},
		{performanceState},
		{one("nvmlDeviceGetFanSpeed", "aiperf_gpu_fan_speed_ratio", percent, handle.GetFanSpeed)},
	}
	for _, p := range policies {
		asks = append(asks, ask{violation(p), field(p.field, "aiperf_gpu_throttle_seconds_total", nano, p.name)})
	}
	if links > 0 {
		asks = append(asks, nvlinkTraffic(links))
	}
	if !mig { // with MIG the memory and the processes are those of the instances
		asks = append(asks, memory, ask{processes})
	}
	return asks
}

// asksOfInstance are what an instance on a GPU is asked at each look; whatever else there is, is of the whole GPU.
func asksOfInstance() []ask { return []ask{memory, {processes}} }

// asksEachMinute are what a GPU is asked with its static facts: what hardly ever changes, or takes many calls.
func asksEachMinute(links int) []ask {
	asks := slices.Grow([]ask{
		{one("nvmlDeviceGetEnforcedPowerLimit", "aiperf_gpu_power_limit_watts", milli, handle.GetEnforcedPowerLimit)},
		{remappedRows},
		{retiredPages("single_bit", nvml.PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS)},
		{retiredPages("double_bit", nvml.PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR)},
		{eccErrors("corrected", "volatile", nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC)},
		{eccErrors("corrected", "aggregate", nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.AGGREGATE_ECC)},
		{eccErrors("uncorrected", "volatile", nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)},
		{eccErrors("uncorrected", "aggregate", nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.AGGREGATE_ECC)},
	}, links*(1+len(linkErrors)))
	for link := range links {
		asks = append(asks, ask{linkState(link)})
		for _, e := range linkErrors {
			asks = append(asks, ask{linkErrorCount(link, e)})
		}
	}
	return asks
}
