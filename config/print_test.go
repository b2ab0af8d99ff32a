package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is printed can be loaded again, and then means the same: nothing is lost in the effective configuration. Secrets and the hidden
// parts of URLs come out as their masks, which are texts like any other.
func TestTheEffectiveConfigurationLoadsAsItself(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/good/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			first, err := loadFiles(file)
			if err != nil {
				t.Fatal(err)
			}
			printed, err := first.YAML()
			if err != nil {
				t.Fatal(err)
			}
			// Paths are relative to the file that has them, which is in another directory now.
			dir := t.TempDir()
			text := strings.ReplaceAll(string(printed), "testdata/good/", "")
			copied := filepath.Join(dir, "copy.yml")
			if err = os.WriteFile(copied, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			second, err := Load(Options{Files: []string{copied}})
			if err != nil {
				t.Fatal(err)
			}
			again, err := second.YAML()
			if err != nil {
				t.Fatal(err)
			}
			normal := strings.NewReplacer(dir, "testdata/good", "<redacted>", "<secret>")
			if diff := cmp.Diff(normal.Replace(string(printed)), normal.Replace(string(again))); diff != "" {
				t.Errorf("(-first +second):\n%s", diff)
			}
		})
	}
}

func TestHashChangesWithTheConfigurationAndWithNothingElse(t *testing.T) {
	t.Parallel()
	hash := func(text string) string {
		t.Helper()
		config, problems := loadTexts(t, []string{"KEY=one-secret"}, text)
		if problems != "" {
			t.Fatal(problems)
		}
		return config.Hash()
	}
	base := hash(fiveLines)
	if !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(base) {
		t.Errorf("got %q, want 12 hexadecimal digits", base)
	}
	same := map[string]string{
		"loaded again, with other random seeds": fiveLines,
		"a comment":                             "# hello\n" + fiveLines,
		"a default written out":                 "global: {max_in_flight: 64}\n" + fiveLines,
		"another spelling of a value":           fiveLines + "    timeouts: {first_token: 1m, total: 300s}\n",
	}
	for name, text := range same {
		if got := hash(text); got != base {
			t.Errorf("%s: the hash changed", name)
		}
	}
	other := map[string]string{
		"a number":   "global: {max_in_flight: 65}\n" + fiveLines,
		"a seed":     fiveLines + "    seed: 0\n",
		"a label":    fiveLines + "    labels: {team: ml}\n",
		"an entry":   "loads: {l: {rate: 1}}\n" + fiveLines,
		"a duration": fiveLines + "    timeouts: {idle: 29s}\n",
	}
	for name, text := range other {
		if got := hash(text); got == base {
			t.Errorf("%s: the hash is the same", name)
		}
	}
}

func TestHashDoesNotDependOnSecrets(t *testing.T) {
	t.Parallel()
	text := "secrets: {s: {value: \"${KEY}\"}}\n" + fiveLines + "    client: c\nhttp_clients: {c: {basic_auth: {username: joe, password: \"${KEY}\"}}}\n"
	hashes := make([]string, 0, 2)
	for _, env := range []string{"KEY=one-secret-1", "KEY=other-secret"} {
		config, problems := loadTexts(t, []string{env}, text)
		if problems != "" {
			t.Fatal(problems)
		}
		hashes = append(hashes, config.Hash())
	}
	if hashes[0] != hashes[1] {
		t.Errorf("got %v", hashes)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want Size
		out  string
	}{
		{"0B", 0, "0B"},
		{"1B", 1, "1B"},
		{"1024B", 1024, "1KiB"},
		{"1536KiB", 1536 << 10, "1536KiB"},
		{"16MiB", 16 << 20, "16MiB"},
		{"2048MiB", 2 << 30, "2GiB"},
		{"8589934591GiB", 8589934591 << 30, "8589934591GiB"},
	}
	for _, tt := range tests {
		got, err := parseSize(tt.in)
		if err != nil || got != tt.want || got.String() != tt.out {
			t.Errorf("%s: got %d, %s, %v", tt.in, got, got, err)
		}
	}
	for _, bad := range []string{"", "16", "16M", "16MB", "16 MiB", "-1B", "1.5MiB", "8589934592GiB", "99999999999999999999B"} {
		if got, err := parseSize(bad); err == nil {
			t.Errorf("%q is read as %d", bad, got)
		}
	}
}
