//go:build k8s_sd

package config

import (
	"strings"
	"testing"
)

const ofKubernetes = `
loads: {trickle: {mode: poisson, rate: 0.2}}
target_discovery:
  - name: pods
    kubernetes_sd_configs:
      - {role: pod, api_server: "https://joe:hunter22-user@k8s.example.net", tls_config: {ca_file: ca.pem}, authorization: {credentials: hunter22-token}}
      - {role: endpointslice, kubeconfig_file: kube.yml, selectors: [{role: service, label: app=vllm}], attach_metadata: {node: true}}
    inference_pool_sd_configs:
      - {namespaces: {names: [llm], own_namespace: true}}
      - {kubeconfig_file: kube.yml}
    template: {endpoint: {type: chat}, model: m, load: trickle}
`

func TestMechanismsOfKubernetesAreReadAndPrintedWithoutSecrets(t *testing.T) {
	t.Parallel()
	config := loaded(t, ofKubernetes)
	sets := config.Discovery()
	if len(sets) != 1 || len(sets[0].Configs) != 4 {
		t.Fatalf("got %+v", sets)
	}
	text, err := config.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), planted) {
		t.Errorf("a secret is in\n%s", text)
	}
	for _, want := range []string{"role: pod", "own_namespace: true", "/kube.yml", "/ca.pem", "https://k8s.example.net"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	again, problems := loadTexts(t, nil, string(text))
	if problems != "" || len(again.Discovery()[0].Configs) != 4 {
		t.Errorf("what is printed does not load: %s", problems)
	}
}

func TestMistakesOfMechanismsOfKubernetesHaveTheirPlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ old, new, want string }{
		"an unknown role":          {"role: pod", "role: pot", `6:10: target_discovery[0].kubernetes_sd_configs[0].role: unknown Kubernetes SD role "pot"`},
		"an unknown key":           {"names: [llm]", "nams: [llm]", `9:23: target_discovery[0].inference_pool_sd_configs[0].namespaces.nams: unknown key, did you mean "names"?`},
		"two ways to one cluster":  {"- {kubeconfig_file: kube.yml}", "- {kubeconfig_file: kube.yml, api_server: http://h}", "10:37: target_discovery[0].inference_pool_sd_configs[1].api_server: api_server and kubeconfig_file exclude each other"},
		"a reference to no secret": {"credentials: hunter22-token", "credentials_ref: x", "6:125: target_discovery[0].kubernetes_sd_configs[0].authorization.credentials_ref: not available, use the key that ends in _file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := loadTexts(t, nil, strings.Replace(ofKubernetes, tt.old, tt.new, 1))
			if !strings.Contains(problems, tt.want) {
				t.Errorf("got %s\nwant %s", problems, tt.want)
			}
		})
	}
}
