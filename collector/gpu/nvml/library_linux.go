//go:build linux && cgo && !nonvml

package nvml

import (
	"errors"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

// libraryName is what the dynamic linker is asked for where the configuration names no file.
const libraryName = "libnvidia-ml.so.1"

// required are the functions without which there is nothing to read; nvmlErrorString is called by go-nvml whenever a status is printed.
var required = []string{
	"nvmlInit_v2", "nvmlShutdown", "nvmlErrorString", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID",
}

// library is what is used of the library itself. nvml.Interface has it.
type library interface {
	Init() nvml.Return
	Shutdown() nvml.Return
	SystemGetDriverVersion() (string, nvml.Return)
	SystemGetCudaDriverVersion_v2() (int, nvml.Return)
	DeviceGetCount() (int, nvml.Return)
	DeviceGetHandleByIndex(index int) (nvml.Device, nvml.Return)
	EventSetCreate() (nvml.EventSet, nvml.Return)
	GpmSampleAlloc() (nvml.GpmSample, nvml.Return)
	GpmMetricsGet(request *nvml.GpmMetricsGetType) nvml.Return
}

// handle is what is asked of a GPU, or of an instance on it. nvml.Device has it.
type handle interface {
	GetUUID() (string, nvml.Return)
	GetName() (string, nvml.Return)
	GetPciInfo() (nvml.PciInfo, nvml.Return)
	GetVbiosVersion() (string, nvml.Return)

	GetMigMode() (current, pending int, ret nvml.Return)
	GetMaxMigDeviceCount() (int, nvml.Return)
	GetMigDeviceHandleByIndex(index int) (nvml.Device, nvml.Return)
	GetGpuInstanceId() (int, nvml.Return)
	GetAttributes() (nvml.DeviceAttributes, nvml.Return)

	GetFieldValues(values []nvml.FieldValue) nvml.Return
	GetPowerUsage() (uint32, nvml.Return)
	GetEnforcedPowerLimit() (uint32, nvml.Return)
	GetTotalEnergyConsumption() (uint64, nvml.Return)
	GetUtilizationRates() (nvml.Utilization, nvml.Return)
	GetMemoryInfo() (nvml.Memory, nvml.Return)
	GetMemoryInfo_v2() (nvml.Memory_v2, nvml.Return)
	GetTemperature(sensor nvml.TemperatureSensors) (uint32, nvml.Return)
	GetClockInfo(clock nvml.ClockType) (uint32, nvml.Return)
	GetEncoderUtilization() (share, period uint32, ret nvml.Return)
	GetDecoderUtilization() (share, period uint32, ret nvml.Return)
	GetJpgUtilization() (share, period uint32, ret nvml.Return)
	GetOfaUtilization() (share, period uint32, ret nvml.Return)
	GetPcieThroughput(counter nvml.PcieUtilCounter) (uint32, nvml.Return)
	GetPcieReplayCounter() (int, nvml.Return)
	GetCurrPcieLinkGeneration() (int, nvml.Return)
	GetCurrPcieLinkWidth() (int, nvml.Return)
	GetNvLinkState(link int) (nvml.EnableState, nvml.Return)
	GetNvLinkErrorCounter(link int, counter nvml.NvLinkErrorCounter) (uint64, nvml.Return)
	GetTotalEccErrors(kind nvml.MemoryErrorType, scope nvml.EccCounterType) (uint64, nvml.Return)
	GetRemappedRows() (correctable, uncorrectable int, pending, failed bool, ret nvml.Return)
	GetRetiredPages(cause nvml.PageRetirementCause) ([]uint64, nvml.Return)
	GetCurrentClocksEventReasons() (uint64, nvml.Return)
	GetCurrentClocksThrottleReasons() (uint64, nvml.Return)
	GetViolationStatus(policy nvml.PerfPolicyType) (nvml.ViolationTime, nvml.Return)
	GetPerformanceState() (nvml.Pstates, nvml.Return)
	GetFanSpeed() (uint32, nvml.Return)
	GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return)

	GetSupportedEventTypes() (uint64, nvml.Return)
	RegisterEvents(types uint64, set nvml.EventSet) nvml.Return
	GpmQueryDeviceSupport() (nvml.GpmSupport, nvml.Return)
	GpmSampleGet(sample nvml.GpmSample) nvml.Return
	GpmMigSampleGet(instance int, sample nvml.GpmSample) nvml.Return
}

// driver is the library, loaded but not necessarily initialised.
type driver struct {
	library
	has func(symbol string) bool
}

// load opens the library, and finds out whether it can be used at all; if not, the state says in which way.
//
// It is never closed again: the dynamic linker has bound its functions into this program by then and keeps it in any case. So neither
// a driver that is exchanged under a running program nor another path is seen before that is started again.
func load(path string) (*driver, gpu.State, error) {
	if path == "" {
		path = libraryName
	}
	lib := dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
	if err := lib.Open(); err != nil {
		return nil, gpu.LibraryNotFound, fmt.Errorf("load the library of the driver: %w", err)
	}
	has := func(symbol string) bool { return lib.Lookup(symbol) == nil }
	for _, symbol := range required {
		if !has(symbol) {
			return nil, gpu.Failed, errors.Join(fmt.Errorf("%s has no function %s: it is too old or no library of a driver", path, symbol), lib.Close())
		}
	}
	return &driver{library: nvml.New(nvml.WithLibraryPath(path)), has: has}, gpu.OK, nil
}

// hasOne tells whether there is one of these functions.
func (d *driver) hasOne(symbols ...string) bool {
	return slices.ContainsFunc(symbols, d.has)
}

// hasAll tells whether there are all of these functions.
func (d *driver) hasAll(symbols ...string) bool {
	return !slices.ContainsFunc(symbols, func(symbol string) bool { return !d.has(symbol) })
}
