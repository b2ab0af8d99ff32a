package gpu

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// Config is the block `collectors.gpu:`.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	// where GPUs are read: `auto` (every exporter that is named, else the driver of this machine if there is one), `off`, or a list of `nvml`,
	// `dcgm`, `amd`, `triton`
	Source Sources `koanf:"source" yaml:"source"`
	// whether the labels of the pod that uses a GPU are on `aiperf_gpu_info`, where the exporter knows it
	PodLabels bool `koanf:"pod_labels" yaml:"pod_labels,omitempty"`
	// name of an entry under `http_clients`, whose authentication, TLS and proxy the exporters are asked with
	Client string         `koanf:"client" yaml:"client,omitempty"`
	NVML   NVMLConfig     `koanf:"nvml" yaml:"nvml"`
	DCGM   ExporterConfig `koanf:"dcgm" yaml:"dcgm"`
	AMD    ExporterConfig `koanf:"amd" yaml:"amd"`
	Triton ExporterConfig `koanf:"triton" yaml:"triton"`
}

// Sources is a list of names; in the file, a single one may stand without the brackets.
type Sources []string

// NVMLConfig is the block `nvml:`.
type NVMLConfig struct {
	// time between two looks, at least 1s
	Interval time.Duration `koanf:"interval" yaml:"interval"`
	// library of the driver, where it is not found by itself
	LibraryPath string `koanf:"library_path" yaml:"library_path,omitempty"`
	// whether the traffic on PCIe is read where only its rate is known, which takes 20 ms for each GPU and direction
	PCIeThroughput bool `koanf:"pcie_throughput" yaml:"pcie_throughput,omitempty"`
}

// ExporterConfig is the block of an exporter that is asked over HTTP.
type ExporterConfig struct {
	// time between two looks, at least 1s
	Interval time.Duration `koanf:"interval" yaml:"interval"`
	// pages of metrics, one for each machine
	URLs []secret.URL `koanf:"urls" yaml:"urls,omitempty"`
	// what the site puts before each name; AMD's `amd_` need not be given
	Prefix string `koanf:"prefix" yaml:"prefix,omitempty"`
}

// DefaultConfig is what an absent block means.
func DefaultConfig() Config {
	return Config{
		Source: Sources{"auto"},
		NVML:   NVMLConfig{Interval: 5 * time.Second},
		DCGM:   ExporterConfig{Interval: 15 * time.Second},
		AMD:    ExporterConfig{Interval: 15 * time.Second},
		Triton: ExporterConfig{Interval: 15 * time.Second},
	}
}
