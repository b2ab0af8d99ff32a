//go:build k8s_sd

package discovery

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
)

const (
	pods   = "v1/pods"
	pools  = "inference.networking.k8s.io/v1/inferencepools"
	older  = "inference.networking.x-k8s.io/v1alpha2/inferencepools"
	sliced = "discovery.k8s.io/v1/endpointslices"
)

func apply(t *testing.T, d *running, key, text string, relabel ...string) {
	t.Helper()
	config := setOf(t, key, text)
	config.Relabel = append(steps(t, relabel...), config.Relabel...)
	if err := d.Apply([]SetConfig{config}); err != nil {
		t.Fatal(err)
	}
}

func TestReadyPodsAreFollowed(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put(pods, "llm", "a", pod("10.0.0.1", true, map[string]any{"app": "vllm"}))
	c.put(pods, "llm", "b", pod("10.0.0.2", false, nil))
	c.put(pods, "else", "c", pod("10.0.0.3", true, nil))
	d := start(t)
	apply(t, d, "kubernetes_sd_configs", "role: pod\napi_server: "+c.url+"\nnamespaces: {names: [llm]}\n",
		"source_labels: [__meta_kubernetes_pod_ready]\nregex: \"true\"\naction: keep\n")
	found := d.await(t, "one ready pod", names("10.0.0.1:8000"))
	if got := found[0].Targets[0].Discovered; got["__meta_kubernetes_namespace"] != "llm" || got["__meta_kubernetes_pod_label_app"] != "vllm" {
		t.Errorf("got %v", got)
	}
	c.put(pods, "llm", "b", pod("10.0.0.2", true, nil))
	d.await(t, "two ready pods", names("10.0.0.1:8000", "10.0.0.2:8000"))
	c.remove(pods, "llm", "a")
	d.await(t, "one pod", names("10.0.0.2:8000"))
}

func TestEndpointSlicesAreFollowed(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put("v1/services", "llm", "vllm", map[string]any{"spec": map[string]any{}})
	const addresses = 1000
	endpoints := make([]any, addresses)
	for i := range endpoints {
		endpoints[i] = map[string]any{"addresses": []any{fmt.Sprintf("10.0.%d.%d", i/250, i%250)}, "conditions": map[string]any{"ready": i%2 == 0}}
	}
	c.put(sliced, "llm", "vllm-1", map[string]any{
		"metadata":    map[string]any{"labels": map[string]any{"kubernetes.io/service-name": "vllm"}},
		"addressType": "IPv4", "endpoints": endpoints, "ports": []any{map[string]any{"name": "http", "port": 8000, "protocol": "TCP"}},
	})
	d := start(t)
	apply(t, d, "kubernetes_sd_configs", "role: endpointslice\napi_server: "+c.url+"\nnamespaces: {names: [llm]}\n",
		"source_labels: [__meta_kubernetes_endpointslice_endpoint_conditions_ready]\nregex: \"true\"\naction: keep\n")
	found := d.await(t, "the ready addresses", func(found []Set) bool { return len(found[0].Targets) == addresses/2 })
	if got := found[0]; got.Relabelled != addresses/2 || got.Targets[0].Discovered["__meta_kubernetes_service_name"] != "vllm" {
		t.Errorf("%d dropped, labels %v", got.Relabelled, got.Targets[0].Discovered)
	}
}

func newerPool(ports ...any) map[string]any {
	var list []any
	for _, port := range ports {
		list = append(list, map[string]any{"number": port})
	}
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"team": "ml"}, "annotations": map[string]any{"example.com/model": "Qwen/Qwen3-8B"}},
		"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "vllm"}}, "targetPorts": list},
	}
}

func TestReadyPodsOfAPoolAreTargets(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	vllm := map[string]any{"app": "vllm", "version/x": "1"}
	c.put(pods, "llm", "a", pod("10.0.0.1", true, vllm))
	c.put(pods, "llm", "b", pod("10.0.0.2", false, vllm))
	c.put(pods, "llm", "other", pod("10.0.0.3", true, map[string]any{"app": "else"}))
	c.put(pods, "elsewhere", "c", pod("10.0.0.4", true, vllm))
	c.put(pools, "llm", "qwen", newerPool(8000, 8001))
	d := start(t)
	apply(t, d, "inference_pool_sd_configs", "api_server: "+c.url+"\n")
	found := d.await(t, "both ports of one pod", names("10.0.0.1:8000", "10.0.0.1:8001"))
	want := map[string]string{
		"__address__": "10.0.0.1:8000", "__meta_inferencepool_name": "qwen", "__meta_inferencepool_namespace": "llm",
		"__meta_inferencepool_label_team": "ml", "__meta_inferencepool_labelpresent_team": "true",
		"__meta_inferencepool_annotation_example_com_model": "Qwen/Qwen3-8B", "__meta_inferencepool_annotationpresent_example_com_model": "true",
		"__meta_inferencepool_port_number": "8000", "__meta_kubernetes_namespace": "llm", "__meta_kubernetes_pod_name": "a",
		"__meta_kubernetes_pod_ip": "10.0.0.1", "__meta_kubernetes_pod_ready": "true", "__meta_kubernetes_pod_phase": "Running",
		"__meta_kubernetes_pod_node_name": "node-1", "__meta_kubernetes_pod_uid": "uid-a", "__meta_kubernetes_pod_label_app": "vllm",
		"__meta_kubernetes_pod_labelpresent_app": "true", "__meta_kubernetes_pod_label_version_x": "1", "__meta_kubernetes_pod_labelpresent_version_x": "true",
	}
	if diff := cmp.Diff(want, found[0].Targets[0].Discovered); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if got := found[0].Targets[0].Origin; got != "inferencepool/llm/qwen" {
		t.Errorf("origin %q", got)
	}
	c.put(pods, "llm", "b", pod("10.0.0.2", true, vllm))
	c.put(pods, "llm", "a", pod("10.0.0.1", false, vllm))
	d.await(t, "the other pod", names("10.0.0.2:8000", "10.0.0.2:8001"))
	c.put(pools, "llm", "qwen", newerPool(8000))
	d.await(t, "one port", names("10.0.0.2:8000"))
	c.remove(pools, "llm", "qwen")
	d.await(t, "no pool", names())
}

func TestAClusterThatOnlyHasTheOlderPools(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.refuse(pools, http.StatusNotFound)
	c.put(pods, "llm", "a", pod("10.0.0.1", true, map[string]any{"app": "vllm"}))
	c.put(older, "llm", "qwen", map[string]any{"spec": map[string]any{"selector": map[string]any{"app": "vllm"}, "targetPortNumber": 9000}})
	d := start(t)
	apply(t, d, "inference_pool_sd_configs", "api_server: "+c.url+"\nnamespaces: {names: [llm]}\n")
	d.await(t, "the pod", names("10.0.0.1:9000"))
}

func TestAnAccountThatMayOnlySeeTheOlderPools(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.refuse(pools, http.StatusForbidden)
	c.put(pods, "llm", "a", pod("10.0.0.1", true, map[string]any{"app": "vllm"}))
	c.put(older, "llm", "qwen", map[string]any{"spec": map[string]any{"selector": map[string]any{"app": "vllm"}, "targetPortNumber": 9000}})
	d := start(t)
	apply(t, d, "inference_pool_sd_configs", "api_server: "+c.url+"\n")
	d.await(t, "the pod", names("10.0.0.1:9000"))
}

func TestANamespaceThatMayNotBeSeenHidesNoOther(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.forbid("secret")
	c.put(pods, "llm", "a", pod("10.0.0.1", true, map[string]any{"app": "vllm"}))
	c.put(pools, "llm", "qwen", newerPool(8000))
	d := start(t)
	apply(t, d, "inference_pool_sd_configs", "api_server: "+c.url+"\nnamespaces: {names: [secret, llm]}\n")
	d.await(t, "the pod, and an error", func(found []Set) bool {
		return names("10.0.0.1:8000")(found) && strings.Contains(found[0].LastError, "Forbidden")
	})
}

func TestAPoolThatCannotBeReadIsAnErrorAndHidesNoOther(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put(pods, "llm", "a", pod("10.0.0.1", true, map[string]any{"app": "vllm"}))
	c.put(pools, "llm", "all", map[string]any{"spec": map[string]any{"selector": map[string]any{}, "targetPorts": []any{map[string]any{"number": 1}}}})
	c.put(pools, "llm", "port", newerPool(70000))
	c.put(pools, "llm", "good", newerPool(8000))
	d := start(t)
	apply(t, d, "inference_pool_sd_configs", "api_server: "+c.url+"\n")
	d.await(t, "the good one", names("10.0.0.1:8000"))
	found := d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
	for _, want := range []string{"pool llm/all: its selector is empty", "pool llm/port: it has no port"} {
		if !strings.Contains(found[0].LastError, want) {
			t.Errorf("it does not say %q: %v", want, found[0].LastError)
		}
	}
	c.remove(pools, "llm", "all")
	c.put(pools, "llm", "port", newerPool(8001))
	d.await(t, "both ports", names("10.0.0.1:8000", "10.0.0.1:8001"))
	d.await(t, "no error", func(found []Set) bool { return found[0].LastError == "" })
}

func TestWhatTheClusterRefusesIsAnError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		refused map[string]int
		want    string
	}{
		"no right to see pools": {map[string]int{pools: http.StatusForbidden, older: http.StatusNotFound}, "inference.networking.k8s.io/v1: inference.networking.k8s.io/v1/inferencepools: Forbidden"},
		"no right to see pods":  {map[string]int{pods: http.StatusForbidden}, "v1/pods: Forbidden"},
		"no pools at all": {
			map[string]int{pools: http.StatusNotFound, older: http.StatusNotFound},
			"the cluster has neither inference.networking.k8s.io/v1 nor inference.networking.x-k8s.io/v1alpha2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			for collection, status := range tt.refused {
				c.refuse(collection, status)
			}
			d := start(t)
			apply(t, d, "inference_pool_sd_configs", "api_server: "+c.url+"\n")
			found := d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
			if !strings.Contains(found[0].LastError, tt.want) || found[0].Complete {
				t.Errorf("got %+v", found[0])
			}
		})
	}
}

func TestAnOutageOfTheClusterKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put(pods, "llm", "a", pod("10.0.0.1", true, map[string]any{"app": "vllm"}))
	c.put(pools, "llm", "qwen", newerPool(8000))
	d := start(t)
	apply(t, d, "inference_pool_sd_configs", "api_server: "+c.url+"\n")
	d.await(t, "the pod", names("10.0.0.1:8000"))
	for _, collection := range []string{pods, pools} {
		c.refuse(collection, http.StatusInternalServerError)
	}
	c.hangUp()
	found := d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
	if !names("10.0.0.1:8000")(found) {
		t.Errorf("got %+v", found[0].Targets)
	}
}

func TestAClusterThatRefusesConnectionsIsAnErrorUntilItIsBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put(pods, "llm", "a", pod("10.0.0.1", true, map[string]any{"app": "vllm"}))
	c.put(pools, "llm", "qwen", newerPool(8000))
	d := start(t)
	apply(t, d, "inference_pool_sd_configs", "api_server: "+c.url+"\n")
	d.await(t, "the pod", names("10.0.0.1:8000"))
	back := c.away(t)
	found := d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
	if !names("10.0.0.1:8000")(found) {
		t.Errorf("got %+v", found[0].Targets)
	}
	families, err := d.registry.Gather()
	if err != nil || !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "prometheus_sd_kubernetes_http_request_total" }) {
		t.Errorf("requests to the cluster are not counted, %v", err)
	}
	back()
	d.await(t, "no error", func(found []Set) bool { return found[0].LastError == "" })
}

func TestPoolsAreFollowedToTheNewerKind(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.refuse(pools, http.StatusNotFound)
	c.put(pods, "llm", "a", pod("10.0.0.1", true, map[string]any{"app": "vllm"}))
	c.put(older, "llm", "old", map[string]any{"spec": map[string]any{"selector": map[string]any{"app": "vllm"}, "targetPortNumber": 9000}})
	d := start(t)
	apply(t, d, "inference_pool_sd_configs", "api_server: "+c.url+"\n")
	d.await(t, "the pod of the older kind", names("10.0.0.1:9000"))
	c.put(pools, "llm", "new", newerPool(8000))
	c.refuse(pools, 0)
	c.refuse(older, http.StatusNotFound)
	c.hangUp()
	d.await(t, "the pod of the newer kind", names("10.0.0.1:8000"))
}

func TestMistakesOfAPoolsClusterAreTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"two clusters":                    {"api_server: http://h\nkubeconfig_file: x\n", "api_server and kubeconfig_file exclude each other"},
		"a client for nobody":             {"bearer_token: x\n", "settings of the HTTP client need an api_server"},
		"own namespace of another":        {"api_server: http://h\nnamespaces: {own_namespace: true}\n", "own_namespace is only known where the exporter runs: it excludes api_server and kubeconfig_file"},
		"a key that is not there":         {"role: pod\n", "field role not found"},
		"two credentials for one request": {"api_server: http://h\nbearer_token: x\nbearer_token_file: y\n", "at most one of bearer_token & bearer_token_file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m Mechanisms
			err := unmarshal(tt.text, m.Entry("inference_pool_sd_configs"))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOutsideOfAClusterTheOwnOneIsNotThere(t *testing.T) {
	t.Parallel()
	d := newDiscovery(t)
	err := d.Apply([]SetConfig{setOf(t, "inference_pool_sd_configs", "namespaces: {names: [llm]}\n")})
	if err == nil || !strings.HasPrefix(err.Error(), `target_discovery "fleet": inference_pool_sd_configs: unable to load in-cluster configuration`) {
		t.Errorf("got %v", err)
	}
}
