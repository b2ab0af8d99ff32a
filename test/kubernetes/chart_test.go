//go:build kubernetes

package kubernetes

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

const (
	rendered = "../../build/chart"                  // what the chart and the overlays render now, written by `make kubernetes`
	released = "../chart/testdata/released"         // what former versions of the chart rendered
	manager  = "helm"                               // who owns the fields that are applied
	enforce  = "pod-security.kubernetes.io/enforce" // the label of a namespace that refuses pods
)

// unserved are kinds of others, which the API server here does not know.
var unserved = []string{"VerticalPodAutoscaler", "PodMonitoring"}

// installation is one of the chart, in namespaces of its own.
type installation struct {
	name    string
	client  dynamic.Interface
	objects []*unstructured.Unstructured
	heard   *warnings
}

// warnings collects what the API server says beside its answers.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

// install reads the objects of a file and puts them into namespaces whose names begin with that of the installation, so that many can be beside one another.
// These let in no pod that may do more than it needs, unless it has containers of a user.
func install(t *testing.T, name, path string) *installation {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run this by make kubernetes)", err)
	}
	in := &installation{name: name, heard: &warnings{}}
	config := rest.CopyConfig(rig.cluster.config())
	config.WarningHandler = in.heard
	if in.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	namespaces := map[string]bool{}
	for _, o := range read(t, string(text)) {
		if slices.Contains(unserved, o.GetKind()) {
			t.Logf("%s is not applied: its kind is not served here", o.GetKind())
			continue
		}
		in.move(o, namespaces)
		in.objects = append(in.objects, o)
	}
	level := "restricted"
	if strings.Contains(path, "everything") {
		level = "privileged"
	}
	for _, n := range slices.Sorted(maps.Keys(namespaces)) {
		create(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s: %s}}}", n, enforce, level))
	}
	return in
}

// move puts an object into a namespace of the installation, or gives it a name of it.
func (in *installation) move(o *unstructured.Unstructured, namespaces map[string]bool) {
	if n := o.GetNamespace(); n != "" {
		o.SetNamespace(in.name + "-" + n)
		namespaces[o.GetNamespace()] = true
	} else {
		o.SetName(in.name + "-" + o.GetName())
	}
	if ref, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind"); ref == "ClusterRole" {
		_ = unstructured.SetNestedField(o.Object, o.GetName(), "roleRef", "name")
	}
	subjects, found, _ := unstructured.NestedSlice(o.Object, "subjects")
	if !found {
		return
	}
	for _, s := range subjects {
		subject := s.(map[string]any)
		subject["namespace"] = fmt.Sprintf("%s-%s", in.name, subject["namespace"])
	}
	_ = unstructured.SetNestedSlice(o.Object, subjects, "subjects")
}

// apply lets the server take all objects, or only say whether it would, and holds what it says against them.
func (in *installation) apply(t *testing.T, dryRun ...string) {
	t.Helper()
	for _, o := range in.objects {
		kind := o.GroupVersionKind()
		var all dynamic.ResourceInterface = in.client.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: resources[kind.Kind]})
		if n := o.GetNamespace(); n != "" {
			all = all.(dynamic.NamespaceableResourceInterface).Namespace(n)
		}
		// Unlike Apply, Patch can be told to refuse unknown fields.
		body, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		options := metav1.PatchOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun}
		if _, err := all.Patch(process.Within(t, patience), o.GetName(), "application/apply-patch+yaml", body, options); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	in.heard.mu.Lock()
	defer in.heard.mu.Unlock()
	for _, text := range in.heard.list {
		t.Errorf("a warning: %s", text)
	}
	in.heard.list = nil
}

// pods asks the server whether it would let the pods in.
func (in *installation) pods(t *testing.T) {
	t.Helper()
	for _, o := range in.objects {
		template, found, err := unstructured.NestedMap(o.Object, "spec", "template")
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			continue
		}
		claims, _, err := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
		if err != nil {
			t.Fatal(err)
		}
		volumes, _, err := unstructured.NestedSlice(template, "spec", "volumes")
		if err != nil {
			t.Fatal(err)
		}
		for _, claim := range claims { // as the controller of StatefulSets does
			name, _, _ := unstructured.NestedString(claim.(map[string]any), "metadata", "name")
			volumes = append(volumes, map[string]any{"name": name, "persistentVolumeClaim": map[string]any{"claimName": name + "-0"}})
		}
		if err := unstructured.SetNestedSlice(template, volumes, "spec", "volumes"); err != nil {
			t.Fatal(err)
		}
		pod := &unstructured.Unstructured{Object: template}
		pod.SetAPIVersion("v1")
		pod.SetKind("Pod")
		pod.SetName(o.GetName() + "-0")
		all := in.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(o.GetNamespace())
		options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
		if _, err := all.Create(process.Within(t, patience), pod, options); err != nil {
			t.Errorf("a pod of the %s: %v", o.GetKind(), err)
		}
	}
}

// prepare makes the kinds and the classes that the objects of the chart speak of.
func prepare(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"servicemonitors", "podmonitors", "prometheusrules", "probes"} {
		define(t, installed+"/crds/monitoring.coreos.com_"+kind+".yaml")
	}
	for _, class := range read(t, `
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: nvidia}, handler: nvidia}
---
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: gvisor}, handler: runsc}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: canary}, value: 1000}
`) {
		if _, err := collection(t, class).Apply(process.Within(t, patience), class.GetName(), class, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheServerTakesEveryObjectOfTheChartWithoutAWarning(t *testing.T) {
	t.Parallel()
	prepare(t)
	files, err := filepath.Glob(rendered + "/*.yaml")
	if err != nil || len(files) < 14 {
		t.Fatalf("%d files in %s, %v (run this by make kubernetes)", len(files), rendered, err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := install(t, name, path)
			in.apply(t, metav1.DryRunAll)
			in.pods(t)
			in.apply(t)
			in.apply(t) // once more, which changes nothing
		})
	}
}

func TestTheServerTakesTheUpgradeFromEveryRelease(t *testing.T) {
	t.Parallel()
	prepare(t)
	files, err := filepath.Glob(released + "/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing was ever released, %v", err)
	}
	for i, path := range files {
		set := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(strings.TrimPrefix(path, released+"/"), func(t *testing.T) {
			t.Parallel()
			in := install(t, fmt.Sprintf("upgrade-%d", i), path)
			in.apply(t)
			text, err := os.ReadFile(filepath.Join(rendered, "helm-"+set+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			in.objects = nil
			for _, o := range read(t, string(text)) {
				if !slices.Contains(unserved, o.GetKind()) && o.GetKind() != "Pod" { // which helm test makes anew
					in.move(o, map[string]bool{})
					in.objects = append(in.objects, o)
				}
			}
			in.apply(t)
		})
	}
}
