//go:build kubernetes

package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// may asks the server whether an account may do something; a resource of a group is written group/resource.
func may(t *testing.T, account, verb, right, namespace string) bool {
	t.Helper()
	group, resource, ok := strings.Cut(right, "/")
	if !ok {
		group, resource = "", right
	}
	review := read(t, fmt.Sprintf(`
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec:
  user: %s
  groups: ["system:serviceaccounts", "system:authenticated"]
  resourceAttributes: {verb: %s, group: %q, resource: %s, namespace: %q}
`, account, verb, group, resource, namespace))[0]
	answer, err := collection(t, review).Create(process.Within(t, patience), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	if err != nil {
		t.Fatal(err)
	}
	return allowed
}

func TestTheRolesOfTheChartAreEnoughForDiscoveryAndForNothingElse(t *testing.T) {
	t.Parallel()
	prepare(t)
	needed := []string{"pods", "services", "discovery.k8s.io/endpointslices", newer + "/inferencepools", older + "/inferencepools"}
	for _, test := range []struct {
		set, account string
		granted      []string // namespaces, without that of the installation before them; "" is every
	}{
		{"helm-discovery-cluster", "aiperf-exporter", []string{"llm", "aiperf-exporter", ""}},
		{"kustomize-discovery", "aiperf-exporter", []string{"llm", ""}},
		{"helm-discovery-namespaced", "canary", []string{"llm", "llm-staging"}},
		{"helm-default", "aiperf-exporter", nil},
		{"helm-everything", "aiperf-exporter", nil},
	} {
		t.Run(test.set, func(t *testing.T) {
			t.Parallel()
			in := install(t, "rights-"+test.set, rendered+"/"+test.set+".yaml")
			in.apply(t)
			home := in.name + "-aiperf-exporter"
			account := "system:serviceaccount:" + home + ":" + test.account
			place := func(namespace string) string {
				if namespace == "" {
					return ""
				}
				return in.name + "-" + namespace
			}
			for _, namespace := range test.granted {
				for _, right := range needed {
					for _, verb := range []string{"list", "watch"} {
						eventually(t, patience, func() error {
							if !may(t, account, verb, right, place(namespace)) {
								return fmt.Errorf("it may not %s %s in %q", verb, right, namespace)
							}
							return nil
						})
					}
				}
			}
			for _, namespace := range append(test.granted, "aiperf-exporter", "") {
				for _, right := range append(needed, "secrets", "configmaps", "nodes", "pods/exec", "apps/deployments") {
					for _, verb := range []string{"get", "create", "update", "patch", "delete", "deletecollection"} {
						if may(t, account, verb, right, place(namespace)) {
							t.Errorf("it may %s %s in %q", verb, right, namespace)
						}
					}
				}
				for _, right := range []string{"secrets", "configmaps", "nodes"} {
					if may(t, account, "list", right, place(namespace)) {
						t.Errorf("it may list %s in %q", right, namespace)
					}
				}
			}
			if reads := test.granted != nil && test.granted[len(test.granted)-1] == ""; may(t, account, "list", "pods", "") != reads {
				t.Errorf("that it may list all pods should be %t", reads)
			}
		})
	}
}
