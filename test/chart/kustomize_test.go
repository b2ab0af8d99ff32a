package chart

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func TestAnOverlayIsWhatTheChartRenders(t *testing.T) {
	t.Parallel()
	for name, values := range Overlays() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := Build(filesys.MakeFsOnDisk(), filepath.Join(root, "deploy/kubernetes/overlays", name))
			if err != nil {
				t.Fatal(err)
			}
			want, err := bare(load(t), values)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range want {
				if !strings.HasPrefix(o.Kind, "Cluster") {
					o.Content["metadata"].(map[string]any)["namespace"] = Namespace
				}
				subjects, _ := o.Content["subjects"].([]any)
				for _, subject := range subjects {
					subject.(map[string]any)["namespace"] = Namespace
				}
			}
			if diff := cmp.Diff(contents(want), contents(parsed(t, text))); diff != "" {
				t.Errorf("-chart +kustomize:\n%s", diff)
			}
		})
	}
}

// contents are those of objects, by kind and name.
func contents(objects []Object) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, o := range objects {
		out[o.Kind+" "+o.Name] = o.Content
	}
	return out
}

// A site's own: all components together, in a namespace of its own, with its configuration, its image, and more shards.
const site = `
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: canaries
resources: [../base]
components: [../components/sharded, ../components/discovery, ../components/monitoring, ../components/gpu]
configMapGenerator:
  - {name: aiperf-exporter, behavior: replace, files: [aiperf-exporter.yml], options: {disableNameSuffixHash: true}}
images: [{name: ghcr.io/aiperf-exporter/aiperf-exporter, newName: mirror.example.net/canary, newTag: "1.2.3"}]
replicas: [{name: aiperf-exporter, count: 4}]
patches:
  - target: {kind: StatefulSet, name: aiperf-exporter}
    patch: |
      - {op: replace, path: /spec/template/spec/containers/0/args/5, value: --shard=$(POD_INDEX)/4}
`

func TestComponentsCanBeCombined(t *testing.T) {
	t.Parallel()
	files := filesys.MakeFsInMemory()
	made, err := Kustomize(root)
	if err != nil {
		t.Fatal(err)
	}
	made["kubernetes/site/kustomization.yaml"] = site
	made["kubernetes/site/aiperf-exporter.yml"] = "targets: []\n"
	for name, text := range made {
		if err = files.WriteFile("/"+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := Build(files, "/kubernetes/site")
	if err != nil {
		t.Fatal(err)
	}
	objects := parsed(t, text)
	if got := len(all[*apps.Deployment](t, objects)); got != 0 {
		t.Errorf("there are %d Deployments", got)
	}
	set := all[*apps.StatefulSet](t, objects)[0]
	spec := set.Spec.Template.Spec
	if set.Namespace != "canaries" || *set.Spec.Replicas != 4 || !*spec.AutomountServiceAccountToken || spec.Containers[0].Image != "mirror.example.net/canary:1.2.3" {
		t.Errorf("%s, %d replicas, %s, token %t", set.Namespace, *set.Spec.Replicas, spec.Containers[0].Image, *spec.AutomountServiceAccountToken)
	}
	if got := spec.Containers[0].Args; !slices.Contains(got, "--shard=$(POD_INDEX)/4") || slices.ContainsFunc(got, func(arg string) bool { return strings.HasSuffix(arg, "/2") }) {
		t.Errorf("arguments: %q", got)
	}
	for _, b := range all[*rbac.ClusterRoleBinding](t, objects) {
		if got := b.Subjects[0]; got.Namespace != "canaries" {
			t.Errorf("the rights are those of %v", got)
		}
	}
	for _, c := range all[*core.ConfigMap](t, objects) {
		if c.Name == "aiperf-exporter" {
			if diff := cmp.Diff(map[string]string{"aiperf-exporter.yml": "targets: []\n"}, c.Data); diff != "" {
				t.Error(diff)
			}
		}
	}
	for i := range objects {
		if o := &objects[i]; o.Namespace != "canaries" && !strings.HasPrefix(o.Kind, "Cluster") {
			t.Errorf("%s %s is in %q", o.Kind, o.Name, o.Namespace)
		}
	}
}
