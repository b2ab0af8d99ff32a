package chart

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"
)

// Overlays are what the files for Kustomize have beside the base, by name, with the values that make it.
func Overlays() map[string]string {
	return map[string]string{
		"discovery":  "discovery: {enabled: true, clusterWide: true}",
		"gpu":        "gpuAgent: {enabled: true}",
		"monitoring": "{serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}, dashboards: {enabled: true}}",
		"sharded":    "{sharding: {replicas: 2}, persistence: {enabled: true}, podDisruptionBudget: {enabled: true}}",
	}
}

// abouts say what a component is for.
var abouts = map[string]string{
	"discovery":  "The rights that kubernetes_sd_configs and inference_pool_sd_configs need, in every namespace.",
	"gpu":        "A DaemonSet that reads the GPUs of each node by NVIDIA's driver.",
	"monitoring": "What prometheus-operator and the sidecar of Grafana's chart look for: a ServiceMonitor, the rules, the dashboards.",
	"sharded":    "Two exporters that share the load instead of one. How many they are stands in replicas, and behind the slash of --shard.",
}

const heading = "# Written by `make gen`, of the Helm chart.\n"

// Kustomize gives the files for Kustomize, by their path in the folder deploy: what the chart renders with its own values is the base, and what other
// values change is a component each, which can be combined. An overlay is the base with one of them.
func Kustomize(root string) (map[string]string, error) {
	c, err := Load(filepath.Join(root, "deploy", Folder))
	if err != nil {
		return nil, err
	}
	base, err := bare(c, "")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	folder(out, "kubernetes/base", base, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
	for name, values := range Overlays() {
		with, err := bare(c, values)
		if err != nil {
			return nil, err
		}
		added, patches, err := difference(base, with)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		folder(out, "kubernetes/components/"+name, added,
			"# "+abouts[name]+"\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"+patches)
		out["kubernetes/overlays/"+name+"/kustomization.yaml"] = heading + "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: " +
			Namespace + "\nresources: [../../base]\ncomponents: [../../components/" + name + "]\n"
	}
	return out, nil
}

// bare are the objects of the chart without what only Helm needs.
func bare(c *chart.Chart, values string) ([]Object, error) {
	rendered, err := Render(c, values)
	if err != nil {
		return nil, err
	}
	var out []Object
	for _, o := range rendered.Objects {
		if o.Hook {
			continue
		}
		metadata := o.Content["metadata"].(map[string]any)
		delete(metadata, "namespace") // it is the overlay that says it, and with it that of accounts
		subjects, _ := o.Content["subjects"].([]any)
		for _, subject := range subjects {
			delete(subject.(map[string]any), "namespace")
		}
		labels := metadata["labels"].(map[string]any)
		delete(labels, "helm.sh/chart")
		delete(labels, "app.kubernetes.io/managed-by")
		out = append(out, o)
	}
	return out, nil
}

// folder writes objects and a kustomization.yaml that lists them.
func folder(out map[string]string, path string, objects []Object, kustomization string) {
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		name := fileName(&o)
		names = append(names, name)
		out[path+"/"+name] = heading + marshal(o.Content)
	}
	slices.Sort(names)
	out[path+"/kustomization.yaml"] = heading + kustomization + marshal(map[string]any{"resources": names})
}

// fileName is the kind of an object, and the end of its name where that is not the release's.
func fileName(o *Object) string {
	_, own, _ := strings.Cut(strings.TrimPrefix(o.Name, Namespace+":"), Release)
	return strings.ToLower(o.Kind) + own + ".yaml"
}

func marshal(content any) string {
	text, err := yaml.Marshal(content)
	if err != nil {
		panic(err) // it was read from YAML
	}
	return string(text)
}

// difference is what has to be added to the base, and the patches of what is there.
func difference(base, with []Object) (added []Object, patches string, err error) {
	type id struct{ kind, name string }
	have := map[id]Object{}
	for _, o := range base {
		have[id{o.Kind, o.Name}] = o
	}
	var list []any
	for _, o := range with {
		old, there := have[id{o.Kind, o.Name}]
		delete(have, id{o.Kind, o.Name})
		if !there {
			added = append(added, o)
			continue
		}
		change, err := merge(old.Content, o.Content)
		if err != nil {
			return nil, "", fmt.Errorf("%s %s: %w", o.Kind, o.Name, err)
		}
		if len(change) > 0 {
			list = append(list, patch(o.Kind, change))
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(have), func(a, b id) int { return strings.Compare(a.kind+a.name, b.kind+b.name) }) {
		list = append(list, patch(key.kind, map[string]any{"$patch": "delete"}))
	}
	if len(list) > 0 {
		patches = marshal(map[string]any{"patches": list})
	}
	return added, patches, nil
}

// patch changes the object of a kind. What is said of the pods of a Deployment is said of those of a StatefulSet, should another component make one of it.
func patch(kind string, change map[string]any) map[string]any {
	change["metadata"] = map[string]any{"name": Release}
	change["kind"], change["apiVersion"] = kind, "v1"
	if kind == "Deployment" {
		change["apiVersion"] = "apps/v1"
		if _, gone := change["$patch"]; !gone {
			kind = "Deployment|StatefulSet"
		}
	}
	return map[string]any{"target": map[string]any{"kind": kind, "name": Release}, "patch": marshal(change)}
}

// merge is what must be laid over the old map to make it the new one.
func merge(before, after map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for key := range before {
		if _, there := after[key]; !there {
			out[key] = nil
		}
	}
	for key, value := range after {
		old, there := before[key]
		if there && reflect.DeepEqual(old, value) {
			continue
		}
		a, isMap := old.(map[string]any)
		b, willBe := value.(map[string]any)
		switch _, isList := value.([]any); {
		case isMap && willBe:
			inner, err := merge(a, b)
			if err != nil {
				return nil, err
			}
			out[key] = inner
		case isList:
			return nil, fmt.Errorf("%s: a changed list cannot be said as a patch", key)
		default:
			out[key] = value
		}
	}
	return out, nil
}
