package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzLoad feeds arbitrary bytes to the loader. It must not panic, each finding must be at a character of the file, and what is accepted
// must be complete: it can be printed, and its targets can be made.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.yml", "testdata/good/*.yml", "../examples/*.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: found %d files: %v", pattern, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "c.yml")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := Load(Options{Files: []string{file}, Env: testEnv, ExpandEnv: true})
		errs, ok := errors.AsType[*Errors](err)
		switch {
		case err == nil:
			checkAccepted(t, config)
		case !ok:
			t.Fatalf("an error without a place: %v", err)
		case len(errs.Findings) == 0 || len(errs.Findings) > maxFindings:
			t.Fatalf("got %d findings", len(errs.Findings))
		default:
			for _, finding := range errs.Findings {
				if !inside(data, finding) {
					t.Errorf("%s is outside of the file", finding)
				}
			}
		}
	})
}

func checkAccepted(t *testing.T, config *Config) {
	t.Helper()
	if _, err := config.YAML(); err != nil {
		t.Errorf("cannot be printed: %v", err)
	}
	if _, err := config.Generator(); err != nil {
		t.Errorf("targets cannot be made: %v", err)
	}
	if len(config.Hash()) != 2*hashBytes {
		t.Errorf("got hash %q", config.Hash())
	}
}
