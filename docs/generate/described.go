package main

// fallbacks stand in the place of a default where the value of the struct does not tell it.
var fallbacks = map[string]string{
	"targets.name":          "required",
	"targets.url":           "required",
	"targets.model":         "required",
	"targets.endpoint.type": "required",
	"targets.seed":          "random",
	"length.mean":           "that of the block",
	"length.stddev":         "`0`",
	"loads.warmup_requests": "`0`",
}

// refused are keys that a struct of Prometheus has and a file may not.
var refused = map[string]bool{
	"http_clients.follow_redirects": true,
	"http_clients.enable_http2":     true,
}

// described are the keys that the comment of a field cannot describe: those of Prometheus' own types, and those whose comment is for
// developers.
var described = map[string]string{
	"global.max_in_flight": "requests of all targets that may run at the same time; arrivals beyond that are dropped as `global_limit`",
	"global.max_rate":      "requests per second of all targets together, with bursts of one second's worth; arrivals beyond that are dropped as `global_limit`; without it there is no limit",
	"global.max_targets":   "most targets that a configuration may have",
	"global.labels":        "constant labels of every series, at most 8",

	"secrets.file":  "file that holds the secret and nothing else, at most 64 KiB; line ends at its end do not count",
	"secrets.value": "the secret itself, meant for `${VAR}`; a literal is allowed, and warned about",

	"targets.name":                  "identity of the target and value of the label `target` of all its series: 1 to 63 letters, digits, dots, dashes and underscores",
	"targets.url":                   "address of the server, `http` unless it says `https`. The path of the endpoint is appended; a `/v1` at the end is not doubled. A query is sent with each request and never shown",
	"targets.model":                 "name of the model as the server knows it, and value of the label `model`; at most 128 bytes",
	"targets.endpoint.secret":       "name of an entry under `secrets`, sent as `Authorization: Bearer …`. At most one of `secret`, `api_key_file` and `api_key`",
	"targets.endpoint.api_key_file": "file that holds the credential, read like `secrets.*.file`",
	"targets.endpoint.api_key":      "the credential itself, meant for `${VAR}`; a literal is allowed, and warned about",
	"targets.workload":              "name of an entry under `workloads`, and value of the label `workload`. Without it the entry `default` is taken, if there is one, else the defaults",
	"targets.load":                  "name of an entry under `loads`; likewise",
	"targets.slo":                   "names of entries under `slos`, each of which judges every request of the target",
	"targets.client":                "name of an entry under `http_clients`; without it the entry `default`, if there is one, else the defaults",
	"targets.labels":                "labels of the target on `aiperf_target_info`, and on all its series where `metrics.extra_labels` has the name",
	"targets.enabled":               "`false` leaves the target out: no traffic, no series",
	"targets.seed":                  "makes arrivals, lengths and words of prompts reproducible; the number at the start of each prompt is always fresh",

	"length.mean":   "mean length in tokens, 1 to 10 000 000",
	"length.stddev": "standard deviation; 0 makes all lengths equal",
	"length.min":    "shortest length; draws below are drawn again",
	"length.max":    "longest length, likewise",

	"http_clients.http_version":           "version of HTTP",
	"http_clients.timestamps":             "where the instants of an answer come from",
	"http_clients.reuse":                  "whether requests may use the connection of an earlier one",
	"http_clients.max_event_size":         "largest single event of a stream; a larger one fails the request as `response_too_large`",
	"http_clients.max_response_size":      "largest whole answer, likewise",
	"http_clients.basic_auth":             "`username` or `username_file`, and `password` or `password_file`",
	"http_clients.authorization":          "`type` (default `Bearer`), and `credentials` or `credentials_file`",
	"http_clients.oauth2":                 "OAuth 2.0 client: `client_id`, `client_secret` or `client_secret_file`, `token_url`, `scopes`, `endpoint_params`, `tls_config`, proxies, and the keys of `grant_type`",
	"http_clients.bearer_token":           "old form of `authorization.credentials`",
	"http_clients.bearer_token_file":      "old form of `authorization.credentials_file`",
	"http_clients.tls_config":             "`ca_file` or `ca`, `cert_file` or `cert`, `key_file` or `key`, `server_name`, `min_version` and `max_version` (`TLS10` to `TLS13`), `insecure_skip_verify`",
	"http_clients.proxy_url":              "HTTP proxy for all requests",
	"http_clients.no_proxy":               "hosts, domains and networks that are reached without the proxy, separated by commas",
	"http_clients.proxy_from_environment": "take the proxy from `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; excludes the two above",
	"http_clients.proxy_connect_header":   "headers for the proxy's CONNECT: name → list of values",
	"http_clients.http_headers":           "headers of each request: name → `values`, `secrets` or `files`. Authorization, Host, User-Agent and others that belong to the protocol are refused",
}
