package discovery

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replaceFile writes a file beside and puts it in the place of the old one, as editors and programs do.
func replaceFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".tmp", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

func list(addresses ...string) string {
	return fmt.Sprintf(`[{"targets": ["%s"], "labels": {"team": "ml"}}]`, strings.Join(addresses, `", "`))
}

func TestFilesAreFollowedAndABrokenOneKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "targets.json")
	replaceFile(t, path, list("a:1", "b:1"))
	d := start(t)
	if err := d.Apply([]SetConfig{setOf(t, "file_sd_configs", "files: ["+path+"]\n")}); err != nil {
		t.Fatal(err)
	}
	d.await(t, "two targets", names("a:1", "b:1"))
	replaceFile(t, path, list("b:1", "c:1"))
	found := d.await(t, "another one", names("b:1", "c:1"))
	if got := found[0].Targets[0]; got.Labels["team"] != "ml" || got.Origin != path+":0" || got.Discovered["__meta_filepath"] != path {
		t.Errorf("got %+v", got)
	}
	replaceFile(t, path, `[{"targets": [`)
	broken := d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
	if !names("b:1", "c:1")(broken) {
		t.Errorf("a broken file changes the targets: %+v", broken[0].Targets)
	}
	replaceFile(t, path, list("d:1"))
	d.await(t, "the repaired file, without an error", func(found []Set) bool { return names("d:1")(found) && found[0].LastError == "" })
	replaceFile(t, path, `[]`)
	d.await(t, "no target", names())
}

// A ConfigMap is a folder of links into another folder, which a rename puts in the place of the one before.
func TestAConfigMapIsFollowedThroughItsLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := func(name, content string) {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "targets.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(name, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("..1", list("a:1"))
	if err := os.Symlink(filepath.Join("..data", "targets.json"), filepath.Join(dir, "targets.json")); err != nil {
		t.Fatal(err)
	}
	d := start(t)
	if err := d.Apply([]SetConfig{setOf(t, "file_sd_configs", "files: ["+filepath.Join(dir, "*.json")+"]\n")}); err != nil {
		t.Fatal(err)
	}
	d.await(t, "the first version", names("a:1"))
	version("..2", list("b:1"))
	d.await(t, "the second version", names("b:1"))
}
