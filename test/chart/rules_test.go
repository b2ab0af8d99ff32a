package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// shipped are the groups of rules of the folder alerts.
func shipped(t *testing.T) (out []monitoring.RuleGroup) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "alerts/rules/*.yml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no rules, %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file monitoring.PrometheusRuleSpec
		if err := yaml.UnmarshalStrict(text, &file); err != nil {
			t.Fatal(err)
		}
		out = append(out, file.Groups...)
	}
	return out
}

// Braces are Prometheus' own, and Helm leaves them alone.
func TestAPrometheusRuleHasTheRulesThatAreShipped(t *testing.T) {
	t.Parallel()
	rule := all[*monitoring.PrometheusRule](t, render(t, "prometheusRule: {enabled: true}"))[0]
	if diff := cmp.Diff(shipped(t), rule.Spec.Groups); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestGroupsAndAlertsCanBeLeftOut(t *testing.T) {
	t.Parallel()
	rule := all[*monitoring.PrometheusRule](t, render(t, everySet(t)["monitoring"]))[0]
	var want []monitoring.RuleGroup
	for _, g := range shipped(t) {
		var rules []monitoring.Rule
		for _, r := range g.Rules {
			if r.Alert != "AIPerfGPUPowerCapped" && r.Alert != "AIPerfWatchdog" {
				r.Expr.StrVal = strings.ReplaceAll(r.Expr.StrVal, `job="aiperf-exporter"`, `job="llm-canary"`)
				rules = append(rules, r)
			}
		}
		if g.Rules = rules; g.Name != "aiperf-vantage" {
			want = append(want, g)
		}
	}
	last := len(rule.Spec.Groups) - 1
	if diff := cmp.Diff(want, rule.Spec.Groups[:last]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	own := rule.Spec.Groups[last]
	if own.Name != "aiperf-own" || own.Rules[0].Annotations["summary"] != "{{ $labels.target }} is expensive" {
		t.Errorf("the site's own rules: %v", own)
	}
}

func TestEachDashboardIsAConfigMapThatTheSidecarFinds(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(root, "dashboards/json/*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no dashboards, %v", err)
	}
	found := map[string]any{}
	objects := render(t, "dashboards: {enabled: true}")
	for i := range objects {
		c, ok := typed(t, &objects[i]).(*core.ConfigMap)
		if !ok || c.Labels["grafana_dashboard"] != "1" {
			continue
		}
		if c.Annotations["grafana_folder"] == "" {
			t.Errorf("%s is for no folder", c.Name)
		}
		// `kubectl apply` without --server-side keeps the object in an annotation of at most 256 KiB.
		if text, err := json.Marshal(objects[i].Content); err != nil || len(text) > 250<<10 {
			t.Errorf("%s has %d bytes, %v", c.Name, len(text), err)
		}
		for name, text := range c.Data {
			found[name] = decoded(t, text)
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(decoded(t, string(text)), found[filepath.Base(name)]) {
			t.Errorf("%s is another one in the chart: run make gen", name)
		}
	}
	if len(found) != len(names) {
		t.Errorf("%d dashboards of %d", len(found), len(names))
	}
}

func decoded(t *testing.T, text string) (out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
