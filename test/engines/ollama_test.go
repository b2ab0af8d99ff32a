//go:build engines

package engines

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

const (
	loaded = "aiperf_server_model_loaded"
	vram   = "aiperf_server_model_vram_bytes"
)

// TestOllamaTellsWhichModelIsLoaded lets a model be loaded by requests and unloads it when they have ended.
func TestOllamaTellsWhichModelIsLoaded(t *testing.T) {
	t.Run("ollama", func(t *testing.T) {
		server := startOllama(t)
		exporter := serve(t, fmt.Sprintf(watching+`
  few: {input_tokens: 10, output_tokens: 5}
loads: {one: {mode: closed, concurrency: 1, min_interval: 1s}}
targets:
  - {name: looked-for, url: &url %q, model: tiny, endpoint: {type: chat, max_tokens_field: max_tokens}, workload: few, load: one}
  - {name: told, url: *url, model: tiny, endpoint: {type: chat, max_tokens_field: max_tokens}, workload: few, load: one, server: {kind: ollama}}
`, server))
		targets := []string{"looked-for", "told"}
		await(t, exporter, time.Minute, func(f scrape.Families) error {
			for _, target := range targets {
				of := scrape.Labels{"target": target, "model": "tiny", "server": "ollama"}
				if f.Sum(loaded, of) != 1 || f.Sum("aiperf_requests_total", scrape.Labels{"target": target, "outcome": "success"}) == 0 {
					return fmt.Errorf("%s: loaded is %v", target, f.Sum(loaded, of))
				}
			}
			return nil
		})
		settle(t, exporter)
		checkLoaded(t, server, exporter, targets)
		post(t, server+"/api/generate", `{"model": "tiny", "keep_alive": 0}`)
		await(t, exporter, time.Minute, func(f scrape.Families) error {
			for _, target := range targets {
				if m := f.Series(loaded, scrape.Labels{"target": target}); len(m) != 1 || m[0].GetGauge().GetValue() != 0 {
					return fmt.Errorf("%s: loaded is %v", target, m)
				}
			}
			return nil
		})
		f := read(t, exporter)
		checkLooks(t, f, nil)
		if n := len(f.Series(vram, nil)); n != 0 {
			t.Errorf("%d models that are not loaded take memory", n)
		}
		for _, name := range []string{"aiperf_request_errors_total", "aiperf_server_restarts_total"} {
			if n := f.Sum(name, nil); n != 0 {
				t.Errorf("%s is %v, want 0", name, n)
			}
		}
	})
}

// startOllama starts a server that has the tiny model and gives its URL.
func startOllama(t *testing.T) string {
	t.Helper()
	address, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	model, err := filepath.Abs(cache + "model/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	recipe := filepath.Join(folder, "Modelfile")
	if err := os.WriteFile(recipe, []byte("FROM "+model+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, environment := cache+"ollama/bin/ollama", []string{"HOME=" + folder, "OLLAMA_HOST=" + address, "OLLAMA_MODELS=" + filepath.Join(folder, "models")}
	p := process.ForTest(t, environment, program, "serve")
	url := "http://" + address
	if err := p.Ready(process.Within(t, time.Minute), url+"/api/version"); err != nil {
		t.Fatal(err)
	}
	create := process.ForTest(t, environment, program, "create", "tiny", "-f", recipe)
	if code, err := create.Wait(process.Within(t, time.Minute)); err != nil || code != 0 {
		t.Fatalf("create: exit code %d, %v", code, err)
	}
	return url
}

// checkLoaded compares what is shown of the model with what the server says itself, and checks that being looked at does not keep it loaded.
func checkLoaded(t *testing.T, server, exporter string, targets []string) {
	t.Helper()
	before := processes(t, server)
	awaitLooks(t, exporter, targets[0], 3)
	f := read(t, exporter)
	if diff := cmp.Diff(before, processes(t, server)); diff != "" {
		t.Errorf("being looked at changes what is loaded (-before +after):\n%s", diff)
	}
	if len(before) != 1 {
		t.Fatalf("%d models are loaded, want 1", len(before))
	}
	for _, target := range targets {
		if m := f.Series(vram, scrape.Labels{"target": target, "model": "tiny"}); len(m) != 1 || m[0].GetGauge().GetValue() != before[0].VRAM {
			t.Errorf("%s: %v, want %v bytes", target, m, before[0].VRAM)
		}
	}
}

// loadedModel is what Ollama says of one.
type loadedModel struct {
	Name    string  `json:"name"`
	Expires string  `json:"expires_at"`
	VRAM    float64 `json:"size_vram"`
}

func processes(t *testing.T, server string) []loadedModel {
	t.Helper()
	body, err := scrape.Bytes(process.Within(t, time.Minute), server+"/api/ps", "application/json")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Models []loadedModel `json:"models"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Models
}
