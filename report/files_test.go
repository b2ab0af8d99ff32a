package report

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteFiles(t *testing.T) {
	t.Parallel()
	other := plainRun()
	other.Meta.Target = "other"
	tests := []struct {
		name    string
		records bool
		reports []*Report
		want    []string
	}{
		{"one report stands in the folder itself", false, []*Report{plainRun()}, []string{
			".aiperf_results_ready.json", "profile_export_aiperf.csv", "profile_export_aiperf.json",
		}},
		{"several stand in a folder each", true, []*Report{plainRun(), other}, []string{
			"llama-prod/.aiperf_results_ready.json", "llama-prod/profile_export.jsonl",
			"llama-prod/profile_export_aiperf.csv", "llama-prod/profile_export_aiperf.json",
			"other/.aiperf_results_ready.json", "other/profile_export.jsonl",
			"other/profile_export_aiperf.csv", "other/profile_export_aiperf.json",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "new", "folder")
			if err := WriteFiles(dir, test.records, test.reports...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, tree(t, dir)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func tree(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTheMarkerSaysWhatTheFilesAreWorth(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		report *Report
		want   string
	}{
		{plainRun(), `{"ready":true,"was_cancelled":false,"partial":false}`},
		{reasoningRun(), `{"ready":true,"was_cancelled":true,"partial":true}`},
	} {
		dir := t.TempDir()
		if err := WriteFiles(dir, false, test.report); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, readyFile))
		if err != nil || string(got) != test.want {
			t.Errorf("got %s, %v, want %s", got, err, test.want)
		}
	}
}

func TestATargetCannotLeaveTheFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"..", ".", "", "a/b", `a\b`, "/etc"} {
		dir := filepath.Join(t.TempDir(), "inner")
		bad := plainRun()
		bad.Meta.Target = name
		if err := WriteFiles(dir, false, bad, plainRun()); err == nil {
			t.Errorf("%q was taken for a folder", name)
		}
	}
}

func TestAFolderThatCannotBeMadeIsTold(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteFiles(filepath.Join(file, "below"), false, plainRun()); err == nil {
		t.Error("no error")
	}
}
