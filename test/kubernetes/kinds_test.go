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

// This one does not run beside others, and before them (the name of its file comes first among them): after it the cluster has both kinds.
func TestPoolsAreFoundWhenTheirKindIsInstalledLater(t *testing.T) {
	n, servers := newNamespace(t, "later"), replicas(t, 2)
	n.pod(t, "llm-0", servers[0].ip, servers[0].port, labels)
	static := fmt.Sprintf("targets: [{name: static, url: %q}]\n", "http://"+servers[1].address())
	e := serve(t, strings.Replace(fmt.Sprintf(pools, rig.cluster.kubeconfig(), n), "grace: 1s", "grace: 1m", 1)+static)
	eventually(t, patience, func() error {
		if got := e.set(t, "pools").Error; !strings.Contains(got, "the cluster has neither "+newer) {
			return fmt.Errorf("what is wrong: %q", got)
		}
		return nil
	})
	e.sends(t, "static", 20)
	define(t, definitions, "inferencepools."+older)
	create(t, fmt.Sprintf(`
apiVersion: inference.networking.x-k8s.io/v1alpha2
kind: InferencePool
metadata: {name: qwen, namespace: %s}
spec: {selector: {app: llm}, targetPortNumber: %s, extensionRef: {name: picker}}
`, n, servers[0].port))
	t.Logf("the pod of a pool of the older kind is a target %v after the kind was installed", e.await(t, "llm-0", "static"))
	e.sends(t, "llm-0", 20)
	if got := e.set(t, "pools").Error; got != "" {
		t.Errorf("still wrong: %s", got)
	}

	// An upgrade: the newer kind comes, with a pool of the same pods, and the older one goes. The targets stay all the while.
	before := e.scrape(t).Sum("aiperf_requests_total", scrape.Labels{"target": "llm-0"})
	define(t, definitions)
	n.pool(t, "newer", "llm", servers[0].port)
	undefine(t, "inferencepools."+older)
	start := time.Now()
	eventually(t, 2*patience, func() error {
		f := e.scrape(t)
		if got := targets(f); len(got) != 2 {
			t.Errorf("while the kinds change the targets are %v", got)
		}
		if len(f.Series("aiperf_requests_total", scrape.Labels{"target": "llm-0", "site": "newer"})) == 0 {
			return errors.New("the target has not the name of the newer pool")
		}
		return nil
	})
	t.Logf("the pool of the newer kind took over %v after the older kind was taken away; %v requests before", time.Since(start), before)
	define(t, definitions) // for the tests that follow
}
