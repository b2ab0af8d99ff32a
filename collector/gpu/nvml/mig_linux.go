//go:build linux && cgo && !nonvml

package nvml

import (
	"fmt"
	"math"
	"strconv"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

// migMode tells whether a GPU is divided into instances.
func (s *session) migMode(h handle) bool {
	if !s.driver.hasAll("nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetGpuInstanceId") {
		return false
	}
	current, _, ret := h.GetMigMode()
	return ret == nvml.SUCCESS && current == nvml.DEVICE_MIG_ENABLE
}

// refreshInstances finds the instances on a GPU. The status is that by which the GPU was found to be lost.
func (s *session) refreshInstances(parent *device) nvml.Return {
	known := byUUID(parent.instances)
	defer func() {
		for _, d := range known {
			d.free()
		}
	}()
	parent.instances = nil
	slots, ret := parent.handle.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		slots = 0
	}
	for i := 0; i < slots && !isLoss(ret); i++ {
		var h nvml.Device
		if h, ret = parent.handle.GetMigDeviceHandleByIndex(i); ret != nvml.SUCCESS {
			continue // most slots are empty
		}
		var d *device
		if d, ret = s.instance(parent, h, known); ret == nvml.SUCCESS {
			parent.instances = append(parent.instances, d)
		}
	}
	if isLoss(ret) {
		return ret
	}
	return nvml.SUCCESS
}

// isLoss tells whether a status means that the device, or the driver, is lost.
func isLoss(ret nvml.Return) bool {
	v := judge(ret)
	return v == gone || v == broken
}

// instance finds out which one it is, which is taken out of those that are known if it is one of them.
func (s *session) instance(parent *device, h nvml.Device, known map[string]*device) (*device, nvml.Return) {
	uuid, ret := h.GetUUID()
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	if d := known[uuid]; d != nil {
		delete(known, uuid)
		d.handle, d.Index = h, parent.Index
		return d, nvml.SUCCESS
	}
	id, ret := h.GetGpuInstanceId()
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	d := &device{
		Identity: gpu.Identity{Index: parent.Index, UUID: uuid, Hostname: s.hostname, Instance: strconv.Itoa(id)},
		info:     parent.info,
		handle:   h,
		atOnce:   possible(asksOfInstance(), s.driver),
	}
	if s.driver.hasOne("nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes") {
		if a, status := h.GetAttributes(); status == nvml.SUCCESS {
			d.info.Profile = profile(&a, parent.total)
		}
	}
	if s.driver.has("nvmlGpmMigSampleGet") {
		whole := parent.handle
		d.activity = newActivity(s.driver, whole, func(sample nvml.GpmSample) nvml.Return { return whole.GpmMigSampleGet(id, sample) })
	}
	return d, nvml.SUCCESS
}

// profile is the name by which NVIDIA knows the size of an instance, as 1g.10gb or 1c.3g.40gb; "" where the memory of the GPU is not told. The
// gigabytes in it are eighths of the GPU's, rounded up, which is why they differ from those of the instance.
func profile(a *nvml.DeviceAttributes, total uint64) string {
	if total == 0 || a.GpuInstanceSliceCount == 0 {
		return ""
	}
	const eighths = 8
	share := math.Ceil(float64(a.MemorySizeMB)*mebi/float64(total)*eighths) / eighths
	gigabytes := math.Round(share * math.Ceil(float64(total)/(1<<30)))
	name := fmt.Sprintf("%dg.%.0fgb", a.GpuInstanceSliceCount, gigabytes)
	if a.ComputeInstanceSliceCount != a.GpuInstanceSliceCount {
		return fmt.Sprintf("%dc.%s", a.ComputeInstanceSliceCount, name)
	}
	return name
}
