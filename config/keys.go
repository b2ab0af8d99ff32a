package config

import (
	"slices"
	"strings"

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
	"slos.*.time_to_first_token":              true,
	"slos.*.time_to_first_output_token":       true,
	"slos.*.time_to_second_token":             true,
	"slos.*.inter_token_latency":              true,
	"slos.*.request_latency":                  true,
	"slos.*.effective_latency":                true,
	"slos.*.output_token_throughput_per_user": true,
	"slos.*.e2e_output_token_throughput":      true,
}

// plannedKeys belong to what this version does not do yet.
var plannedKeys = []string{
	"target_discovery", "collectors", "otlp", "debug", "modules", "probe",
	"global.budget", "global.timeout",
	"metrics.removed_target_linger",
	"slos.*.preset",
	"loads.*.smoothness", "loads.*.burstiness", "loads.*.concurrency", "loads.*.users", "loads.*.min_interval", "loads.*.max_prefill",
	"loads.*.start_jitter", "loads.*.ramp", "loads.*.schedule", "loads.*.rate_series", "loads.*.period", "loads.*.budget",
	"loads.*.backoff", "loads.*.cancel", "loads.*.speedup",
	"workloads.*.dataset", "workloads.*.prefix", "workloads.*.corpus", "workloads.*.tokenizer", "workloads.*.sessions",
	"workloads.*.turns", "workloads.*.turn_delay", "workloads.*.system_prompt", "workloads.*.sequence", "workloads.*.range_ratio",
	"workloads.*.images", "workloads.*.audio", "workloads.*.video",
	"workloads.*.input_tokens.median", "workloads.*.input_tokens.peaks", "workloads.*.input_tokens.points",
	"workloads.*.output_tokens.median", "workloads.*.output_tokens.peaks", "workloads.*.output_tokens.points",
	"http_clients.*.fresh_every", "http_clients.*.ip_family", "http_clients.*.ip_version", "http_clients.*.dns_refresh",
	"targets[].budget", "targets[].expect", "targets[].backoff", "targets[].paused", "targets[].fingerprint", "targets[].collectors",
	"targets[].endpoint.url_params", "targets[].endpoint.extra", "targets[].endpoint.headers", "targets[].endpoint.auth",
	"targets[].endpoint.usage", "targets[].endpoint.response_field", "targets[].endpoint.affinity_headers",
	"targets[].endpoint.template",
}

// unavailableKeys are no mistakes, but cannot be used: what is planned, and what would contradict a key of ours. They never become
// silent no-ops. A key of a target can also stand under defaults.
var unavailableKeys = []struct {
	reason string
	keys   []string
}{
	{"not available in this version", plannedKeys},
	{"is written beside endpoint, not under it", []string{
		"targets[].endpoint.url", "targets[].endpoint.model", "targets[].endpoint.timeouts",
	}},
	{"must be written at each target", []string{"defaults.name"}},
	{"not available, use the key that ends in _file", []string{
		"http_clients.*.basic_auth.username_ref", "http_clients.*.basic_auth.password_ref", "http_clients.*.authorization.credentials_ref",
		"http_clients.*.oauth2.client_secret_ref", "http_clients.*.oauth2.client_certificate_key_ref",
		"http_clients.*.tls_config.ca_ref", "http_clients.*.tls_config.cert_ref", "http_clients.*.tls_config.key_ref",
		"http_clients.*.oauth2.tls_config.ca_ref", "http_clients.*.oauth2.tls_config.cert_ref", "http_clients.*.oauth2.tls_config.key_ref",
	}},
	{`not available, use http_version: "1.1" or "2"`, []string{"http_clients.*.enable_http2"}},
	{"not available: redirects are never followed, they would carry credentials to another host", []string{"http_clients.*.follow_redirects"}},
}

// Unavailable gives the keys that this version knows and refuses because they are planned, by pattern.
func Unavailable() []string { return slices.Clone(plannedKeys) }

// unavailable gives the reasons by pattern.
func unavailable() map[string]string {
	out := map[string]string{}
	for _, group := range unavailableKeys {
		for _, key := range group.keys {
			out[key] = group.reason
			if below, ok := strings.CutPrefix(key, "targets[]."); ok {
				out["defaults."+below] = group.reason
			}
		}
	}
	return out
}

// isFile tells whether a key names a file.
func isFile(pattern string) bool {
	return pattern == "secrets.*.file" || pattern == "workloads.*.dataset.file" || strings.HasSuffix(pattern, "_file") || pattern == "http_clients.*.http_headers.*.files[]"
}

// isSensitiveHeader tells whether a key holds a value of a header that is a secret by its name.
func isSensitiveHeader(pattern string, at *place) bool {
	switch pattern {
	case "http_clients.*.http_headers.*.values[]":
		return secret.SensitiveHeader(at.parent.parent.name)
	case "targets[].endpoint.headers.*", "defaults.endpoint.headers.*", "targets[].endpoint.url_params.*", "defaults.endpoint.url_params.*":
		return secret.SensitiveHeader(at.name)
	}
	return false
}
