//go:build kubernetes

package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// resources tell under which path objects of a kind lie.
var resources = map[string]string{
	"Namespace": "namespaces", "Pod": "pods", "Service": "services", "EndpointSlice": "endpointslices", "ServiceAccount": "serviceaccounts",
	"Role": "roles", "RoleBinding": "rolebindings", "InferencePool": "inferencepools", "CustomResourceDefinition": "customresourcedefinitions",
	"Probe": "probes", "ServiceMonitor": "servicemonitors", "PodMonitor": "podmonitors", "PrometheusRule": "prometheusrules",
	"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets", "PodDisruptionBudget": "poddisruptionbudgets",
	"ConfigMap": "configmaps", "Secret": "secrets", "PersistentVolumeClaim": "persistentvolumeclaims", "NetworkPolicy": "networkpolicies",
	"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "SubjectAccessReview": "subjectaccessreviews",
	"RuntimeClass": "runtimeclasses", "PriorityClass": "priorityclasses",
}

// collection is where objects like this one lie; namespace is "" for those of the whole cluster.
func collection(t *testing.T, object *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	kind := object.GroupVersionKind()
	resource, ok := resources[kind.Kind]
	if !ok {
		t.Fatalf("no resource is known for the kind %s", kind.Kind)
	}
	all := rig.cluster.client.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: resource})
	if namespace := object.GetNamespace(); namespace != "" {
		return all.Namespace(namespace)
	}
	return all
}

// read gives the objects of a text.
func read(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			t.Fatalf("%v in\n%s", err, text)
		case len(object.Object) > 0:
			out = append(out, object)
		}
	}
}

// create makes the objects of a text, of which the server must know every field, and gives them as the server has them.
func create(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects := read(t, text)
	for i, object := range objects {
		made, err := collection(t, object).Create(process.Within(t, patience), object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
		objects[i] = made
	}
	return objects
}

// define makes kinds known to the server; those that are known already stay.
func define(t *testing.T, path string, names ...string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range read(t, string(text)) {
		wanted := len(names) == 0
		for _, name := range names {
			wanted = wanted || object.GetName() == name
		}
		if !wanted {
			continue
		}
		all := collection(t, object)
		if _, err := all.Apply(process.Within(t, patience), object.GetName(), object, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
			t.Fatalf("define %s: %v", object.GetName(), err)
		}
		eventually(t, patience, func() error { return established(t.Context(), all, object.GetName()) })
	}
}

// undefine takes a kind away, with all its objects.
func undefine(t *testing.T, name string) {
	t.Helper()
	kind := read(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}")[0]
	if err := collection(t, kind).Delete(process.Within(t, patience), name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete the kind %s: %v", name, err)
	}
}

func established(ctx context.Context, all dynamic.ResourceInterface, name string) error {
	object, err := all.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("%s is not established: %v", name, conditions)
}

// namespace is one that a test has for itself.
type namespace string

func newNamespace(t *testing.T, name string) namespace {
	t.Helper()
	create(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name))
	return namespace(name)
}

// object names one of the namespace, for what is done to those that are there.
func (n namespace) object(t *testing.T, group, kind, name string) (dynamic.ResourceInterface, string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(group)
	o.SetKind(kind)
	o.SetNamespace(string(n))
	return collection(t, o), name
}

// patch merges a change into an object, or into a part of it that is written by itself, such as its status.
func (n namespace) patch(t *testing.T, group, kind, name string, change map[string]any, part ...string) {
	t.Helper()
	body, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	all, name := n.object(t, group, kind, name)
	if _, err := all.Patch(process.Within(t, patience), name, types.MergePatchType, body, metav1.PatchOptions{}, part...); err != nil {
		t.Fatalf("patch %s %s with %s: %v", kind, name, body, err)
	}
}

// remove deletes an object; seconds is how long a pod may take to end. Without a kubelet none ends before somebody says 0.
func (n namespace) remove(t *testing.T, group, kind, name string, seconds int64) {
	t.Helper()
	all, name := n.object(t, group, kind, name)
	if err := all.Delete(process.Within(t, patience), name, metav1.DeleteOptions{GracePeriodSeconds: &seconds}); err != nil {
		t.Fatalf("delete %s %s: %v", kind, name, err)
	}
}

// pod makes a pod that a scheduler has put on a node, and a kubelet started: it serves at the address.
func (n namespace) pod(t *testing.T, name, ip, port string, labels map[string]string) {
	t.Helper()
	text, err := json.Marshal(labels)
	if err != nil {
		t.Fatal(err)
	}
	create(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: %[1]s
  namespace: %[2]s
  labels: %[3]s
  annotations: {example.com/model: truth}
spec:
  nodeName: node-1
  containers:
    - name: server
      image: example.com/truthserver
      ports: [{name: http, containerPort: %[4]s}, {name: other, containerPort: 1}]
`, name, n, text, port))
	n.patch(t, "v1", "Pod", name, map[string]any{"status": map[string]any{"phase": "Running", "podIP": ip, "podIPs": []any{map[string]any{"ip": ip}}}}, "status")
	n.ready(t, name, true)
}

// ready says of a pod whether it takes requests.
func (n namespace) ready(t *testing.T, name string, ready bool) {
	t.Helper()
	status := "False"
	if ready {
		status = "True"
	}
	n.patch(t, "v1", "Pod", name, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status}}}}, "status")
}

// account makes a service account with the rights of grant, and gives a file with a token of it.
func (n namespace) account(t *testing.T, name string, rights ...string) string {
	t.Helper()
	create(t, fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: %s}}", name, n))
	n.grant(t, name, name, rights...)
	request := read(t, fmt.Sprintf("{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, metadata: {name: %s, namespace: %s}, spec: {expirationSeconds: 3600}}", name, n))[0]
	accounts, _ := n.object(t, "v1", "ServiceAccount", name)
	answer, err := accounts.Create(process.Within(t, patience), request, metav1.CreateOptions{}, "token")
	if err != nil {
		t.Fatalf("token of %s: %v", name, err)
	}
	token, _, err := unstructured.NestedString(answer.Object, "status", "token")
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "token", token)
}

// grant gives an account rights by a role: resources, behind their group and a slash if they have one, each with the verbs list and watch.
func (n namespace) grant(t *testing.T, role, account string, rights ...string) {
	t.Helper()
	if len(rights) == 0 {
		return // a role without rules is none
	}
	var rules strings.Builder
	for _, right := range rights {
		group, resource, ok := strings.Cut(right, "/")
		if !ok {
			group, resource = "", right
		}
		fmt.Fprintf(&rules, "  - {apiGroups: [%q], resources: [%s], verbs: [list, watch]}\n", group, resource)
	}
	create(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s, namespace: %[2]s}
rules:
%[3]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s, namespace: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[4]s, namespace: %[2]s}]
`, role, n, rules.String(), account))
}
