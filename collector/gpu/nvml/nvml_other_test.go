//go:build !linux || !cgo || nonvml

package nvml

import (
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

func TestBuildThatCannotReadTheDriverSaysSo(t *testing.T) {
	t.Parallel()
	s := Open(gpu.NVMLConfig{}, nil)
	defer s.Close()
	if r := s.Read(t.Context()); r.Source != gpu.NVML || r.State != gpu.UnsupportedBuild || r.Message == "" {
		t.Errorf("got the state %s of %s with the message %q, want unsupported_build of nvml with one", r.State, r.Source, r.Message)
	}
}
