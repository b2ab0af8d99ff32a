package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Values are the sets of values that the chart is tested with, by name.
func Values(root string) (map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(root, "test/chart/testdata/values/*.yaml"))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out[strings.TrimSuffix(filepath.Base(name), ".yaml")] = string(text)
	}
	return out, nil
}

// Sets are the objects of each set of values, and of each overlay, as texts by the names of files.
func Sets(root string) (map[string]string, error) {
	c, err := Load(filepath.Join(root, "deploy", Folder))
	if err != nil {
		return nil, err
	}
	values, err := Values(root)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, text := range values {
		rendered, err := Render(c, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out["helm-"+name+".yaml"] = Texts(rendered.Objects)
	}
	for name := range Overlays() {
		text, err := Build(filesys.MakeFsOnDisk(), filepath.Join(root, "deploy/kubernetes/overlays", name))
		if err != nil {
			return nil, err
		}
		out["kustomize-"+name+".yaml"] = text
	}
	return out, nil
}

// Texts are objects as one text.
func Texts(objects []Object) string {
	var b strings.Builder
	for _, o := range objects {
		b.WriteString("---\n" + o.Text)
	}
	return b.String()
}

// Build is what `kubectl kustomize` prints for a folder.
func Build(files filesys.FileSystem, folder string) (string, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, folder)
	if err != nil {
		return "", fmt.Errorf("kustomize %s: %w", folder, err)
	}
	text, err := built.AsYaml()
	return string(text), err
}
