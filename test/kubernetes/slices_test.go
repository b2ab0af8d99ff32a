//go:build kubernetes

package kubernetes

import (
	"encoding/json"
	"fmt"
	"testing"
)

// endpoints follows the ready addresses of a service. A slice may not have an address of this machine, so its addresses are made some here:
// kubeconfig, namespace.
const endpoints = `
target_discovery:
  - name: endpoints
    kubernetes_sd_configs:
      - role: endpointslice
        kubeconfig_file: %q
        namespaces: {names: [%s]}
        selectors: [{role: endpointslice, label: kubernetes.io/service-name=llm}]
    relabel_configs:
      - {source_labels: [__meta_kubernetes_endpointslice_endpoint_conditions_ready], regex: "true", action: keep}
      - {source_labels: [__meta_kubernetes_endpointslice_port_name], regex: http, action: keep}
      - {source_labels: [__meta_kubernetes_pod_name], target_label: __target_name__}
      - {source_labels: [__meta_kubernetes_service_label_site], target_label: site}
      - {source_labels: [__address__], regex: '10\.0\.0\.(.+)', target_label: __address__, replacement: 127.0.0.$1}
    template: {load: steady}
    grace: 1s
`

// service makes a service and the slice of its addresses, with the pods behind them.
func (n namespace) service(t *testing.T, servers []replica) {
	t.Helper()
	create(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: llm, namespace: %[1]s, labels: {site: a}}
spec: {clusterIP: None, ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: llm-1, namespace: %[1]s, labels: {kubernetes.io/service-name: llm}}
addressType: IPv4
ports: [{name: http, port: %[2]s, protocol: TCP}, {name: other, port: 1, protocol: TCP}]
endpoints: []
`, n, servers[0].port))
	for i, s := range servers {
		n.pod(t, fmt.Sprintf("llm-%d", i), s.ip, s.port, labels)
	}
	n.endpoints(t, servers, nil)
}

// endpoints writes the addresses of the slice; those of unready are not ready.
func (n namespace) endpoints(t *testing.T, servers []replica, unready map[int]bool) {
	t.Helper()
	list := make([]any, len(servers))
	for i, s := range servers {
		list[i] = map[string]any{
			"addresses": []any{"10" + s.ip[len("127"):]}, "conditions": map[string]any{"ready": !unready[i]},
			"targetRef": map[string]any{"kind": "Pod", "namespace": string(n), "name": fmt.Sprintf("llm-%d", i)},
		}
	}
	n.patch(t, "discovery.k8s.io/v1", "EndpointSlice", "llm-1", map[string]any{"endpoints": list})
}

func TestReadyAddressesOfAServiceGetTraffic(t *testing.T) {
	t.Parallel()
	n, servers := newNamespace(t, "endpoints"), replicas(t, 3)
	n.service(t, servers[:2])
	e := serve(t, fmt.Sprintf(endpoints, rig.cluster.kubeconfig(), n))
	e.await(t, "llm-0", "llm-1")
	e.sends(t, "llm-0", 20)
	e.sends(t, "llm-1", 20)
	n.pod(t, "llm-2", servers[2].ip, servers[2].port, labels)
	n.endpoints(t, servers, map[int]bool{0: true})
	t.Logf("one address became unready and one was added: the targets are those %v later", e.await(t, "llm-1", "llm-2"))
	e.sends(t, "llm-2", 20)
	quiet(t, e, servers[0], "llm-1")
}

func TestCheckSDShowsWhatALiveServerTells(t *testing.T) {
	t.Parallel()
	n, servers := newNamespace(t, "check"), replicas(t, 1)
	n.service(t, servers)
	code, out := check(t, fmt.Sprintf(endpoints, rig.cluster.kubeconfig(), n), "endpoints")
	var got struct {
		Complete bool `json:"complete"`
		Found    []struct {
			Name       string            `json:"name"`
			URL        string            `json:"url"`
			Dropped    string            `json:"dropped"`
			Discovered map[string]string `json:"discovered"`
		} `json:"found"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || !got.Complete || len(got.Found) != 2 {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	used := got.Found[0]
	if used.Name != "llm-0" || used.URL != "http://"+servers[0].address() || used.Discovered["__meta_kubernetes_pod_node_name"] != "node-1" {
		t.Errorf("got %+v", used)
	}
	if got.Found[1].Dropped != "relabelled" {
		t.Errorf("the other port is not dropped: %+v", got.Found[1])
	}
}
