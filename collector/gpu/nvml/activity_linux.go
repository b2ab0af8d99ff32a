//go:build linux && cgo && !nonvml

package nvml

import (
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

// gpmSymbols are the functions that measuring activity takes; instances take one more.
var gpmSymbols = []string{"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleFree", "nvmlGpmSampleGet", "nvmlGpmMetricsGet"}

// activity measures what the units of a GPU do, from Hopper on: each value is over the time between two samples, the last look's and this one's.
type activity struct {
	library library
	get     func(nvml.GpmSample) nvml.Return
	last    nvml.GpmSample // of the look before, if there was one
	next    nvml.GpmSample
	primed  bool
}

// gpmMetric is one of the values, and what it counts in, in base units.
type gpmMetric struct {
	id     nvml.GpmMetricId
	series string
	unit   float64
}

var gpmMetrics = []gpmMetric{
	{nvml.GPM_METRIC_GRAPHICS_UTIL, "aiperf_gpu_engine_active_ratio", percent},
	{nvml.GPM_METRIC_SM_UTIL, "aiperf_gpu_sm_active_ratio", percent},
	{nvml.GPM_METRIC_SM_OCCUPANCY, "aiperf_gpu_sm_occupancy_ratio", percent},
	{nvml.GPM_METRIC_ANY_TENSOR_UTIL, "aiperf_gpu_tensor_active_ratio", percent},
	{nvml.GPM_METRIC_DRAM_BW_UTIL, "aiperf_gpu_dram_active_ratio", percent},
}

// gpmLinks are the two directions of NVLink, shown as one.
var gpmLinks = []nvml.GpmMetricId{nvml.GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, nvml.GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC}

// newActivity makes one that samples with get, or none if the GPU does not measure its activity.
func newActivity(d *driver, whole handle, get func(nvml.GpmSample) nvml.Return) *activity {
	if !d.hasAll(gpmSymbols...) {
		return nil
	}
	if support, ret := whole.GpmQueryDeviceSupport(); ret != nvml.SUCCESS || support.IsSupportedDevice == 0 {
		return nil
	}
	last, ret := d.GpmSampleAlloc()
	if ret != nvml.SUCCESS {
		return nil
	}
	next, ret := d.GpmSampleAlloc()
	if ret != nvml.SUCCESS {
		_ = last.Free()
		return nil
	}
	return &activity{library: d, get: get, last: last, next: next}
}

// read takes a sample and compares it with the one before; the first has none.
func (a *activity) read() ([]gpu.Sample, nvml.Return) {
	if ret := a.get(a.next); ret != nvml.SUCCESS {
		return nil, ret
	}
	primed := a.primed
	a.last, a.next, a.primed = a.next, a.last, true
	if !primed {
		return nil, nvml.SUCCESS
	}
	request := nvml.GpmMetricsGetType{NumMetrics: uint32(len(gpmMetrics) + len(gpmLinks)), Sample1: a.next, Sample2: a.last}
	for i, m := range gpmMetrics {
		request.Metrics[i].MetricId = uint32(m.id)
	}
	for i, id := range gpmLinks {
		request.Metrics[len(gpmMetrics)+i].MetricId = uint32(id)
	}
	if ret := a.library.GpmMetricsGet(&request); ret != nvml.SUCCESS {
		return nil, ret
	}
	return gpmSamples(request.Metrics[:request.NumMetrics]), nvml.SUCCESS
}

// gpmSamples are the values that could be computed, in the order of the request.
func gpmSamples(metrics []nvml.GpmMetric) []gpu.Sample {
	var samples []gpu.Sample
	for i, m := range gpmMetrics {
		if computed(&metrics[i]) {
			samples = append(samples, gpu.Sample{Name: m.series, Value: metrics[i].Value * m.unit})
		}
	}
	received, sent := &metrics[len(gpmMetrics)], &metrics[len(gpmMetrics)+1]
	if computed(received) && computed(sent) {
		samples = append(samples, gpu.Sample{Name: "aiperf_gpu_nvlink_bytes_per_second", Value: (received.Value + sent.Value) * mebi})
	}
	return samples
}

func computed(m *nvml.GpmMetric) bool {
	return nvml.Return(m.NvmlReturn) == nvml.SUCCESS && !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0)
}

// free gives the samples back, which must happen before the library is shut down.
func (a *activity) free() {
	_ = a.last.Free()
	_ = a.next.Free()
}
