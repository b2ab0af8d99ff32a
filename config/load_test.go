package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testEnv is the environment in which all files of testdata are loaded.
var testEnv = []string{
	"REGION=eu-central-1", "API_KEY=variable-hunter22", "NUMBER=42", "MODEL=Qwen/Qwen3-8B", "ENABLED=false", "EMPTY=",
}

// planted is in every secret of testdata and in nothing else.
const planted = "hunter22"

func loadFiles(files ...string) (*Config, error) {
	return Load(Options{Files: files, Env: testEnv, ExpandEnv: true})
}

// loadTexts loads texts as if they were files named one.yml, two.yml and three.yml, which is also how errors name them.
func loadTexts(t *testing.T, env []string, texts ...string) (*Config, string) {
	t.Helper()
	dir := t.TempDir()
	files := make([]string, 0, len(texts))
	for i, text := range texts {
		name := filepath.Join(dir, []string{"one.yml", "two.yml", "three.yml"}[i])
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	config, err := Load(Options{Files: files, Env: append(env, testEnv...), ExpandEnv: true})
	if err != nil {
		return nil, strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
	}
	return config, ""
}

// golden compares got with a file, or writes the file with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestBadFilesGiveTheirGoldenErrors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/bad/*.yml")
	if err != nil || len(files) < 50 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			_, err := loadFiles(file)
			errs, ok := errors.AsType[*Errors](err)
			if !ok {
				t.Fatalf("got %v, want an *Errors", err)
			}
			if strings.Contains(err.Error(), planted) {
				t.Errorf("a secret is in the message: %v", err)
			}
			checkPlaces(t, file, errs.Findings)
			golden(t, strings.TrimSuffix(file, ".yml")+".err", strings.ReplaceAll(err.Error(), filepath.Dir(file)+"/", "")+"\n")
		})
	}
}

// checkPlaces fails for findings that are not at a character of the file.
func checkPlaces(t *testing.T, file string, findings []Finding) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if !inside(data, f) {
			t.Errorf("%s is outside of the file", f)
		}
	}
}

func inside(data []byte, f Finding) bool {
	lines := splitLines(data)
	if f.Line < 1 || f.Line > len(lines) {
		return false
	}
	return f.Column >= 1 && f.Column <= len([]rune(lines[f.Line-1]))+1
}

func TestGoodFilesGiveTheirGoldenEffectiveConfiguration(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/good/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			config, err := loadFiles(file)
			if err != nil {
				t.Fatal(err)
			}
			for i := range config.Targets {
				if config.Targets[i].randomSeed {
					config.Targets[i].Seed = 12345
				}
			}
			out, err := config.YAML()
			if err != nil {
				t.Fatal(err)
			}
			var warnings strings.Builder
			for _, w := range config.Warnings {
				warnings.WriteString("# " + w.String() + "\n")
			}
			golden(t, strings.TrimSuffix(file, ".yml")+".effective", warnings.String()+string(out))
		})
	}
}
