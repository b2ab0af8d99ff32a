package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/config"
)

// root is the module's folder as seen from a test.
const root = "../.."

// A block that is added beside Config would have no table.
func TestAFileHasTheBlocksOfConfigAndDefaults(t *testing.T) {
	t.Parallel()
	source, err := parseSource(filepath.Join(root, "config"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for field := range source.fields["frame"] {
		got = append(got, field)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"Config", "Defaults"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRequiredKeysAreThoseThatAnEmptyTargetLacks(t *testing.T) {
	t.Parallel()
	var got, want []string
	for _, f := range problemsOf(t, "targets: [{}]") {
		got = append(got, strings.Replace(f.Path, "[0]", "", 1))
	}
	for key, fallback := range fallbacks {
		if fallback == "required" && strings.HasPrefix(key, "targets.") {
			want = append(want, key)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-page +program):\n%s", diff)
	}
}

func TestKeysThatThePageLeavesOutAreRefused(t *testing.T) {
	t.Parallel()
	for pattern := range refused {
		block, key, _ := strings.Cut(pattern, ".")
		if len(problemsOf(t, block+": {x: {"+key+": true}}")) == 0 {
			t.Errorf("%s is accepted, and the page says nothing of it", pattern)
		}
	}
}

func TestNoDescriptionIsLeftOver(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for pattern, text := range described {
		if !strings.Contains(string(page), cell(text[1:])) {
			t.Errorf("%s is not on the page", pattern)
		}
	}
	for pattern := range fallbacks {
		if _, key, _ := strings.Cut(pattern, "."); !strings.Contains(string(page), "\n| `"+key+"` |") {
			t.Errorf("%s is not on the page", pattern)
		}
	}
}

// problemsOf says what is wrong with a configuration that is refused; none if it is not.
func problemsOf(t *testing.T, text string) []config.Finding {
	t.Helper()
	_, err := loadText(t, text)
	var problems *config.Errors
	if err != nil && !errors.As(err, &problems) {
		t.Fatal(err)
	}
	if problems == nil {
		return nil
	}
	return problems.Findings
}

// loadText loads a configuration with every variable that it names.
func loadText(t *testing.T, texts ...string) (*config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	opts := config.Options{ExpandEnv: true}
	for i, text := range texts {
		file := filepath.Join(dir, strings.Repeat("later-", i)+"aiperf-exporter.yml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		opts.Files = append(opts.Files, file)
		for _, name := range namedVariable.FindAllStringSubmatch(text, -1) {
			opts.Env = append(opts.Env, name[1]+"=value-of-"+name[1])
		}
	}
	c, err := config.Load(opts)
	if err != nil {
		return nil, err
	}
	return c, nil
}
