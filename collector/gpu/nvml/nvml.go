// Package nvml reads the NVIDIA GPUs of this machine through the library of their driver, which is loaded when the program runs: it need not be
// there, may be old, and may fail. Builds without cgo, for other systems and with the tag nonvml have the same package, which says so.
package nvml

import (
	"context"
	"log/slog"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

// Source implements gpu.Source.
type Source struct{}

// Open makes one. The library is loaded by the first reading, and again each minute for as long as it cannot be used.
func Open(c gpu.NVMLConfig, logger *slog.Logger) *Source { return &Source{} }

// Read implements gpu.Source.
func (s *Source) Read(ctx context.Context) gpu.Reading {
	return gpu.Reading{Source: gpu.NVML, State: gpu.UnsupportedBuild}
}

// Close implements gpu.Source.
func (s *Source) Close() {}
