//go:build kubernetes

package kubernetes

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// as is the cluster as an account sees it that has a token in a file.
func as(token string) string {
	return fmt.Sprintf("api_server: %q, authorization: {credentials_file: %q}, tls_config: {ca_file: %q}", rig.cluster.url(), token, rig.cluster.ca())
}

// sets are one of each mechanism: the cluster, a namespace.
var sets = map[string]string{
	"pod":           "kubernetes_sd_configs: [{role: pod, %s, namespaces: {names: [%s]}}]",
	"endpointslice": "kubernetes_sd_configs: [{role: endpointslice, %s, namespaces: {names: [%s]}}]",
	"pool":          "inference_pool_sd_configs: [{%s, namespaces: {names: [%s]}}]",
}

// rights are all that each needs, with the verbs list and watch.
var rights = map[string][]string{
	"pod":           {"pods"},
	"endpointslice": {"discovery.k8s.io/endpointslices", "services", "pods"},
	"pool":          {newer + "/inferencepools", "pods"},
}

func oneSet(mechanism, token string, n namespace) string {
	return "target_discovery:\n  - name: one\n    template: {load: steady}\n    " + fmt.Sprintf(sets[mechanism], as(token), n) + "\n"
}

func TestEachMechanismNeedsTheseRightsAndNoOther(t *testing.T) {
	t.Parallel()
	n, servers := newNamespace(t, "rights"), replicas(t, 1)
	n.service(t, servers)
	n.pool(t, "qwen", "llm", servers[0].port)
	for mechanism, needed := range rights {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			if code, out := check(t, oneSet(mechanism, n.account(t, mechanism, needed...), n), "one"); code != 0 || !strings.Contains(out, `"url": "http://`) {
				t.Errorf("with %v: code %d\n%s", needed, code, out)
			}
			for i, without := range needed {
				token := n.account(t, fmt.Sprintf("%s-%d", mechanism, i), slices.Delete(slices.Clone(needed), i, i+1)...)
				if code, out := check(t, oneSet(mechanism, token, n), "one"); code == 0 {
					t.Errorf("it works without %s\n%s", without, out)
				}
			}
		})
	}
}

func TestARightThatIsMissingIsToldAndDisturbsNobody(t *testing.T) {
	t.Parallel()
	n, servers := newNamespace(t, "refused"), replicas(t, 2)
	n.pod(t, "llm-0", servers[0].ip, servers[0].port, labels)
	n.pool(t, "qwen", "llm", servers[0].port)
	token := n.account(t, "exporter", newer+"/inferencepools")
	e := serve(t, fmt.Sprintf(`
targets: [{name: static, url: %q}]
target_discovery:
  - name: pods
    %s
    relabel_configs:
      - {source_labels: [__meta_kubernetes_pod_container_port_name], regex: http, action: keep}
      - {source_labels: [__meta_kubernetes_pod_name], target_label: __target_name__}
    template: {load: steady}
  - name: pools
    %s
    relabel_configs:
      - {source_labels: [__meta_inferencepool_name, __meta_kubernetes_pod_name], separator: '-', target_label: __target_name__}
    template: {load: steady}
`, "http://"+servers[1].address(), fmt.Sprintf(sets["pod"], as(token), n), fmt.Sprintf(sets["pool"], as(token), n)))
	refused := fmt.Sprintf(`pods is forbidden: User "system:serviceaccount:%s:exporter" cannot list resource "pods"`, n)
	eventually(t, patience, func() error {
		f := e.scrape(t)
		if got := e.set(t, "pools").Error; !strings.Contains(got, refused) {
			return fmt.Errorf("of pools is told: %q", got)
		}
		if f.Sum("prometheus_sd_kubernetes_failures_total", nil) == 0 || strings.Count(e.Output(), "is forbidden") < 2 {
			return fmt.Errorf("of pods nothing is told:\n%s", tail(e.Output()))
		}
		return nil
	})
	e.sends(t, "static", 40)
	n.grant(t, "later", "exporter", "pods")
	t.Logf("the targets are there %v after the right was given", e.await(t, "llm-0", "qwen-llm-0", "static"))
	e.sends(t, "qwen-llm-0", 20)
	if got := e.set(t, "pools").Error; got != "" {
		t.Errorf("still wrong: %s", got)
	}
}

// inside runs a program where the files of a service account are, as in a pod.
const inside = `mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount && cd /run/secrets/kubernetes.io/serviceaccount &&
cp "$1" token && cp "$2" ca.crt && printf %s "$3" >namespace && cd "$4" && shift 4 && exec "$@"`

// The rights are those of the documentation, which has none for the namespace in which the exporter runs itself.
func TestInTheClusterItsOwnAccountServes(t *testing.T) {
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), "unshare", "--map-root-user", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: %v %s", err, out)
	}
	n, home, servers := newNamespace(t, "llm"), newNamespace(t, "monitoring"), replicas(t, 1)
	n.pod(t, "llm-0", servers[0].ip, servers[0].port, labels)
	n.pool(t, "qwen", "llm", servers[0].port)
	token := home.account(t, "aiperf-exporter")
	create(t, documented(t, "../../docs/discovery.md", "kind: Role\n"))
	host, port, _ := strings.Cut(rig.cluster.address, ":")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	e := serve(t, `
target_discovery:
  - name: pods
    kubernetes_sd_configs: [{role: pod, namespaces: {names: [llm]}}]
    relabel_configs:
      - {source_labels: [__meta_kubernetes_pod_container_port_name], regex: http, action: keep}
      - {target_label: __target_name__, replacement: pod}
    template: {load: steady}
  - name: pools
    inference_pool_sd_configs: [{namespaces: {names: [llm], own_namespace: true}}]
    relabel_configs: [{target_label: __target_name__, replacement: pool}]
    template: {load: steady}
`, "env", "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port,
		"unshare", "--map-root-user", "--mount", "sh", "-c", inside, "sh", token, rig.cluster.ca(), string(home), here)
	e.await(t, "pod", "pool")
	e.sends(t, "pool", 20)
	refused := `cannot list resource "inferencepools" in API group "inference.networking.k8s.io" in the namespace "monitoring"`
	if got := e.set(t, "pools").Error; !strings.Contains(got, refused) {
		t.Errorf("the own namespace, for which there is no right, is not told of: %q", got)
	}
}
