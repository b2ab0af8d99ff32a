package generator_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// The dataset is gone once it runs, so that whoever opens it anew fails.
func TestOnlyWhatDoesNotRunAlreadyIsRehearsed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte(`{"text": "what is asked"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "http://127.0.0.1:1", func(c *generator.TargetConfig) {
		c.Workload.Dataset = dataset.DefaultConfig()
		c.Workload.Dataset.Format, c.Workload.Dataset.File = dataset.SingleTurn, path
	})
	running := generator.Config{Targets: []generator.TargetConfig{r.config}}
	g, err := generator.New(running, r.deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Rehearse(&running); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*generator.TargetConfig)
		fails  bool
	}{
		"nothing has changed":        {func(*generator.TargetConfig) {}, false},
		"only its rate is another":   {func(c *generator.TargetConfig) { c.Load.Rate *= 2 }, false},
		"only its URL is another":    {func(c *generator.TargetConfig) { c.URL += "/v2" }, false},
		"its workload is another":    {func(c *generator.TargetConfig) { c.Workload.Stream = !c.Workload.Stream }, true},
		"its protocol is another":    {func(c *generator.TargetConfig) { c.Endpoint.Type = endpoint.Completions }, true},
		"its model is another":       {func(c *generator.TargetConfig) { c.Model += "-2" }, true},
		"its seed is another":        {func(c *generator.TargetConfig) { c.Seed++ }, true},
		"a target that does not run": {func(c *generator.TargetConfig) { c.Name += "-2" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := generator.Config{Targets: []generator.TargetConfig{with(r.config, test.change)}}
			if err := g.Rehearse(&c); (err != nil) != test.fails {
				t.Errorf("error: %v", err)
			}
		})
	}
}
