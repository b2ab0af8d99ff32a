package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/config"
)

const withSecretFile = `
secrets: {vendor: {file: key}}
targets:
  - {name: a, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat, secret: vendor}}
  - {name: b, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat, api_key_file: other}}
`

func TestAProcessThatLoadsAgainGivesTheSameSeeds(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "c.yml")
	if err := os.WriteFile(file, []byte(withSecretFile), 0o600); err != nil {
		t.Fatal(err)
	}
	seeds := func(seed uint64) (out []uint64) {
		c, err := config.Load(config.Options{Files: []string{file}, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Targets {
			out = append(out, c.Targets[i].Seed)
		}
		return out
	}
	first := seeds(1)
	if diff := cmp.Diff(first, seeds(1)); diff != "" {
		t.Errorf("loaded again (-first +second):\n%s", diff)
	}
	if first[0] == first[1] {
		t.Errorf("two targets have the seed %d", first[0])
	}
	if other := seeds(2); cmp.Equal(first, other) {
		t.Errorf("another process gives the same seeds %v", other)
	}
}

func TestFilesOfSecretsAreReadOnOverAReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yml")
	if err := os.WriteFile(file, []byte(withSecretFile), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(previous *config.Config) *config.Config {
		c, err := config.Load(config.Options{Files: []string{file}, Previous: previous})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	// ask reads the secret of each target once, as a request does; neither file is there.
	ask := func(c *config.Config) {
		gc, err := c.Generator()
		if err != nil {
			t.Fatal(err)
		}
		for i := range gc.Targets {
			if _, _, err := gc.Targets[i].Client.Credential(); err == nil {
				t.Fatalf("target %s has a secret", gc.Targets[i].Name)
			}
		}
	}
	first := load(nil)
	ask(first)
	want := map[string]int64{"vendor": 1, "target:b": 1}
	if diff := cmp.Diff(want, load(first).SecretReadErrors()); diff != "" {
		t.Errorf("after a reload (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"vendor": 0, "target:b": 0}, load(nil).SecretReadErrors()); diff != "" {
		t.Errorf("without the one before (-want +got):\n%s", diff)
	}
}
