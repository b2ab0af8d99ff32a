//go:build linux && cgo && !nonvml

package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// device is a GPU, or an instance on it, while the driver is in use.
type device struct {
	gpu.Identity
	info      gpu.Info
	handle    nvml.Device
	mig       bool
	total     uint64 // bytes of memory, as far as known
	atOnce    []ask
	minutely  []ask
	kept      []gpu.Sample // answers to minutely
	activity  *activity    // nil = it does not measure it
	instances []*device
}

// failures counts the calls that failed once, by reason.
type failures map[scrape.Reason]int

// put asks the questions and gives the answers, and those of the questions that are worth asking again. The status is that by which the device,
// or the driver, was found to be lost.
func put(asks []ask, h handle, counts failures) (left []ask, samples []gpu.Sample, ret nvml.Return) {
	left = asks[:0]
	for _, a := range asks {
		for len(a) > 0 {
			answer, status := a[0].read(h)
			v := judge(status)
			if v == unsupported {
				a = a[1:]
				continue
			}
			switch v {
			case gone, broken:
				return nil, nil, status
			case answered:
				samples = append(samples, answer...)
			case faulty:
				counts[reason(status)]++
			case silent, unsupported:
			}
			left = append(left, a)
			break
		}
	}
	return left, samples, nvml.SUCCESS
}

// look asks a device what is asked at each look, without its instances. The status is that by which it was found to be lost.
func (d *device) look(counts failures) (gpu.Device, nvml.Return) {
	left, samples, ret := put(d.atOnce, d.handle, counts)
	if ret != nvml.SUCCESS {
		return gpu.Device{}, ret
	}
	d.atOnce = left
	if d.activity != nil {
		active, status := d.activity.read()
		switch judge(status) {
		case gone, broken:
			return gpu.Device{}, status
		case unsupported:
			d.activity.free()
			d.activity = nil
		case faulty:
			counts[reason(status)]++
		case answered, silent:
			samples = append(samples, active...)
		}
	}
	return gpu.Device{Identity: d.Identity, Info: d.info, Samples: append(samples, d.kept...)}, nvml.SUCCESS
}

// refresh asks what is asked each minute. The status is that by which the device was found to be lost.
func (d *device) refresh(counts failures) nvml.Return {
	left, kept, ret := put(d.minutely, d.handle, counts)
	if ret == nvml.SUCCESS {
		d.minutely, d.kept = left, kept
	}
	return ret
}

// free gives back what the library keeps for the device.
func (d *device) free() {
	if d.activity != nil {
		d.activity.free()
		d.activity = nil
	}
	for _, instance := range d.instances {
		instance.free()
	}
	d.instances = nil
}
