//go:build engines

package engines

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

const counting = `
workloads:
  server: {input_tokens: 300, output_tokens: 8, tokenizer: {server: true}}
  file: {input_tokens: 300, output_tokens: 8, tokenizer: {file: %[2]q}}
  neither: {input_tokens: 300, output_tokens: 8}
loads:
  one: {mode: closed, concurrency: 1, min_interval: 1ms}
targets:
  - {name: chat-server, url: %[1]q, model: tiny, endpoint: {type: chat}, workload: server, load: one, seed: 1}
  - {name: completions-server, url: %[1]q, model: tiny, endpoint: {type: completions}, workload: server, load: one, seed: 1}
  - {name: completions-file, url: %[1]q, model: tiny, endpoint: {type: completions}, workload: file, load: one, seed: 1}
  - {name: chat-neither, url: %[1]q, model: tiny, endpoint: {type: chat}, workload: neither, load: one, seed: 1}
`

// TestTheFirstPromptHasTheWishedLength by the server's own count, if it was asked before, or its tokenizer is here; and only then.
func TestTheFirstPromptHasTheWishedLength(t *testing.T) {
	file, err := filepath.Abs(cache + "model/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, engine := range enginesByName {
		t.Run(name, func(t *testing.T) {
			url := startEngine(t, engine)
			config := write(t, fmt.Sprintf(counting, url, file))
			for target, near := range map[string]float64{"chat-server": 15, "completions-server": 15, "completions-file": 3, "chat-neither": -100} {
				before := read(t, url)
				p := process.ForTest(t, nil, binary, "run", "--config.file="+config, "--target="+target, "--requests=1", "--out="+t.TempDir())
				if code, err := p.Wait(process.Within(t, startup)); err != nil || code != 0 {
					t.Fatalf("%s: exit code %d, %v", target, code, err)
				}
				got, _ := engine.counted(before, read(t, url))
				off := max(got-300, 300-got)
				if near > 0 && off > near || near < 0 && off < -near {
					t.Errorf("%s: the first prompt has %v tokens, wished 300", target, got)
				}
				t.Logf("%s: %v tokens, wished 300", target, got)
			}
		})
	}
}
