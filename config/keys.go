package config

import (
	"maps"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// The tables of this file speak of keys by pattern: "*" stands for the name of an entry, "[]" for an index.

// sections tells by the last key where the entry that it names is written.
var sections = map[string]string{
	"workload": "workloads",
	"load":     "loads",
	"slo":      "slos",
	"client":   "http_clients",
	"secret":   "secrets",
}

// mustBePositive are keys for which 0 would mean "not set": whoever writes 0 means something else.
var mustBePositive = map[string]bool{
	"loads.*.rate":                            true,
	"loads.*.interval":                        true,
	"loads.*.smoothness":                      true,
	"loads.*.burstiness":                      true,
	"loads.*.concurrency":                     true,
	"loads.*.min_interval":                    true,
	"loads.*.users":                           true,
	"loads.*.speedup":                         true,
	"loads.*.idle_cap":                        true,
	"loads.*.loop_gap":                        true,
	"loads.*.period":                          true,
	"loads.*.schedule[].rate":                 true,
	"loads.*.schedule[].interval":             true,
	"loads.*.schedule[].multiplier":           true,
	"slos.*.time_to_first_token":              true,
	"slos.*.time_to_first_output_token":       true,
	"slos.*.time_to_second_token":             true,
	"slos.*.inter_token_latency":              true,
	"slos.*.request_latency":                  true,
	"slos.*.effective_latency":                true,
	"slos.*.output_token_throughput_per_user": true,
	"slos.*.e2e_output_token_throughput":      true,
	"http_clients.*.fresh_every":              true,
}

// unavailableKeys are no mistakes, but cannot be used: what is written elsewhere or otherwise, and what would contradict a key of ours. They
// never become silent no-ops. A key of a target can also stand under defaults.
var unavailableKeys = []struct {
	reason string
	keys   []string
}{
	{"is written as timeouts.total, for all targets under defaults", []string{"global.timeout"}},
	{"is written beside endpoint, not under it", []string{
		"targets[].endpoint.url", "targets[].endpoint.model", "targets[].endpoint.timeouts",
	}},
	{"is asked for as long as the server takes it, and in each chunk with continuous_usage", []string{"targets[].endpoint.usage"}},
	{"is written as secret, api_key_file or api_key, in the header that key_header names", []string{"targets[].endpoint.auth"}},
	{"must be written at each target", []string{"defaults.name"}},
	{"is what discovery finds, it cannot be in the template", []string{"target_discovery[].template.name", "target_discovery[].template.url"}},
	{"not available, it would be that of every target of the set", []string{
		"target_discovery[].template.gpus", "target_discovery[].template.fingerprint.baseline_file",
	}},
	{"is not of a module: the request names the target, and asks it once", []string{"modules.*.name", "modules.*.url", "modules.*.load", "modules.*.budget"}},
	{"is written at the target or under global, not under loads", []string{"loads.*.budget"}},
	{"is written in the load of the target, under loads", []string{"targets[].backoff"}},
	{`not available, use http_version: "1.1" or "2"`, []string{"http_clients.*.enable_http2"}},
	{`is written as ip_family: any, "4" or "6"`, []string{"http_clients.*.ip_version"}},
	{"not available: redirects are never followed, they would carry credentials to another host", []string{"http_clients.*.follow_redirects"}},
}

// secretReferences are those of Prometheus' clients to a store of secrets, which we do not have.
var secretReferences = []string{
	"basic_auth.username_ref", "basic_auth.password_ref", "authorization.credentials_ref",
	"oauth2.client_secret_ref", "oauth2.client_certificate_key_ref",
	"tls_config.ca_ref", "tls_config.cert_ref", "tls_config.key_ref",
	"oauth2.tls_config.ca_ref", "oauth2.tls_config.cert_ref", "oauth2.tls_config.key_ref",
}

// clients are the places where a client of Prometheus is configured.
var clients = []string{
	"http_clients.*", "target_discovery[].http_sd_configs[]", "target_discovery[].kubernetes_sd_configs[]", "target_discovery[].inference_pool_sd_configs[]",
}

// Refused gives, by pattern, why a key that the structs have or that users look for is not taken, whatever the build.
func Refused() map[string]string {
	out := map[string]string{}
	for _, client := range clients {
		for _, key := range secretReferences {
			out[client+"."+key] = "not available, use the key that ends in _file"
		}
	}
	for _, group := range unavailableKeys {
		for _, key := range group.keys {
			out[key] = group.reason
			if below, ok := strings.CutPrefix(key, "targets[]."); ok {
				out["defaults."+below] = group.reason
				out["target_discovery[].template."+below] = group.reason
				if strings.HasPrefix(below, "endpoint.") {
					out["modules.*."+below] = group.reason
				}
			}
		}
	}
	return out
}

// unavailable gives the reasons by pattern, with those of this build.
func unavailable() map[string]string {
	out := Refused()
	if discovery.Kubernetes {
		return out
	}
	for _, key := range discovery.KubernetesKeys {
		pattern := "target_discovery[]." + key
		maps.DeleteFunc(out, func(below, _ string) bool { return strings.HasPrefix(below, pattern) }) // nothing is below what is refused
		out[pattern] = "not available in this build, which is one without Kubernetes: it needs the build tag k8s_sd"
	}
	return out
}

// isFile tells whether a key names a file.
func isFile(pattern string) bool {
	return pattern == "secrets.*.file" || isWorkloadFile(pattern) || strings.HasSuffix(pattern, "_file") ||
		strings.HasSuffix(pattern, ".http_headers.*.files[]") || pattern == "target_discovery[].file_sd_configs[].files[]"
}

// isURL tells whether a key that takes a text takes a URL, of which users and queries are not shown.
func isURL(pattern string) bool {
	return strings.HasSuffix(pattern, "_url") || pattern == "target_discovery[].http_sd_configs[].url"
}

// isWorkloadFile tells whether a key names a file or folder of which prompts are made.
func isWorkloadFile(pattern string) bool {
	switch below, _ := strings.CutPrefix(pattern, "workloads.*."); below {
	case "dataset.file", "tokenizer.file", "images.folder", "audio.folder", "video.files[]":
		return true
	}
	return false
}

// isSensitiveHeader tells whether a key holds a value of a header, or of a parameter, that is a secret by its name.
func isSensitiveHeader(pattern string, at *place) bool {
	if strings.HasSuffix(pattern, ".http_headers.*.values[]") {
		return secret.SensitiveHeader(at.parent.parent.name)
	}
	if strings.HasSuffix(pattern, ".oauth2.endpoint_params.*") {
		return secret.SensitiveHeader(at.name)
	}
	for _, target := range []string{"targets[]", "defaults", "modules.*", "target_discovery[].template"} {
		if key, ok := strings.CutPrefix(pattern, target+".endpoint."); ok && (key == "headers.*" || key == "url_params.*") {
			return secret.SensitiveHeader(at.name)
		}
	}
	return false
}
