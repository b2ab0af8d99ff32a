package chart

import (
	"flag"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
)

// The root of the repository, and the programs, as seen from this folder.
const (
	root     = "../.."
	exporter = root + "/bin/aiperf-exporter-kubernetes"
	promtool = root + "/.cache/prometheus/bin/promtool"
	validate = root + "/.cache/validate/bin/kubernetes-validate"
)

var update = flag.Bool("update", false, "write the golden files again")

// load reads the chart.
func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := Load(filepath.Join(root, "deploy", Folder))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render gives what the chart makes of values, which must be right.
func render(t *testing.T, values string) []Object {
	t.Helper()
	r, err := Render(load(t), values)
	if err != nil {
		t.Fatal(err)
	}
	return r.Objects
}

// forEachSet runs a test for each set of values of testdata/values, beside one another.
func forEachSet(t *testing.T, test func(t *testing.T, name, values string)) {
	t.Helper()
	sets, err := Values(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(sets) < 10 {
		t.Fatalf("there are %d sets of values", len(sets))
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name, sets[name])
		})
	}
}

// find is the object of a kind and a name.
func find(t *testing.T, objects []Object, kind, name string) Object {
	t.Helper()
	at := slices.IndexFunc(objects, func(o Object) bool { return o.Kind == kind && o.Name == name })
	if at < 0 {
		t.Fatalf("there is no %s %s", kind, name)
	}
	return objects[at]
}
