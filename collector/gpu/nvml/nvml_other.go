//go:build !linux || !cgo || nonvml

package nvml

import (
	"context"
	"log/slog"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

// Source implements gpu.Source.
type Source struct{}

// Open makes one, which only ever says that this build cannot read the driver.
func Open(_ gpu.NVMLConfig, _ *slog.Logger) *Source { return &Source{} }

// Read implements gpu.Source.
func (s *Source) Read(_ context.Context) gpu.Reading {
	return gpu.Reading{
		Source: gpu.NVML, State: gpu.UnsupportedBuild,
		Message: "this build cannot load the library of the driver: it is not for Linux, was made without cgo, or with the tag nonvml",
	}
}

// Close implements gpu.Source.
func (s *Source) Close() {}
