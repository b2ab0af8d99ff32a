//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// pods follows the ready pods of a namespace at the port http: kubeconfig, namespace.
const pods = `
target_discovery:
  - name: pods
    kubernetes_sd_configs:
      - {role: pod, kubeconfig_file: %q, namespaces: {names: [%s]}, selectors: [{role: pod, label: app=llm}]}
    relabel_configs:
      - {source_labels: [__meta_kubernetes_pod_ready], regex: "true", action: keep}
      - {source_labels: [__meta_kubernetes_pod_container_port_name], regex: http, action: keep}
      - {source_labels: [__meta_kubernetes_pod_name], target_label: __target_name__}
      - {source_labels: [__meta_kubernetes_pod_annotation_example_com_model], target_label: __model__}
      - {source_labels: [__meta_kubernetes_pod_label_site], target_label: site}
    template: {load: steady}
    max_targets: 4
    grace: 3s
`

var labels = map[string]string{"app": "llm", "site": "a"}

// began is how long after an instant the first request reached a server.
func (r replica) began(t *testing.T, after time.Time) time.Duration {
	t.Helper()
	var known truth
	eventually(t, patience, func() error {
		if known = r.truth(t); known.Requests == 0 {
			return errors.New("no request")
		}
		return nil
	})
	return time.Unix(0, known.First).Sub(after)
}

func TestReadyPodsGetTraffic(t *testing.T) {
	t.Parallel()
	n, servers := newNamespace(t, "pods"), replicas(t, 5)
	e := serve(t, fmt.Sprintf(pods, rig.cluster.kubeconfig(), n))
	start := time.Now()
	n.pod(t, "llm-0", servers[0].ip, servers[0].port, labels)
	n.pod(t, "llm-1", servers[1].ip, servers[1].port, labels)
	n.pod(t, "other", servers[4].ip, servers[4].port, map[string]string{"app": "other"})
	e.await(t, "llm-0", "llm-1")
	for i := range 2 {
		t.Logf("pod %d: first request %v after the first pod was made", i, servers[i].began(t, start))
		e.sends(t, fmt.Sprintf("llm-%d", i), 20)
	}
	if f := e.scrape(t); len(f.Series("aiperf_requests_total", scrape.Labels{"target": "llm-0", "site": "a", "model": "truth"})) == 0 {
		t.Errorf("the labels of a pod are not those of its target: %v", f.Series("aiperf_target_info", scrape.Labels{"target": "llm-0"}))
	}

	// From two to five, of which the set takes four.
	start = time.Now()
	for i := 2; i < 5; i++ {
		n.pod(t, fmt.Sprintf("llm-%d", i), servers[i].ip, servers[i].port, labels)
	}
	e.await(t, "llm-0", "llm-1", "llm-2", "llm-3")
	for i := 2; i < 4; i++ {
		t.Logf("pod %d: first request %v after the first of three was made", i, servers[i].began(t, start))
	}
	eventually(t, patience, func() error {
		if dropped := e.scrape(t).By("aiperf_exporter_discovery_dropped_targets", "reason", nil); dropped["max_targets"] != 1 {
			return fmt.Errorf("dropped: %v", dropped)
		}
		return nil
	})
	if got := servers[4].truth(t).Requests; got != 0 {
		t.Errorf("the one beyond the limit got %d requests", got)
	}

	// One that is not ready any more keeps its place for its grace, and then makes room.
	n.ready(t, "llm-0", false)
	t.Logf("the one beyond the limit took the place of one that is not ready in %v", e.await(t, "llm-1", "llm-2", "llm-3", "llm-4"))
	e.sends(t, "llm-4", 20)
	quiet(t, e, servers[0], "llm-1")
	n.ready(t, "llm-0", true)
	n.remove(t, "v1", "Pod", "llm-1", 0)
	n.remove(t, "v1", "Pod", "llm-2", 0)
	e.await(t, "llm-0", "llm-3", "llm-4")
	if f := e.scrape(t); of(f, "llm-1")+of(f, "llm-2") != 0 {
		t.Errorf("there are %d and %d families of the pods that were deleted", of(f, "llm-1"), of(f, "llm-2"))
	}
	quiet(t, e, servers[1], "llm-3")
}

// quiet fails if a server gets a request while a target sends forty.
func quiet(t *testing.T, e exporter, server replica, meanwhile string) {
	t.Helper()
	before := server.truth(t).Requests
	e.sends(t, meanwhile, 40)
	if now := server.truth(t).Requests; now != before {
		t.Errorf("a server whose target is gone got %d requests", now-before)
	}
}

func TestATargetThatVanishesStaysForItsGrace(t *testing.T) {
	t.Parallel()
	n, servers := newNamespace(t, "grace"), replicas(t, 2)
	n.pod(t, "llm-0", servers[0].ip, servers[0].port, labels)
	n.pod(t, "llm-1", servers[1].ip, servers[1].port, labels)
	e := serve(t, fmt.Sprintf(pods, rig.cluster.kubeconfig(), n))
	e.await(t, "llm-0", "llm-1")
	e.sends(t, "llm-1", 20)

	// A pod that flaps faster than the grace loses no counter.
	before := e.scrape(t).Sum("aiperf_requests_total", scrape.Labels{"target": "llm-1"})
	n.ready(t, "llm-1", false)
	n.ready(t, "llm-1", true)
	e.sends(t, "llm-1", 20)
	if now := e.scrape(t).Sum("aiperf_requests_total", scrape.Labels{"target": "llm-1"}); now < before+20 {
		t.Errorf("%v requests were counted before it flapped, %v are after", before, now)
	}

	start := time.Now()
	n.remove(t, "v1", "Pod", "llm-1", 0)
	e.await(t, "llm-0")
	if took := time.Since(start); took < 3*time.Second {
		t.Errorf("a target was gone %v after its pod, its grace is 3s", took)
	} else {
		t.Logf("the series of a target were gone %v after its pod, of which its grace is 3s", took)
	}
	if n := of(e.scrape(t), "llm-1"); n != 0 {
		t.Errorf("there are %d families of it", n)
	}
}

func TestALabelOfAPodThatChangesIsThatOfItsTarget(t *testing.T) {
	t.Parallel()
	n, servers := newNamespace(t, "labels"), replicas(t, 1)
	n.pod(t, "llm-0", servers[0].ip, servers[0].port, labels)
	e := serve(t, fmt.Sprintf(pods, rig.cluster.kubeconfig(), n))
	e.await(t, "llm-0")
	e.sends(t, "llm-0", 5)
	start := time.Now()
	n.patch(t, "v1", "Pod", "llm-0", map[string]any{"metadata": map[string]any{"labels": map[string]any{"site": "b"}}})
	eventually(t, patience, func() error {
		f := e.scrape(t)
		was, is := f.Series("aiperf_requests_total", scrape.Labels{"site": "a"}), f.Sum("aiperf_requests_total", scrape.Labels{"target": "llm-0", "site": "b"})
		if len(was) != 0 || is < 20 {
			return fmt.Errorf("%d series have the old label, %v requests the new one", len(was), is)
		}
		return nil
	})
	t.Logf("twenty requests were counted under the new label, and none under the old one, %v after it changed", time.Since(start))

	// What nobody asked for changes nothing: the target goes on with its counters.
	before := e.scrape(t).Sum("aiperf_requests_total", scrape.Labels{"site": "b"})
	n.patch(t, "v1", "Pod", "llm-0", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"example.com/seen": "today"}}})
	e.sends(t, "llm-0", 40)
	if now := e.scrape(t).Sum("aiperf_requests_total", scrape.Labels{"site": "b"}); now < before+40 {
		t.Errorf("%v requests were counted before an annotation changed, %v are after", before, now)
	}
}
