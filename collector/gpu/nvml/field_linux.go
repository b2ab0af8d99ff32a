//go:build linux && cgo && !nonvml

package nvml

import (
	"encoding/binary"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

// getFields is the function behind all fields: numbers of the driver that have an id instead of a function.
const getFields = "nvmlDeviceGetFieldValues"

// field is a way that gives the value of one field; unit is what it counts in, in base units.
func field(id uint32, series string, unit float64, labels ...string) way {
	return way{needs: []string{getFields}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
		values := []nvml.FieldValue{{FieldId: id}}
		if ret := fields(h, values); ret != nvml.SUCCESS {
			return nil, ret
		}
		return []gpu.Sample{{Name: series, Value: fieldNumber(&values[0]) * unit, Labels: labels}}, nvml.SUCCESS
	}}
}

// fields asks for several at once. The status is the first one that is no success, be it of the call or of a value.
func fields(h handle, values []nvml.FieldValue) nvml.Return {
	if ret := h.GetFieldValues(values); ret != nvml.SUCCESS {
		return ret
	}
	for i := range values {
		if ret := nvml.Return(values[i].NvmlReturn); ret != nvml.SUCCESS {
			return ret
		}
	}
	return nvml.SUCCESS
}

// fieldNumber is the value of a field, which says by itself of what type it is.
func fieldNumber(v *nvml.FieldValue) float64 {
	b := v.Value[:]
	switch nvml.ValueType(v.ValueType) {
	case nvml.VALUE_TYPE_DOUBLE:
		return math.Float64frombits(binary.NativeEndian.Uint64(b))
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return float64(binary.NativeEndian.Uint32(b))
	case nvml.VALUE_TYPE_SIGNED_INT:
		return float64(int32(binary.NativeEndian.Uint32(b)))
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int64(binary.NativeEndian.Uint64(b)))
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return float64(binary.NativeEndian.Uint16(b))
	default: // unsigned long and long long, both of 64 bits on Linux
		return float64(binary.NativeEndian.Uint64(b))
	}
}

// pcieTraffic counts bytes where the driver does, else, if the configuration asks for it, takes the rate over 20 ms, for which the call waits.
func pcieTraffic(c gpu.NVMLConfig) ask {
	counted := way{needs: []string{getFields}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
		values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_PCIE_COUNT_TX_BYTES}, {FieldId: nvml.FI_DEV_PCIE_COUNT_RX_BYTES}}
		if ret := fields(h, values); ret != nvml.SUCCESS {
			return nil, ret
		}
		if values[0].ValueType == uint32(nvml.VALUE_TYPE_UNSIGNED_INT) {
			return nil, nvml.ERROR_NOT_SUPPORTED // 32 bits start anew after a tenth of a second of traffic: no rate can be made of that
		}
		return []gpu.Sample{
			{Name: "aiperf_gpu_pcie_transmit_bytes_total", Value: fieldNumber(&values[0])},
			{Name: "aiperf_gpu_pcie_receive_bytes_total", Value: fieldNumber(&values[1])},
		}, nvml.SUCCESS
	}}
	if !c.PCIeThroughput {
		return ask{counted}
	}
	return ask{counted, {needs: []string{"nvmlDeviceGetPcieThroughput"}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
		transmitted, ret := h.GetPcieThroughput(nvml.PCIE_UTIL_TX_BYTES)
		if ret != nvml.SUCCESS {
			return nil, ret
		}
		received, ret := h.GetPcieThroughput(nvml.PCIE_UTIL_RX_BYTES)
		return []gpu.Sample{
			{Name: "aiperf_gpu_pcie_transmit_bytes_per_second", Value: float64(transmitted) * kilo},
			{Name: "aiperf_gpu_pcie_receive_bytes_per_second", Value: float64(received) * kilo},
		}, ret
	}}}
}

// allLinks as the scope of a field of NVLink asks for the sum over the links.
const allLinks = math.MaxUint32

// nvlinkTraffic counts the bytes over all links: up to Hopper the driver adds them up, from Blackwell on it counts each link.
func nvlinkTraffic(links int) ask {
	return ask{
		{needs: []string{getFields}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
			return nvlinkSum(h, kibi, []nvml.FieldValue{
				{FieldId: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ScopeId: allLinks},
				{FieldId: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, ScopeId: allLinks},
			})
		}},
		{needs: []string{getFields}, read: func(h handle) ([]gpu.Sample, nvml.Return) {
			values := make([]nvml.FieldValue, 0, 2*links)
			for link := range links {
				values = append(values,
					nvml.FieldValue{FieldId: nvml.FI_DEV_NVLINK_COUNT_XMIT_BYTES, ScopeId: uint32(link)},
					nvml.FieldValue{FieldId: nvml.FI_DEV_NVLINK_COUNT_RCV_BYTES, ScopeId: uint32(link)})
			}
			return nvlinkSum(h, 1, values)
		}},
	}
}

// nvlinkSum adds up fields of which one is what was sent, the next what was received.
func nvlinkSum(h handle, unit float64, values []nvml.FieldValue) ([]gpu.Sample, nvml.Return) {
	ret := fields(h, values)
	var sent, received float64
	for i := 0; i < len(values); i += 2 {
		sent += fieldNumber(&values[i]) * unit
		received += fieldNumber(&values[i+1]) * unit
	}
	return []gpu.Sample{
		{Name: "aiperf_gpu_nvlink_transmit_bytes_total", Value: sent},
		{Name: "aiperf_gpu_nvlink_receive_bytes_total", Value: received},
	}, ret
}

// linkCount is how many NVLinks a device has.
func linkCount(h handle, d *driver) int {
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_NVLINK_LINK_COUNT}}
	if !d.has(getFields) || fields(h, values) != nvml.SUCCESS {
		return 0
	}
	return int(min(fieldNumber(&values[0]), nvml.NVLINK_MAX_LINKS))
}
