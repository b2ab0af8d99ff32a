package config

import (
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
var mustBePositive = set(
	"loads.*.rate", "loads.*.interval",
	"slos.*.time_to_first_token", "slos.*.time_to_first_output_token", "slos.*.time_to_second_token", "slos.*.inter_token_latency",
	"slos.*.request_latency", "slos.*.effective_latency", "slos.*.output_token_throughput_per_user", "slos.*.e2e_output_token_throughput",
)

const notYet = "not available in this version"

// unavailable are keys that are no mistake, but cannot be used: what is planned, and what would contradict a key of ours. They never
// become silent no-ops.
var unavailable = merged(
	reason(notYet,
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
	),
	reason(notYet, ofTarget("budget", "expect", "backoff", "paused", "fingerprint", "collectors",
		"endpoint.url_params", "endpoint.extra", "endpoint.headers", "endpoint.auth", "endpoint.usage", "endpoint.response_field",
		"endpoint.affinity_headers", "endpoint.template")...),
	reason("is written beside endpoint, not under it", ofTarget("endpoint.url", "endpoint.model", "endpoint.timeouts")...),
	reason("must be written at each target", "defaults.name"),
	reason("not available, use the key that ends in _file",
		"http_clients.*.basic_auth.username_ref", "http_clients.*.basic_auth.password_ref", "http_clients.*.authorization.credentials_ref",
		"http_clients.*.oauth2.client_secret_ref", "http_clients.*.oauth2.client_certificate_key_ref",
		"http_clients.*.tls_config.ca_ref", "http_clients.*.tls_config.cert_ref", "http_clients.*.tls_config.key_ref",
		"http_clients.*.oauth2.tls_config.ca_ref", "http_clients.*.oauth2.tls_config.cert_ref", "http_clients.*.oauth2.tls_config.key_ref",
	),
	reason(`not available, use http_version: "1.1" or "2"`, "http_clients.*.enable_http2"),
	reason("not available: redirects are never followed, they would carry credentials to another host", "http_clients.*.follow_redirects"),
)

// ofTarget gives the keys of a target in both places where they can be written.
func ofTarget(keys ...string) []string {
	var out []string
	for _, key := range keys {
		out = append(out, "targets[]."+key, "defaults."+key)
	}
	return out
}

func reason(why string, patterns ...string) map[string]string {
	out := make(map[string]string, len(patterns))
	for _, p := range patterns {
		out[p] = why
	}
	return out
}

func merged(tables ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, table := range tables {
		for pattern, why := range table {
			out[pattern] = why
		}
	}
	return out
}

func set(patterns ...string) map[string]bool {
	out := make(map[string]bool, len(patterns))
	for _, p := range patterns {
		out[p] = true
	}
	return out
}

// isFile tells whether a key names a file.
func isFile(pattern string) bool {
	return pattern == "secrets.*.file" || strings.HasSuffix(pattern, "_file") || pattern == "http_clients.*.http_headers.*.files[]"
}

// isSensitiveHeader tells whether a key holds a value of a header that is a secret by its name.
func isSensitiveHeader(pattern string, at *place) bool {
	return pattern == "http_clients.*.http_headers.*.values[]" && secret.SensitiveHeader(at.parent.parent.name)
}
