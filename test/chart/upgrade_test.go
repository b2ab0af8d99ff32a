package chart

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/releaseutil"
)

// immutable are the fields of a kind that the API server lets nobody change.
var immutable = map[string][]string{
	"Deployment":            {"spec.selector"},
	"DaemonSet":             {"spec.selector"},
	"StatefulSet":           {"spec.selector", "spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates"},
	"Service":               {"spec.clusterIP"},
	"PersistentVolumeClaim": {"spec.accessModes", "spec.storageClassName"},
	"RoleBinding":           {"roleRef"},
	"ClusterRoleBinding":    {"roleRef"},
}

// fixed are these fields of objects, by kind, name and field.
func fixed(objects []Object) map[string]any {
	out := map[string]any{}
	for _, o := range objects {
		for _, field := range immutable[o.Kind] {
			var value any = o.Content
			for key := range strings.SplitSeq(field, ".") {
				inner, _ := value.(map[string]any)
				value = inner[key]
			}
			out[o.Kind+" "+o.Name+" "+field] = value
		}
	}
	return out
}

// The folder released has what former versions of the chart rendered for these sets of values. A new version adds to it; nothing of it is changed.
func TestAnUpgradeFromEveryReleaseChangesNothingThatCannotBeChanged(t *testing.T) {
	t.Parallel()
	sets := everySet(t)
	names, err := filepath.Glob("testdata/released/*/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("nothing was ever released, %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimPrefix(name, "testdata/released/"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			values, there := sets[strings.TrimSuffix(filepath.Base(name), ".yaml")]
			if !there {
				t.Fatal("there are no such values any more")
			}
			old, got := fixed(parsed(t, string(text))), fixed(render(t, values))
			for _, field := range slices.Sorted(maps.Keys(old)) {
				if diff := cmp.Diff(old[field], got[field]); diff != "" {
					t.Errorf("%s (-released +now):\n%s", field, diff)
				}
			}
		})
	}
}

func parsed(t *testing.T, text string) (out []Object) {
	t.Helper()
	documents := releaseutil.SplitManifests(text)
	for _, key := range slices.SortedFunc(maps.Keys(documents), inOrder) {
		o, err := read(documents[key])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// What a site changes from day to day, and what a new version of the chart changes by being one, touches no field that cannot be changed.
func TestAChangeOfValuesOrOfTheVersionCanBeApplied(t *testing.T) {
	t.Parallel()
	const shards = "sharding: {replicas: 4}, persistence: {enabled: true}, gpuAgent: {enabled: true}, discovery: {enabled: true}"
	before := fixed(render(t, "{"+shards+"}"))
	for _, test := range []struct{ name, values string }{
		{"more shards", "{sharding: {replicas: 8}, persistence: {enabled: true}, gpuAgent: {enabled: true}, discovery: {enabled: true}}"},
		{"another image", "{" + shards + ", image: {tag: 9.9.9, registry: a}}"},
		{"labels and annotations", "{" + shards + ", podLabels: {a: b}, podAnnotations: {a: b}, service: {labels: {a: b}}}"},
		{"another configuration", "{" + shards + ", config: {targets: []}, existingSecrets: [a], webConfig: {tlsSecret: a}}"},
		{"monitors", "{" + shards + ", serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(before, fixed(render(t, test.values))); diff != "" {
				t.Errorf("-before +after:\n%s", diff)
			}
		})
	}
	c := load(t)
	c.Metadata.Version, c.Metadata.AppVersion = "9.9.9", "9.9.9"
	r, err := Render(c, "{"+shards+"}")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, fixed(r.Objects)); diff != "" {
		t.Errorf("another version of the chart (-before +after):\n%s", diff)
	}
}

// A pod that is started anew loses its counters.
func TestAConfigurationDoesNotRestartThePod(t *testing.T) {
	t.Parallel()
	before, after := pods(t, render(t, "config: {targets: []}")), pods(t, render(t, "config: {global: {max_rate: 1}}"))
	if diff := cmp.Diff(before[0], after[0], cmp.AllowUnexported(pod{})); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}
