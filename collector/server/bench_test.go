package server

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// BenchmarkLook is one look at a page of vLLM for two targets, without the network: parsed once, mapped and compared with the one before twice.
func BenchmarkLook(b *testing.B) {
	r, text := vllmRig(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.sources[0].look(b.Context())
	}
}

// BenchmarkFamilies is what showing them costs.
func BenchmarkFamilies(b *testing.B) {
	r, _ := vllmRig(b)
	r.sources[0].look(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		r.Families()
	}
}

func vllmRig(b *testing.B) (*rig, []byte) {
	b.Helper()
	text, err := os.ReadFile("mapping/testdata/vllm.prom")
	if err != nil {
		b.Fatal(err)
	}
	answer := func(_ context.Context, url string) ([]byte, error) {
		if !strings.HasSuffix(url, "/metrics") {
			b.Errorf("asked for %s", url)
		}
		return text, nil
	}
	client := func(scrape.Options) (getter, error) { return &scripted{answer}, nil }
	return newRig(b, rigOptions{client: client}, auto("canary", "http://h:1"), auto("traffic", "http://h:1")), text
}
