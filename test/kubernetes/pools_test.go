//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// pools follows the InferencePools of a namespace: kubeconfig, namespace.
const pools = `
target_discovery:
  - name: pools
    inference_pool_sd_configs:
      - {kubeconfig_file: %q, namespaces: {names: [%s]}}
    relabel_configs:
      - {source_labels: [__meta_kubernetes_pod_name], target_label: __target_name__}
      - {source_labels: [__meta_inferencepool_name], target_label: site}
      - {source_labels: [__meta_kubernetes_pod_annotation_example_com_model], target_label: __model__}
    template: {load: steady}
    grace: 1s
`

const (
	definitions = "testdata/inferencepools.yaml"
	newer       = "inference.networking.k8s.io"
	older       = "inference.networking.x-k8s.io"
)

// pool makes a pool of the pods with a label.
func (n namespace) pool(t *testing.T, name, app, port string) {
	t.Helper()
	create(t, fmt.Sprintf(`
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: %s, namespace: %s}
spec:
  selector: {matchLabels: {app: %s}}
  targetPorts: [{number: %s}]
  endpointPickerRef: {name: picker, port: {number: 9002}}
`, name, n, app, port))
}

func TestReadyPodsOfAPoolGetTraffic(t *testing.T) {
	t.Parallel()
	n, servers := newNamespace(t, "pools"), replicas(t, 5)
	e := serve(t, fmt.Sprintf(pools, rig.cluster.kubeconfig(), n))
	n.pod(t, "llm-0", servers[0].ip, servers[0].port, labels)
	n.pod(t, "llm-1", servers[1].ip, servers[1].port, labels)
	n.pod(t, "llm-2", servers[2].ip, servers[2].port, map[string]string{"app": "other"})
	start := time.Now()
	n.pool(t, "qwen", "llm", servers[0].port)
	e.await(t, "llm-0", "llm-1")
	t.Logf("first request %v after the pool was made", servers[0].began(t, start))
	e.sends(t, "llm-1", 20)
	if f := e.scrape(t); len(f.Series("aiperf_requests_total", scrape.Labels{"target": "llm-0", "site": "qwen"})) == 0 {
		t.Error("the name of the pool is no label of its target")
	}

	// Scaled up, and one of them unready.
	start = time.Now()
	for i := 3; i < 5; i++ {
		n.pod(t, fmt.Sprintf("llm-%d", i), servers[i].ip, servers[i].port, labels)
	}
	n.ready(t, "llm-0", false)
	e.await(t, "llm-1", "llm-3", "llm-4")
	t.Logf("first request to a new pod %v after it was made", servers[3].began(t, start))
	quiet(t, e, servers[0], "llm-1")

	// A pod that is told to end takes no requests any more, however long it takes.
	n.remove(t, "v1", "Pod", "llm-4", 30)
	t.Logf("a pod that ends is none of the targets after %v", e.await(t, "llm-1", "llm-3"))

	// Another selector, which means other pods.
	n.patch(t, newer+"/v1", "InferencePool", "qwen", map[string]any{"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "other"}}}})
	t.Logf("the pods of the new selector are the targets after %v", e.await(t, "llm-2"))
	e.sends(t, "llm-2", 20)
	if got := servers[4].truth(t).Requests; got == 0 {
		t.Error("no request reached the fifth pod")
	}
	n.remove(t, newer+"/v1", "InferencePool", "qwen", 0)
	eventually(t, patience, func() error {
		if got := targets(e.scrape(t)); len(got) > 0 {
			return errors.New("there are " + strings.Join(got, ", "))
		}
		return nil
	})
}
