//go:build kubernetes

package kubernetes

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// The Probe of the documentation, with an address of a server that is there.
func TestTheProbeOfPrometheusOperatorAsksAsItIsDocumented(t *testing.T) {
	t.Parallel()
	define(t, installed+"/crds/monitoring.coreos.com_probes.yaml")
	n, servers := newNamespace(t, "probe"), replicas(t, 1)
	e := serve(t, fmt.Sprintf(`
modules: {chat: {model: truth, endpoint: {type: chat}, workload: short}}
probe: {allowed_targets: [%s]}
`, servers[0].ip))
	text := documented(t, "../../docs/probe.md", "kind: Probe\n")
	text = strings.Replace(text, "name: llm", "name: llm, namespace: "+string(n), 1)
	text = strings.Replace(text, "aiperf-exporter:9749", strings.TrimPrefix(e.url, "http://"), 1)
	text = strings.Replace(text, "http://vllm-0.llm.svc.cluster.local:8000", "http://"+servers[0].address(), 1)
	asked, timeout := scrapeOf(t, create(t, text)[0])
	t.Logf("Prometheus asks %s", asked)

	r, err := http.NewRequestWithContext(process.Within(t, patience), http.MethodGet, asked, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", timeout)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body strings.Builder
	if err := resp.Write(&body); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"probe_success 1\n", "probe_timeout_seconds 29.5\n"} {
		if !strings.Contains(body.String(), want) {
			t.Errorf("no %q in\n%s", want, body.String())
		}
	}
	if got := servers[0].truth(t).Requests; got != 1 {
		t.Errorf("the server got %d requests", got)
	}
}

// documented is the first block of YAML of a page that has some words.
func documented(t *testing.T, path, words string) string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(page), "\n```") {
		if text, ok := strings.CutPrefix(block, "yaml\n"); ok && strings.Contains(text, words) {
			return text
		}
	}
	t.Fatalf("no block of %s has %q", path, words)
	return ""
}

// scrapeOf is what Prometheus asks for the first target of a Probe, as prometheus-operator configures it: the address of the target becomes the
// parameter target, that of the prober takes its place.
func scrapeOf(t *testing.T, probe *unstructured.Unstructured) (asked, timeout string) {
	t.Helper()
	text := func(path ...string) string {
		value, ok, err := unstructured.NestedString(probe.Object, append([]string{"spec"}, path...)...)
		if !ok || err != nil {
			t.Fatalf("spec.%s: %v in %v", strings.Join(path, "."), err, probe.Object)
		}
		return value
	}
	list, ok, err := unstructured.NestedStringSlice(probe.Object, "spec", "targets", "staticConfig", "static")
	if !ok || err != nil {
		t.Fatalf("no targets, %v", err)
	}
	out := url.URL{Scheme: "http", Host: text("prober", "url"), Path: text("prober", "path")}
	out.RawQuery = url.Values{"module": {text("module")}, "target": {list[0]}}.Encode()
	return out.String(), strings.TrimSuffix(text("scrapeTimeout"), "s")
}
