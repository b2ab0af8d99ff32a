package chart

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsGeneratedIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := Files(root)
	if err != nil {
		t.Fatal(err)
	}
	overlays, err := Kustomize(root)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(want, overlays)
	got := map[string]string{}
	deploy := filepath.Join(root, "deploy")
	for _, folder := range []string{Folder, "kubernetes"} {
		err := filepath.WalkDir(filepath.Join(deploy, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(deploy, path)
			if err != nil {
				return err
			}
			if _, generated := want[name]; !generated && folder == Folder && !strings.HasPrefix(name, Folder+"/files/") {
				return nil // written by hand
			}
			text, err := os.ReadFile(path)
			got[name] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("deploy/%s is not up to date: run make gen", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("nobody generates deploy/%s any more: run make gen", name)
	}
}
