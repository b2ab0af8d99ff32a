package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestMistakesInValuesAreToldWhereTheyAre(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, values string
		want         string // a regular expression of the message
	}{
		{"an unknown key", "replica: 1", "additional properties 'replica' not allowed"},
		{"an unknown key of the image", "image: {name: a}", "'/image': additional properties 'name' not allowed"},
		{"an unknown key of a monitor", "serviceMonitor: {targets: []}", "'/serviceMonitor': additional properties 'targets' not allowed"},
		{"an unknown key two levels down", "probe: {prober: {scheme: http}}", "'/probe/prober': additional properties 'scheme' not allowed"},
		{"the key of another chart", "service: {enabled: true}", "'/service': additional properties 'enabled' not allowed"},
		{"two replicas, which would send twice the load", "replicas: 2", "'/replicas': maximum"},
		{"no shards", "sharding: {replicas: 0}", "'/sharding/replicas': minimum"},
		{"a list as the configuration", "config: []", "'/config': got array, want"},
		{"a text as the agent's configuration", "gpuAgent: {config: 'a: b'}", "'/gpuAgent/config': got string, want object"},
		{"a digest that is none", "image: {digest: latest}", "'/image/digest': .* does not match pattern"},
		{"an interval without a unit", "serviceMonitor: {interval: '15'}", "'/serviceMonitor/interval': '15' does not match pattern"},
		{"an interval that is a number", "serviceMonitor: {interval: 15}", "'/serviceMonitor/interval': got number, want string"},
		{"never looking at the configuration, written empty", "configReloadInterval: ''", "'/configReloadInterval': minLength"},
		{"a port that is none", "service: {port: 70000}", "'/service/port': maximum"},
		{"a type of Service that has no pods", "service: {type: ExternalName}", "'/service/type': value must be one of 'ClusterIP', 'NodePort', 'LoadBalancer'"},
		{"a pull policy that is none", "image: {pullPolicy: Sometimes}", "'/image/pullPolicy': value must be one of"},
		{"a scheme in small letters", "webConfig: {scheme: https}", "'/webConfig/scheme': value must be one of 'HTTP', 'HTTPS'"},
		{"a mount without its ConfigMap", "extraConfigmapMounts: [{name: a, mountPath: /a}]", "'/extraConfigmapMounts/0': missing property 'configMap'"},
		{"an argument that is a number", "extraArgs: [1]", "'/extraArgs/0': got number, want string"},
		{"a label that is a number", "podLabels: {a: 1}", "'/podLabels/a': got number, want string"},
		{"an environment that is a map", "extraEnv: {A: b}", "'/extraEnv': got object, want array"},
		{"a name of a Secret that is a map", "existingSecrets: [{name: a}]", "'/existingSecrets/0': got object, want string"},
		{"a target port by name", "networkPolicy: {targetPorts: [http]}", "'/networkPolicy/targetPorts/0': got string, want integer"},

		{"the configuration at two places", "{config: {targets: []}, existingConfigMap: a}", "the configuration has one place"},
		{"two places that are there already", "{configExistingSecretName: b, existingConfigMap: a}", "the configuration has one place"},
		{"one claim for several shards", "{sharding: {replicas: 2}, persistence: {existingClaim: a}}", "each needs a claim of its own"},
		{"a client without its Secret", "webConfig: {probeClient: true}", "needs webConfig.existingSecret"},
		{"a ServiceMonitor without a Service", "{service: {enable: false}, serviceMonitor: {enabled: true}}", "podMonitor does without a Service"},
		{"a Probe without a Service", "{service: {enable: false}, probe: {enabled: true}}", "probe.prober.url is needed"},
		{"an alert that does not exist", "prometheusRule: {enabled: true, disabledAlerts: [AIPerfTargetDawn]}", `no group and no alert \\?"AIPerfTargetDawn`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Render(load(t), test.values)
			if err == nil || !regexp.MustCompile(test.want).MatchString(err.Error()) {
				t.Errorf("the message is not like %q: %v", test.want, err)
			}
		})
	}
}

// Another chart depends on this one under a condition, and says things to all of its dependencies.
func TestTheChartCanBeADependency(t *testing.T) {
	t.Parallel()
	if _, err := Render(load(t), "{enabled: true, global: {imageRegistry: a}}"); err != nil {
		t.Error(err)
	}
}

func TestNoValueIsWithoutUseOrMeaning(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(root, "deploy", Folder)
	text, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	values, err := readValues(text)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(folder + "/templates/*")
	if err != nil {
		t.Fatal(err)
	}
	var templates strings.Builder
	for _, name := range names {
		if content, err := os.ReadFile(name); err == nil {
			templates.Write(content)
		}
	}
	var walk func(values []value)
	walk = func(values []value) {
		for _, v := range values {
			if v.kind == "object" && !v.foreign {
				walk(v.keys)
				continue
			}
			used := regexp.MustCompile(`[.$"]` + regexp.QuoteMeta(v.name()) + `\b`)
			if !used.MatchString(templates.String()) {
				t.Errorf("no template uses %s", v.path)
			}
			shared := strings.HasPrefix(v.path, "podMonitor.") // as serviceMonitor
			if v.about == "" && !shared && v.name() != "labelValue" && v.name() != "folder" && v.name() != "maxAllowed" {
				t.Errorf("nothing is said about %s", v.path)
			}
		}
	}
	walk(values)
}
