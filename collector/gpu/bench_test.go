package gpu

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// fleet is a page of 64 GPUs and as many instances, half a megabyte.
func fleet(b *testing.B) string {
	b.Helper()
	sample, err := os.ReadFile("testdata/dcgm.prom")
	if err != nil {
		b.Fatal(err)
	}
	var page strings.Builder
	for host := range 32 {
		page.WriteString(strings.NewReplacer("gpu-node-1", fmt.Sprint("gpu-node-", host), `UUID="GPU-`, fmt.Sprintf(`UUID="GPU-%02d`, host)).Replace(string(sample)))
	}
	return page.String()
}

func BenchmarkDevicesOf64GPUs(b *testing.B) {
	page, err := exposition.NewParser(maxSamples).Parse([]byte(fleet(b)), "")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := len(dcgm.devices(page, "")); got != 128 {
			b.Fatalf("%d devices, want 128", got)
		}
	}
}

func BenchmarkFamiliesOf64GPUs(b *testing.B) {
	c := fed(b, map[string]Selector{"chat": {}}, Reading{Source: DCGM, State: OK, Devices: read(b, &dcgm, "", fleet(b))})
	b.ReportAllocs()
	for b.Loop() {
		if len(c.Families()) == 0 {
			b.Fatal("nothing to show")
		}
	}
}
