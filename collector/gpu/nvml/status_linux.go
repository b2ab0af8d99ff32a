//go:build linux && cgo && !nonvml

package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// verdict is what the status of a call means for what comes next.
type verdict int

const (
	answered    verdict = iota
	unsupported         // it will not answer before the driver or the device is another
	silent              // it has nothing to say now
	gone                // the device is lost
	broken              // the driver is lost
	faulty              // it failed this time
)

// judge gives the verdict on a status.
func judge(ret nvml.Return) verdict {
	switch ret {
	case nvml.SUCCESS:
		return answered
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND, nvml.ERROR_INVALID_ARGUMENT, nvml.ERROR_ARGUMENT_VERSION_MISMATCH,
		nvml.ERROR_NO_PERMISSION, nvml.ERROR_DEPRECATED, nvml.ERROR_VGPU_ECC_NOT_SUPPORTED:
		return unsupported
	case nvml.ERROR_NOT_FOUND, nvml.ERROR_NO_DATA, nvml.ERROR_NOT_READY:
		return silent
	case nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED, nvml.ERROR_GPU_NOT_FOUND:
		return gone
	case nvml.ERROR_UNINITIALIZED, nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return broken
	default:
		return faulty
	}
}

// reason is how the failure of a call is counted.
func reason(ret nvml.Return) scrape.Reason {
	if ret == nvml.ERROR_TIMEOUT {
		return scrape.Timeout
	}
	return scrape.Status
}

// stateOf is the state that a driver is in which does not start, or whose calls end, with this status.
func stateOf(ret nvml.Return) gpu.State {
	switch ret {
	case nvml.SUCCESS:
		return gpu.OK
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return gpu.LibraryNotFound
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return gpu.DriverNotLoaded
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return gpu.VersionMismatch
	case nvml.ERROR_NO_PERMISSION:
		return gpu.NoPermission
	case nvml.ERROR_NOT_FOUND, nvml.ERROR_GPU_NOT_FOUND:
		return gpu.NoDevices
	default:
		return gpu.Failed
	}
}
