//go:build kubernetes

package kubernetes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// unanswered counts the requests to the API server that had no answer: all that is told of kubernetes_sd_configs whose server is away.
func unanswered(f scrape.Families) float64 {
	return f.Sum("prometheus_sd_kubernetes_http_request_total", scrape.Labels{"status_code": "<error>"})
}

// This one does not run beside others.
func TestTargetsOutliveTheAPIServer(t *testing.T) {
	define(t, definitions)
	n, servers := newNamespace(t, "outage"), replicas(t, 4)
	n.pod(t, "llm-0", servers[0].ip, servers[0].port, labels)
	n.pod(t, "llm-1", servers[1].ip, servers[1].port, map[string]string{"app": "pooled"})
	n.pool(t, "qwen", "pooled", servers[1].port)
	both := fmt.Sprintf(pods, rig.cluster.kubeconfig(), n) + strings.TrimPrefix(fmt.Sprintf(pools, rig.cluster.kubeconfig(), n), "\ntarget_discovery:\n")
	e := serve(t, both)
	e.await(t, "llm-0", "llm-1")

	before := unanswered(e.scrape(t))
	if err := rig.cluster.server.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := rig.cluster.server.Wait(process.Within(t, patience)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	eventually(t, 2*patience, func() error {
		wrong, now := e.set(t, "pools").Error, unanswered(e.scrape(t))
		if wrong == "" || now == before || time.Since(start) < 10*time.Second {
			return fmt.Errorf("of pools is told: %q; %v requests had no answer, %v before", wrong, now, before)
		}
		return nil
	})
	t.Logf("while the server is away: %s", e.set(t, "pools").Error)
	e.sends(t, "llm-0", 20)
	e.sends(t, "llm-1", 20)
	e.await(t, "llm-0", "llm-1")

	if err := rig.cluster.startServer(process.Within(t, startWait)); err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	n.remove(t, "v1", "Pod", "llm-0", 0)
	n.pod(t, "llm-2", servers[2].ip, servers[2].port, labels)
	n.pod(t, "llm-3", servers[3].ip, servers[3].port, map[string]string{"app": "pooled"})
	e.await(t, "llm-1", "llm-2", "llm-3")
	t.Logf("what changed while nobody listened was followed %v after the server came back", time.Since(start))
	e.sends(t, "llm-2", 20)
	e.sends(t, "llm-3", 20)
	if got := e.set(t, "pools").Error; got != "" {
		t.Errorf("still wrong: %s", got)
	}
}
