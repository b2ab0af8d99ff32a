package config

import (
	"path/filepath"
	"testing"
)

// The examples are what people copy: they must load as they are, without a warning and without any variable.
func TestExamplesLoad(t *testing.T) {
	t.Parallel()
	targets := map[string]int{"minimal.yml": 1, "canary.yml": 2, "cache.yml": 3, "vendor.yml": 2, "drift.yml": 1, "fleet.yml": 4, "observed.yml": 1, "discovery.yml": 0}
	files, err := filepath.Glob("../examples/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < len(targets) {
		t.Errorf("found %v", files)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			config, err := Load(Options{Files: []string{file}, ExpandEnv: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range config.Warnings {
				t.Error(w)
			}
			generated, err := config.Generator()
			if err != nil {
				t.Fatal(err)
			}
			if want, ok := targets[filepath.Base(file)]; ok && len(generated.Targets) != want {
				t.Errorf("got %d targets, want %d", len(generated.Targets), want)
			}
		})
	}
}
