// Package gpu reads what GPUs say of themselves: from the driver of this machine (collector/gpu/nvml), from dcgm-exporter, from AMD's exporter or
// from Triton, and shows it under one name in base units. A sensor that a device does not have is absent, never zero.
package gpu

import (
	"context"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// SourceName is where a reading comes from, and the value of the label source.
type SourceName string

// The sources, the preferred first: where several see a GPU, one of them is to be counted.
const (
	NVML   SourceName = "nvml"
	DCGM   SourceName = "dcgm"
	Triton SourceName = "triton"
	AMD    SourceName = "amd"
)

// SourceNames is the closed list.
var SourceNames = []SourceName{NVML, DCGM, Triton, AMD}

// State is how a source is doing.
type State string

// The states, one of which holds.
const (
	OK               State = collector.StateOK
	Disabled         State = "disabled"
	UnsupportedBuild State = "unsupported_build"
	LibraryNotFound  State = "library_not_found"
	DriverNotLoaded  State = "driver_not_loaded"
	VersionMismatch  State = "version_mismatch"
	NoPermission     State = "no_permission"
	NoDevices        State = "no_devices"
	Failed           State = "error"
)

// States is the closed list.
var States = []State{OK, Disabled, UnsupportedBuild, LibraryNotFound, DriverNotLoaded, VersionMismatch, NoPermission, NoDevices, Failed}

// Identity is what tells a device, or an instance on it, from others.
type Identity struct {
	Index, UUID, Hostname string
	Instance              string // id of the MIG instance or AMD partition; "" = the whole GPU
}

// Info is what does not change about a device.
type Info struct {
	Model, PCIBusID, Vendor, Profile         string
	DriverVersion, CUDAVersion, VBIOSVersion string
	Namespace, Pod, Container                string // the pod that uses it, where the source knows
}

// Device is a GPU, or an instance on it, at one instant.
type Device struct {
	Identity
	Info    Info
	Lost    bool // it no longer answers: only its being gone is shown
	Samples []Sample
}

// Sample is one value of a series of Table.
type Sample struct {
	Name   string
	Value  float64
	Labels []string // values of those beyond the ones of the scope
}

// Reading is what a source saw at one instant.
type Reading struct {
	Source  SourceName
	State   State
	Message string // what is wrong, for the log
	At      int64  // of the clock of the process
	Devices []Device
	// Failures are questions of a source to its devices that failed this time, though the reading as a whole is good; by reason.
	Failures map[scrape.Reason]int
}

// Source is something that can be asked for a reading. One goroutine uses it.
type Source interface {
	// Read looks once. A failure is a state of the reading. Whoever waits for it may stop waiting when ctx ends, but cannot use the source
	// until it has returned.
	Read(ctx context.Context) Reading
	Close()
}
