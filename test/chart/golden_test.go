package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachSetOfValuesRendersWhatItDid(t *testing.T) {
	t.Parallel()
	forEachSet(t, func(t *testing.T, name, values string) {
		t.Helper()
		objects := render(t, values)
		for i := range objects {
			typed(t, &objects[i])
		}
		path, got := filepath.Join("testdata", "golden", name+".yaml"), short(objects)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("-want +got (go -C test/chart test -update ., and read the difference):\n%s", diff)
		}
	})
}

// short are objects as a text, without what is made elsewhere: dashboards and rules. A change of these changes no golden file.
func short(objects []Object) string {
	var b strings.Builder
	for _, o := range objects {
		text := o.Text
		for kind, from := range map[string]string{"PrometheusRule": "\nspec:\n", "ConfigMap": "\ndata:\n  aiperf-"} {
			if head, _, long := strings.Cut(text, from); long && o.Kind == kind && !strings.Contains(text, "aiperf-exporter.yml") {
				text = head + "\n# … of the chart's files\n"
			}
		}
		b.WriteString("---\n" + text)
	}
	return b.String()
}

func TestNumbersOfAConfigurationStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	objects := render(t, "config: {global: {max_rate: 0.5, budget: {tokens_per_day: 20000000}}, a: 1e7, b: 123456789012, c: \"08:00\", d: 1.0, e: yes}")
	got := configuration(t, objects)
	for _, want := range []string{"tokens_per_day: 20000000\n", "max_rate: 0.5", "b: 123456789012\n", `c: "08:00"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestATextIsTheConfigurationToTheLetter(t *testing.T) {
	t.Parallel()
	text := "# {{ not a template }}\n\ntargets: # none\n  []\n"
	r, err := Render(load(t), "config: |\n  "+strings.ReplaceAll(text, "\n", "\n  "))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(text), strings.TrimSpace(configuration(t, r.Objects))); diff != "" {
		t.Error(diff)
	}
}

// configuration is that of the exporter in a ConfigMap or a Secret.
func configuration(t *testing.T, objects []Object) string {
	t.Helper()
	for _, text := range configurations(t, objects) {
		return text
	}
	t.Fatal("there is no configuration")
	return ""
}

// configurations are all of them, by the names of their objects.
func configurations(t *testing.T, objects []Object) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, o := range objects {
		for _, key := range []string{"data", "stringData"} {
			data, _ := o.Content[key].(map[string]any)
			if text, ok := data["aiperf-exporter.yml"].(string); ok {
				out[o.Name] = text
			}
		}
	}
	return out
}

// YAML takes an unquoted 1e3 for a number, and Kubernetes takes it for a name.
func TestNamesThatLookLikeNumbersStayNames(t *testing.T) {
	t.Parallel()
	for _, values := range []string{
		`{nameOverride: "1e3", fullnameOverride: "2e3", namespaceOverride: "3e3", existingConfigMap: "4e3", existingSecrets: ["5e3"],
			serviceAccount: {name: "6e3"}, webConfig: {tlsSecret: "7e3", existingSecret: "8e3"}, persistence: {existingClaim: "9e3"},
			discovery: {enabled: true, namespaces: ["1e4"]}, gpuAgent: {enabled: true, priorityClassName: "2e4"},
			serviceMonitor: {enabled: true, namespace: "3e4"}, probe: {enabled: true, jobName: "4e4", module: "5e4", namespace: "6e4"},
			prometheusRule: {enabled: true, namespace: "7e4"}, dashboards: {enabled: true, namespace: "8e4", folder: "9e4"},
			networkPolicy: {enabled: true, monitoringNamespace: "1e5"}, podDisruptionBudget: {enabled: true}, podLabels: {a: "2e5"},
			extraConfigmapMounts: [{name: "3e5", mountPath: /a, configMap: "4e5"}], extraSecretMounts: [{name: "5e5", mountPath: /b, secretName: "6e5"}],
			priorityClassName: "7e5", extraArgs: ["8e5"], verticalPodAutoscaler: {enabled: true}, podMonitoring: {enabled: true}}`,
		`{fullnameOverride: "1e3", configExistingSecretName: "2e3", sharding: {replicas: 2}, persistence: {enabled: true, storageClassName: "3e3", size: "1000"},
			discovery: {enabled: true, clusterWide: true}, webConfig: {tlsSecret: "4e3"}}`,
	} {
		objects := render(t, values)
		for i := range objects {
			typed(t, &objects[i])
		}
	}
}
