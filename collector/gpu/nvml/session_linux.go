//go:build linux && cgo && !nonvml

package nvml

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

// session is the use of the driver between its initialisation and its end.
type session struct {
	driver   *driver
	config   gpu.NVMLConfig
	hostname string
	logger   *slog.Logger
	info     gpu.Info // what is the same for all devices
	watch    *watch   // nil = the library tells no events

	devices   []*device
	refreshed time.Time
	denied    bool // a device may not be looked at
	lost      bool // a device does not answer; only a new session can bring it back
	failures  failures
}

// newSession begins the use of a driver that has been initialised.
func newSession(d *driver, c gpu.NVMLConfig, hostname string, events *events, logger *slog.Logger) *session {
	s := &session{driver: d, config: c, hostname: hostname, logger: logger, info: gpu.Info{Vendor: "nvidia"}, watch: newWatch(d, events)}
	if d.has("nvmlSystemGetDriverVersion") {
		s.info.DriverVersion, _ = d.SystemGetDriverVersion()
	}
	if d.has("nvmlSystemGetCudaDriverVersion_v2") {
		if v, ret := d.SystemGetCudaDriverVersion_v2(); ret == nvml.SUCCESS { // 12040 is 12.4
			s.info.CUDAVersion = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
		}
	}
	return s
}

// refresh finds the devices and asks them what is asked each minute. What a device turned out not to support stays known. The status is no success
// if the driver as a whole does not answer.
func (s *session) refresh(now time.Time) nvml.Return {
	s.refreshed = now
	count, ret := s.driver.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return ret
	}
	known := byUUID(s.devices)
	defer func() {
		for _, d := range known {
			d.free()
		}
	}()
	s.devices, s.denied, s.lost = nil, false, false
	for i := range count {
		d, status := s.device(i, known)
		switch judge(status) {
		case answered:
			s.devices = append(s.devices, d)
		case broken:
			return status
		case gone:
			s.lost = true
		default:
			s.denied = s.denied || status == nvml.ERROR_NO_PERMISSION
			s.failures[reason(status)]++
		}
	}
	s.watch.start()
	return nvml.SUCCESS
}

// byUUID are the devices by their UUID.
func byUUID(devices []*device) map[string]*device {
	known := make(map[string]*device, len(devices))
	for _, d := range devices {
		known[d.UUID] = d
	}
	return known
}

// device finds the GPU of an index, which is taken out of those that are known if it is one of them and has not changed its MIG mode.
func (s *session) device(index int, known map[string]*device) (*device, nvml.Return) {
	h, ret := s.driver.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	uuid, ret := h.GetUUID()
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	mig := s.migMode(h)
	d := known[uuid]
	if d != nil && d.mig == mig {
		delete(known, uuid)
	} else {
		d = s.newDevice(h, mig)
	}
	d.handle = h
	d.Identity = gpu.Identity{Index: strconv.Itoa(index), UUID: uuid, Hostname: s.hostname}
	s.watch.register(h, uuid)
	if ret = d.refresh(s.failures); ret == nvml.SUCCESS && mig {
		ret = s.refreshInstances(d)
	}
	if ret != nvml.SUCCESS {
		d.free()
		return nil, ret
	}
	return d, nvml.SUCCESS
}

// newDevice is a GPU that was not known.
func (s *session) newDevice(h nvml.Device, mig bool) *device {
	links := linkCount(h, s.driver)
	d := &device{
		info: s.info, mig: mig,
		atOnce:   possible(asksAtOnce(s.config, links, mig), s.driver),
		minutely: possible(asksEachMinute(links), s.driver),
		activity: newActivity(s.driver, h, h.GpmSampleGet),
	}
	if s.driver.has("nvmlDeviceGetName") {
		d.info.Model, _ = h.GetName()
	}
	if s.driver.has("nvmlDeviceGetVbiosVersion") {
		d.info.VBIOSVersion, _ = h.GetVbiosVersion()
	}
	if s.driver.hasOne("nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo") {
		if pci, ret := h.GetPciInfo(); ret == nvml.SUCCESS {
			d.info.PCIBusID = busID(pci.BusId[:])
		}
	}
	if s.driver.has("nvmlDeviceGetMemoryInfo") {
		m, _ := h.GetMemoryInfo()
		d.total = m.Total
	}
	return d
}

// busID is a C string in lower case.
func busID(chars []int8) string {
	var b strings.Builder
	for _, c := range chars {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return strings.ToLower(b.String())
}

// look asks all devices what is asked at each look. Those that are lost meanwhile are left out. The status is no success if the driver as a whole
// does not answer; ctx is looked at between two devices, since no call can be broken off.
func (s *session) look(ctx context.Context) ([]gpu.Device, nvml.Return) {
	var seen []gpu.Device
	left := s.devices[:0]
	for i, d := range s.devices {
		if ctx.Err() != nil {
			s.devices = append(left, s.devices[i:]...)
			return nil, nvml.ERROR_TIMEOUT
		}
		found, ret := s.lookAt(d)
		switch judge(ret) {
		case answered:
			seen = append(seen, found...)
			left = append(left, d)
		case broken:
			s.devices = append(left, s.devices[i:]...)
			return nil, ret
		default:
			s.logger.Warn("GPU no longer answers", slog.String("gpu", d.Index), slog.String("uuid", d.UUID), slog.String("status", ret.Error()))
			s.lost = true
			d.free()
		}
	}
	s.devices = left
	return seen, nvml.SUCCESS
}

// lookAt asks a GPU and the instances on it.
func (s *session) lookAt(d *device) ([]gpu.Device, nvml.Return) {
	whole, ret := d.look(s.failures)
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	whole.Samples = append(whole.Samples, gpu.Sample{Name: healthSeries, Value: 1})
	whole.Samples = append(whole.Samples, s.watch.samples(d.UUID)...)
	found := []gpu.Device{whole}
	for _, instance := range d.instances {
		part, status := instance.look(s.failures)
		switch judge(status) {
		case answered:
			found = append(found, part)
		case broken:
			return nil, status
		default: // it was removed; the next refresh will not find it
		}
	}
	return found, nvml.SUCCESS
}

// healthSeries is 1 for as long as a GPU answers.
const healthSeries = "aiperf_gpu_health"

// end gives everything back.
func (s *session) end() {
	s.watch.close()
	for _, d := range s.devices {
		d.free()
	}
	s.devices = nil
	_ = s.driver.Shutdown() // there is nothing to be done about a driver that does not want to end
}
