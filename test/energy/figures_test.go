package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestFiguresAreReadFromTheFilesOfBoth(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"profile_export_aiperf.json": `{"start_time":"2026-03-01T12:00:00.500000","end_time":"2026-03-01T12:00:06.500000Z","nvidia_total_gpu_energy":
			{"unit":"J","avg":4800},"nvidia_average_gpu_power":{"avg":800},"nvidia_output_tokens_per_joule":{"avg":0.5},
			"exporter":{"server":{"metrics":{"server_generation_token_throughput":{"unit":"tokens/sec","avg":400}}}}}`,
		"server_metrics_export.json": `{"metrics":{"vllm:generation_tokens":{"series":[{"stats":{"rate":100}},{"stats":{"rate":50}}]}}}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		read   func(string) (figures, error)
		tokens float64
	}{"theirs": {readTheirs, 150}, "ours": {readOurs, 400}} {
		got, err := test.read(folder)
		want := figures{6, [...]float64{4800, 800, 0.5, test.tokens}}
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
}

func TestWhatIsSaidIsHeldAgainstTheTruthOfItsWindow(t *testing.T) {
	t.Parallel()
	truth := truthOf(6, 2400)
	if want := (figures{6, [...]float64{4800, 800, 0.5, 400}}); truth != want {
		t.Errorf("truth is %v, want %v", truth, want)
	}
	for name, test := range map[string]struct {
		change func(*figures)
		want   bool
	}{
		"true":            {func(*figures) {}, true},
		"about true":      {func(f *figures) { f.values[0] *= 1.03; f.values[3] *= 0.97 }, true},
		"too much energy": {func(f *figures) { f.values[0] *= 6.5 }, false},
		"too few tokens":  {func(f *figures) { f.values[3] *= 0.3 }, false},
		"nothing said":    {func(f *figures) { f.values = [len(names)]float64{} }, false},
		"nonsense":        {func(f *figures) { f.values[1] = math.NaN() }, false},
	} {
		said := truth
		test.change(&said)
		r := result{said: said, truth: truth}
		if r.right() != test.want {
			t.Errorf("%s: right is %t", name, r.right())
		}
	}
}
